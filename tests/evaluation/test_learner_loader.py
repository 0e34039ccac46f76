"""A learner's digest changes with every file that it is made of, and with none else."""

import pytest

from palestra import model_cards
from palestra.errors import PalestraError
from palestra.evaluation import learner_loader
from palestra.records import Solution
from tests.eye_networks import CARD, weights_in

CLASS = "class Mine:\n    def fit(self, training): pass\n    def predict(self, test): pass\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(f"import nets.layers\n{CLASS}    def late(self):\n        from lazily import x\n")
    (tmp_path / "lazily.py").write_text("import further\n")
    (tmp_path / "further.py").write_text("import lazily\n")  # in a circle
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("")
    (tmp_path / "nets" / "layers.py").write_text("from .deep import y\n")
    (tmp_path / "nets" / "deep.py").write_text("y = 1\n")
    (tmp_path / "plots.py").write_text("")
    return tmp_path


def digest(folder, name="Mine"):
    return learner_loader.digest(f"{folder / 'mine.py'}:{name}")


@pytest.mark.parametrize("name", ["mine.py", "lazily.py", "further.py", "nets/layers.py", "nets/deep.py"])
def test_a_change_in_what_it_imports_is_seen(folder, name):
    before = digest(folder)
    (folder / name).write_text((folder / name).read_text() + "# new\n")
    assert digest(folder) != before


def test_what_it_does_not_import_is_not_part_of_it(folder):
    before = digest(folder)
    (folder / "plots.py").write_text("x = 1\n")
    assert digest(folder) == before


def test_two_classes_of_one_file_are_two_learners(folder):
    assert digest(folder) != digest(folder, "Other")


def test_where_it_lies_does_not_count(folder, tmp_path_factory):
    import shutil

    moved = tmp_path_factory.mktemp("moved") / "here"
    shutil.copytree(folder, moved)
    assert digest(moved) == digest(folder)


def test_a_solution_of_the_package_goes_by_its_name():
    name = "palestra.tracks.emotion_eeg.solutions.learner:Entropies"
    assert learner_loader.digest(name) == name and learner_loader.absolute(name) == name
    assert learner_loader.gpus_of(name) == 0


def test_other_weights_are_another_solution(tmp_path, monkeypatch):
    (tmp_path / "w.toml").write_text(CARD + 'file = "w.npz"\n')
    with weights_in(tmp_path):
        _compare_digests(tmp_path)


def _compare_digests(tmp_path):
    learnt = Solution(track="t", name="learnt", title="", weights="w.npz")
    digests = []
    for content in (b"one", b"two", b"one"):
        (tmp_path / "w.npz").write_bytes(content)
        digests.append(model_cards.weights_digest(learnt))
    assert digests[0] == digests[2] != digests[1]
    assert model_cards.weights_digest(Solution(track="t", name="unlearnt", title="")) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [("x =", "fails when it is loaded: SyntaxError"), ("raise OSError(1)", "fails when it is loaded: OSError"),
     ("class Mine: pass", "expected a class Mine with fit")],
    ids=["no Python", "fails", "no methods"],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named(tmp_path, text, words):
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(PalestraError, match=words):
        learner_loader.load(f"{tmp_path / 'mine.py'}:Mine")


def test_a_bare_name_is_told_what_it_could_be():
    with pytest.raises(PalestraError, match=r"FILE\.py:Class"):
        learner_loader.load("Mine")
