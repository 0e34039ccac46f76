"""What a bundle is made of, and what changed in it."""

import hashlib

import pytest

from palestra.entrants.parts import Parts, part_of, parts_of


@pytest.fixture
def bundle(tmp_path):
    def write(name, **files):
        for place, text in {
            "Algorithm/MyAlgorithm.py": "x = 1",
            "w/model.ONNX": "old",
            "config.json": "{}",
            **files,
        }.items():
            file = tmp_path / name / place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return parts_of(tmp_path / name)

    return write


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Algorithm/MyAlgorithm.py", "code"), ("model.pt", "weights"), ("MODEL.PT", "weights"),
        ("a/b.yaml", "configuration"),
        ("model.pt.py", "code"), ("lib.so", "code"), ("wheels/x.whl", "code"), ("weights", "code"), (".pt", "code"),
    ],
)  # fmt: skip
def test_all_that_is_not_known_for_weights_or_configuration_is_code(name, part):
    assert part_of(name) == part


def test_other_weights_change_the_digest_of_the_weights_alone(bundle):
    before, after = bundle("a"), bundle("b", **{"w/model.ONNX": "new"})
    assert before.digest("weights") != after.digest("weights")
    assert before.digest("code") == after.digest("code")
    assert before.digest("configuration") == after.digest("configuration")
    assert after.changed(before) == []
    assert after.changed(before, "weights") == ["w/model.ONNX"]


def test_code_that_was_changed_added_or_removed_is_named(bundle):
    before = bundle("a", **{"Algorithm/gone.py": ""})
    after = bundle("b", **{"Algorithm/MyAlgorithm.py": "x = 2", "Algorithm/new.so": "", "w/model.ONNX": "new"})
    assert after.changed(before) == ["Algorithm/MyAlgorithm.py", "Algorithm/gone.py", "Algorithm/new.so"]
    assert after.digest("code") != before.digest("code")


def test_a_digest_is_of_names_and_contents_and_can_be_had_by_hand(bundle):
    text = hashlib.sha256(b"x = 1").hexdigest()
    expected = hashlib.sha256(f"Algorithm/MyAlgorithm.py\n{text}\n".encode()).hexdigest()
    assert bundle("a").digest("code") == expected
    assert Parts({}).digest("weights") == ""
