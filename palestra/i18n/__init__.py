"""The catalogues of Chinese (zh.po) and what keeps them in step with the code; the Chinese of old recordings.

May be touched freely. What is said in both languages is made with `palestra.text.say`.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.i18n.recorded_text import recorded_text
else:
    __getattr__ = lazy_exports(__name__)
