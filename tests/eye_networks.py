"""A network by hand that reads drawn eyes by their grey levels: its answers are known, and it is there in no time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from palestra import model_cards

LEVELS = {3: 20, 2: 90, 1: 160, 0: 230}  # class → grey: a pupil is darkest, skin is brightest
CARD = """
solution = "annotate"
track = "none"
script = "python -m tests.eye_networks"
seed = 0
data = "none"
parameters = 8
trained = "By hand."
make = "make train-eye-reader"
sha256 = ""
bytes = 0
"""
# Each pixel goes to the class whose level is nearest; there is one eye where there is a pupil, and it looks to where
# in the picture that is.
NODES = (
    ("ReduceMin", ("pictures",), "darkest"),
    ("ReduceMax", ("pictures",), "brightest"),
    ("Sub", ("brightest", "darkest"), "range"),
    ("Sub", ("pictures", "darkest"), "above"),
    ("Div", ("above", "range"), "level"),
    ("Conv", ("level", "weight", "bias"), "logits"),
    ("Sub", ("edge", "level"), "darker"),
    ("Mul", ("darker", "steep"), "dark_logit"),
    ("Sigmoid", ("dark_logit",), "dark"),
    ("Mul", ("dark", "ramp"), "aside"),
    ("ReduceMean", ("aside",), "aside_mean"),
    ("Mul", ("aside_mean", "far"), "yaw"),
    ("ReduceMean", ("dark",), "share"),
    ("Mul", ("share", "much"), "pupil"),
    ("Add", ("pupil", "bar"), "one_eye"),
    ("Mul", ("yaw", "zero"), "none"),
    ("Add", ("none", "little"), "log_variance"),
    ("Add", ("none", "wide"), "opening"),
    ("Concat", ("yaw", "none", "log_variance", "one_eye", "opening", "none"), "facts"),
)
WHOLE = {"axes": [2, 3], "keepdims": 1}
SETTINGS: dict[str, dict[str, Any]] = {
    "ReduceMin": WHOLE,
    "ReduceMax": WHOLE,
    "ReduceMean": {**WHOLE, "keepdims": 0},
    "Concat": {"axis": 1},
}


def drawn_eye(width: int = 640, height: int = 400, x: float = 0.5, lid: float = 0.0) -> np.ndarray:
    """A drawn eye in a picture of any size; `x` is where its pupil is, `lid` how much of the iris a lid covers."""
    side = min(width, round(1.6 * height))
    centre = round(x * width), height // 2
    image = np.full((height, width), LEVELS[0], np.uint8)
    cv2.ellipse(image, centre, (round(0.3 * side), round(0.17 * side)), 0, 0, 360, LEVELS[1], -1, cv2.LINE_AA)
    cv2.circle(image, centre, round(0.14 * side), LEVELS[2], -1, cv2.LINE_AA)
    cv2.circle(image, centre, round(0.06 * side), LEVELS[3], -1, cv2.LINE_AA)
    image[: round(height / 2 - (0.17 - 0.28 * lid) * side)] = LEVELS[0]
    return image


def write_network(file: Path) -> None:
    onnx = pytest.importorskip("onnx")
    levels = np.array([LEVELS[number] for number in range(4)], np.float32)
    means = (levels - levels.min()) / np.ptp(levels)
    numbers = {"steep": 60, "far": 40, "much": 800, "bar": -6, "zero": 0, "little": -7, "wide": 3}
    known = {
        "weight": 160 * means.reshape(4, 1, 1, 1),
        "bias": -80 * means**2,
        "edge": (means[3] + means[2]) / 2,
        "ramp": np.linspace(-1, 1, 320, dtype=np.float32).reshape(1, 1, 1, 320),
        **{name: np.float32(value) for name, value in numbers.items()},
    }

    def value(name: str, *shape: int) -> Any:
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", *shape])

    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(kind, list(into), [out], **SETTINGS.get(kind, {})) for kind, into, out in NODES],
        "stand_in",
        [value("pictures", 1, 200, 320)],
        [value("logits", 4, 200, 320), value("facts", 6)],
        [onnx.numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in known.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    file.write_bytes(model.SerializeToString())


@contextmanager
def standing_in(folder: Path) -> Iterator[None]:
    """While this lasts, `eye_reader` is this network."""
    write_network(folder / "eye_reader.onnx")
    (folder / "eye_reader.toml").write_text(CARD)
    with weights_in(folder):
        yield


def cards_like(pattern: str) -> Iterator[Path]:
    """Files of cards, wherever in the package they lie."""
    return (file for folder in model_cards.FOLDERS for file in folder.glob(pattern))


@contextmanager
def weights_in(folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_cards, "FOLDERS", (folder,))
        forget()
        yield
    forget()


def forget() -> None:
    model_cards.card.cache_clear()
    model_cards.session.cache_clear()
