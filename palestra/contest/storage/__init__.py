"""Where a contest keeps things: database and migrations, files by digest, uploads, recordings, data to download.

May be touched only compatibly: tables change by a migration. Hostile input: uploads.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.storage import downloads, tables, trouble
    from palestra.contest.storage.database import (
        connect,
        is_begun,
        migrate,
        open_database,
        reading,
        require_begun,
        require_undamaged,
        sqlite_address,
        told_if_damaged,
        writing,
    )
    from palestra.contest.storage.downloads import Manifest, fetch
    from palestra.contest.storage.file_store import DIGEST, DamagedFile, Files, MissingFile, sync
    from palestra.contest.storage.read_only import open_to_read
    from palestra.contest.storage.recordings import keep, recorded
    from palestra.contest.storage.tables import (
        answered,
        events,
        identities,
        jobs,
        keys,
        live,
        passwords,
        settings,
        snapshots,
        tries,
        workers,
    )
    from palestra.contest.storage.trouble import DamagedDatabase, is_full, lacking_room, try_file, why_not
    from palestra.contest.storage.uploads import UnknownUpload, Upload, Uploads, WrongOffset, clean_name
else:
    __getattr__ = lazy_exports(__name__)
