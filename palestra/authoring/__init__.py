"""What authors of tracks are told of slips in their code, with file, line and remedy; and what a new track begins with.

May be touched freely; a slip is never told to contestants, and never as a fault of Palestra itself.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.authoring.guard import guarded, guarded_like, home_of, is_guarded, place_of
    from palestra.authoring.home import Home
    from palestra.authoring.new_track import PLACE, named, write_track
    from palestra.authoring.shape import faults_of
    from palestra.authoring.slip import Slip, again, blame, of_error, of_load, told
else:
    __getattr__ = lazy_exports(__name__)
