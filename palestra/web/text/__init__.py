"""Every word of pages in English and Chinese, and how pages write numbers, sizes and times.

May be touched freely; both languages have every entry.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.text import numbers
    from palestra.web.text.catalogue import LANGUAGES, say, say_count, words
    from palestra.web.text.rules_in_words import as_public, both, sections
    from palestra.web.text.sparklines import Scale, scale_of, sparkline, whisker
    from palestra.web.text.translate import sentence, shown, told
else:
    __getattr__ = lazy_exports(__name__)
