"""Texts that pages choose by a name, rules in words, and how pages write numbers, sizes and times.

May be touched freely.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.text import numbers
    from palestra.web.text.choices import CHOICES
    from palestra.web.text.rules_in_words import as_public, sections
    from palestra.web.text.sparklines import Scale, scale_of, sparkline, whisker
    from palestra.web.text.validation import validation_told
else:
    __getattr__ = lazy_exports(__name__)
