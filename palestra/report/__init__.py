"""Report pages that open anywhere: blocks, figures, galleries, films, in English and Chinese.

May be touched freely; charts and captions of one challenge belong into its own folder.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.report import figures, page
    from palestra.report.bilingual import only
    from palestra.report.figures import (
        ACCENT,
        FAINT,
        HEAT,
        INK,
        SECOND,
        SERIES,
        Drawn,
        cumulative,
        direction_map,
        drawn,
        gaze_distribution,
        label_ratio,
        people_table,
        svg,
    )
    from palestra.report.images import (
        ANSWER,
        BLANK,
        BLUE,
        CLASS_COLOURS,
        DARK,
        GREEN,
        GRID,
        ORANGE,
        PAPER,
        SKY,
        TRUTH,
        VERMILION,
        Colour,
        Image,
        beside,
        contact_sheet,
        overlay,
        plane,
        png,
        read_image,
        shortened,
        words_drawn_in,
        wrapped,
        write,
        written_px,
    )
    from palestra.report.labels import (
        capital,
        column_title,
        error_axis,
        interval,
        label,
        measured,
        metric_axis,
        metric_title,
        sandbox_label,
        track_title,
        with_unit,
    )
    from palestra.report.page import (
        Languages,
        Page,
        pictures_for,
        result_page,
        write_data_page,
        write_page,
        write_result,
    )
    from palestra.report.video import write_film
else:
    __getattr__ = lazy_exports(__name__)
