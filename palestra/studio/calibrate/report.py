"""What a calibration tells: its measures, what is worth knowing, and the files that it wrote."""

from dataclasses import dataclass, field
from pathlib import Path

from palestra.errors import PalestraError
from palestra.text import Text, joined, say, sentences


@dataclass
class Report:
    """Measures by name, each as a number with its unit."""

    measures: list[tuple[str, float, str]] = field(default_factory=list)
    told: list[Text] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    def measured(self, name: str, value: float, unit: str = "") -> None:
        self.measures.append((name, float(value), unit))

    def rows(self) -> list[dict[str, object]]:
        return [{"measure": name, "value": float(f"{value:.6g}"), "unit": unit} for name, value, unit in self.measures]

    @property
    def summary(self) -> Text:
        return say("Written: {files}", files=joined(map(str, self.files)))


def poor(picture: Path, why: Text, advice: Text) -> PalestraError:
    """The refusal of a fit that is not good enough; its residuals are drawn all the same."""
    shown = say("Its residuals are in {picture}; no calibration was written.", picture=picture)
    return PalestraError(sentences(why, advice, shown))
