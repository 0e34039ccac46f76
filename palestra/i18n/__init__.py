"""The Chinese of what reports, runs and faults say in English.

May be touched freely.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.i18n.phrasebook import Phrasebook
    from palestra.i18n.phrases import ATTEMPTS, ENDINGS, FAULT_PHRASES, FRAMES, PHRASES, SENTENCES, VERIFICATIONS
else:
    __getattr__ = lazy_exports(__name__)
