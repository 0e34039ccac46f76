"""Report pages that open anywhere: blocks, figures, galleries, films, in English and Chinese.

May be touched freely; charts and captions of one challenge belong into its own folder.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.report import figures, page
    from palestra.report.bilingual import book_of, in_both, only
    from palestra.report.figures import (
        ACCENT,
        FAINT,
        HEAT,
        INK,
        SECOND,
        SERIES,
        cumulative,
        direction_map,
        drawn,
        gaze_distribution,
        label_ratio,
        people_table,
        svg,
    )
    from palestra.report.images import (
        BLANK,
        BLUE,
        CLASS_COLOURS,
        DARK,
        GREEN,
        GRID,
        ORANGE,
        PAPER,
        SKY,
        VERMILION,
        Colour,
        Image,
        beside,
        contact_sheet,
        overlay,
        plane,
        png,
        read_image,
    )
    from palestra.report.labels import as_text, column_title, error_name, metric_title
    from palestra.report.page import Languages, Page, result_page, write_data_page, write_page, write_result
    from palestra.report.video import write_film
else:
    __getattr__ = lazy_exports(__name__)
