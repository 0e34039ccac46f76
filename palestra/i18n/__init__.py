"""The Chinese of what reports, runs and faults say in English.

May be touched freely.
"""

from typing import TYPE_CHECKING

from palestra.door import lazy_exports

if TYPE_CHECKING:
    from palestra.i18n.faults import FAULT_PHRASES
    from palestra.i18n.phrasebook import Phrasebook
    from palestra.i18n.reports import PHRASES, SENTENCES
    from palestra.i18n.runs import ATTEMPTS, ENDINGS, FRAMES, VERIFICATIONS
else:
    __getattr__ = lazy_exports(__name__)
