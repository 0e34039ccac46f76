"""Readers of files from strangers, whatever the challenge: CSV, JSON, pickles, archives, PNG, within bounds.

Hostile input. May be touched only compatibly: what was accepted stays accepted, and a fault names its place.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.formats import csv_table
    from palestra.formats.archive import Members, open_members
    from palestra.formats.archive_kinds import BROKEN
    from palestra.formats.csv_table import read_table, write_table
    from palestra.formats.file_cache import read_once
    from palestra.formats.json_strings import scan_strings
    from palestra.formats.json_vectors import most_bytes, read_vectors, write_vectors
    from palestra.formats.number_lists import read_numbers
    from palestra.formats.people import read_people_file, with_people
    from palestra.formats.pickle_numpy import Calls, Unfit
    from palestra.formats.pickle_reader import BROKEN_PICKLE, SIZED, _Machine, read_pickle
    from palestra.formats.plain_files import (
        FileFaults,
        captures_people,
        decode_text,
        folder,
        folders_in,
        open_regular,
        read_bytes,
        regular_file,
        replacing,
        shown_name,
        write_bytes,
    )
    from palestra.formats.png import read_grey_png
    from palestra.formats.unreadable import refusing
else:
    __getattr__ = lazy_exports(__name__)
