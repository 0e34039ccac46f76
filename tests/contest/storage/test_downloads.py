import hashlib
import io
import os
import pickle
import shutil
import zipfile

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palestra import registry
from palestra.contest.storage.downloads import Manifest, Pack, fetch, manifest, pack_starter, pack_truth, pack_view
from palestra.contest.storage.file_store import Files
from palestra.errors import PalestraError, Refused
from palestra.scoring import score
from palestra.tracks.eye_segmentation import format as openeds
from tests.changed import changed

TRACKS = sorted(registry.tracks())
DATA = os.urandom(1000)


def nothing(count):
    pass


@pytest.fixture
def store(tmp_path):
    return Files.open(str(tmp_path / "store"))


@pytest.fixture
def copy(tiny, tmp_path):
    """A data set of one's own, to change."""

    def make(track_id):
        return shutil.copytree(tiny(track_id), tmp_path / "data")

    return make


def names_in(store, pack):
    return zipfile.ZipFile(io.BytesIO(store.read(pack.file, 1 << 30))).namelist()


def truth_of(track, data):
    """The trials whose truth can be read there."""
    try:
        return set(score.load(track, data).truth["trial"])
    except (PalestraError, OSError):
        return set()


@pytest.mark.parametrize("track_id", TRACKS)
def test_the_view_has_all_but_the_truth_and_the_truth_has_the_rest(track_id, tiny, store, tmp_path):
    track, data, done = registry.track(track_id), tiny(track_id), []
    view, truth = pack_view(track, data, store, done.append), pack_truth(track, data, store)
    assert store.size(view.file) == view.bytes
    shown, hidden = names_in(store, view), names_in(store, truth)
    assert sum(done) == len(shown)
    partly = {str(place) for place in track.dataset.in_part(data)} if track.dataset.in_part else set()
    assert {*shown, *hidden} == {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()}
    assert set(shown) & set(hidden) <= partly <= set(hidden)
    assert all(any(name.startswith(f"{part}/") for part in track.dataset.hidden) for name in {*hidden} - partly)
    for pack in (view, truth):
        with store.local(pack.file) as file, zipfile.ZipFile(file) as archive:
            archive.extractall(tmp_path / "unpacked")
        if pack is view:
            assert not (truth_of(track, tmp_path / "unpacked") & truth_of(track, data))
    assert score.load(track, tmp_path / "unpacked").digest == score.load(track, data).digest


def test_a_pack_is_the_same_every_time_and_no_links_are_in_it(tiny, store):
    track, data = registry.track("near-eye-gaze-v1"), tiny("near-eye-gaze-v1")
    assert pack_view(track, data, store, nothing) == pack_view(track, data, store, nothing)
    archive = zipfile.ZipFile(io.BytesIO(store.read(pack_view(track, data, store, nothing).file, 1 << 30)))
    assert all(member.external_attr >> 16 in (0o644, 0o755) for member in archive.infolist())
    assert not list((store._place.incoming).iterdir())


@pytest.mark.parametrize("place", ["", openeds.RELEASE])
def test_labels_that_a_track_reads_and_does_not_hide_are_not_given_out(copy, store, place):
    """A pack that goes by names alone would give them out."""
    track, data = registry.track("eye-segmentation-v1"), copy("eye-segmentation-v1")
    hidden = ("truth", "test_GT", f"{openeds.RELEASE}/test_GT")
    track = changed(track, hidden=hidden)
    rows = openeds.read_hidden(data).rows()
    masks = {trial: openeds.open_mask(file, key).copy() for trial, file, key in rows}
    (data / openeds.RELEASE / openeds.PICKLE).write_bytes(pickle.dumps(masks))
    if not place:  # the release's own folder, named as the data set
        data = data / openeds.RELEASE
    with pytest.raises(Refused, match="truth that can be read from what contestants would get"):
        pack_view(track, data, store, nothing)
    assert not [path for path in store._place.root.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "name",
    ["Truth/P01.csv", "truth.bak/P01.csv", "truth_old.csv", "backup/truth/P01.csv", "TRUTH", "truth-2/x", "truth.csv"],
)
def test_what_is_called_like_the_truth_is_not_given_out(copy, store, name):
    track, data = registry.track("near-eye-gaze-v1"), copy("near-eye-gaze-v1")
    (data / name).parent.mkdir(parents=True, exist_ok=True)
    (data / name).write_text("0,1,1\n")
    with pytest.raises(Refused, match="by the name of what is hidden"):
        pack_view(track, data, store, nothing)


def test_names_that_only_begin_alike_are_let_pass(copy, store):
    track, data = registry.track("near-eye-gaze-v1"), copy("near-eye-gaze-v1")
    (data / "truthful.txt").write_text("A note.")
    assert "truthful.txt" in names_in(store, pack_view(track, data, store, nothing))


@pytest.mark.parametrize("name", ["release.zip", "old/all.tar.gz", "x.TGZ", "y.7z"])
def test_archives_that_lie_in_a_data_set_are_not_given_out(copy, store, name):
    track, data = registry.track("near-eye-gaze-v1"), copy("near-eye-gaze-v1")
    (data / name).parent.mkdir(exist_ok=True)
    (data / name).write_bytes(b"PK")
    with pytest.raises(Refused, match="an archive"):
        pack_view(track, data, store, nothing)


@pytest.mark.parametrize("how", ["copy", "symlink", "hardlink"])
def test_a_hidden_file_under_a_second_path_is_not_given_out(copy, store, how):
    track, data = registry.track("near-eye-gaze-v1"), copy("near-eye-gaze-v1")
    hidden = next(path for path in sorted((data / "truth").rglob("*")) if path.is_file())
    second = data / "extra" / (hidden.name if how == "copy" else "points.dat")
    second.parent.mkdir()
    make = {"copy": lambda: shutil.copy(hidden, second), "symlink": lambda: second.symlink_to(hidden)}
    make.get(how, lambda: second.hardlink_to(hidden))()
    with pytest.raises(Refused, match=f"the same as {hidden.relative_to(data)}, which is hidden"):
        pack_view(track, data, store, nothing)


def test_a_link_to_a_folder_is_refused_and_not_left_out_in_silence(copy, store, tmp_path):
    track, data = registry.track("near-eye-gaze-v1"), copy("near-eye-gaze-v1")
    (data / "train").rename(tmp_path / "elsewhere")
    (data / "train").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="a link to a folder"):
        pack_view(track, data, store, nothing)


def test_a_hidden_folder_may_be_a_link(copy, store, tmp_path):
    track, data = registry.track("near-eye-gaze-v1"), copy("near-eye-gaze-v1")
    before = pack_view(track, data, store, nothing), pack_truth(track, data, store)
    (data / "truth").rename(tmp_path / "safe")
    (data / "truth").symlink_to(tmp_path / "safe")
    assert (pack_view(track, data, store, nothing), pack_truth(track, data, store)) == before


def test_files_that_hide_themselves_stay_at_home(copy, store):
    track, data = registry.track("near-eye-gaze-v1"), copy("near-eye-gaze-v1")
    before = pack_view(track, data, store, nothing)
    for name in (".DS_Store", ".git/objects/ab", "train/.truth.swp"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_bytes(b"anything")
    assert pack_view(track, data, store, nothing) == before


def test_data_whose_truth_is_broken_is_not_packed(copy, store):
    track, data = registry.track("near-eye-gaze-v1"), copy("near-eye-gaze-v1")
    shutil.rmtree(data / "truth")
    with pytest.raises(PalestraError, match="truth"):
        pack_view(track, data, store, nothing)
    with pytest.raises(Refused, match="nothing of what its track hides"):
        pack_truth(track, data, store)


@pytest.mark.parametrize("track_id", ["gaze-prediction-v1", "near-eye-live-v1"])
def test_a_starter_kit_is_one_folder(track_id, cache, tiny, store):
    tiny(track_id)
    pack = pack_starter(registry.track(track_id), store)
    assert isinstance(pack, Pack) and store.size(pack.file) == pack.bytes
    names = names_in(store, pack)
    assert f"{track_id}/README.md" in names
    assert {name.split("/")[0] for name in names} == {track_id}


# Downloads


class Server:
    """Gives the bytes of a file from an offset on, as it is told: it breaks off, or bends some of them."""

    def __init__(self, data, chunk=64):
        self.data, self.chunk = data, chunk
        self.asked, self.sent = [], 0
        self.break_after = []  # bytes, for each of the coming requests
        self.bent = []  # offsets of bytes that come wrong, once each

    def open_range(self, start):
        self.asked.append(start)
        until = len(self.data)
        if self.break_after:
            until = min(until, start + self.break_after.pop(0))
        return self._chunks(start, until)

    def _chunks(self, start, until):
        for at in range(start, until, self.chunk):
            chunk = bytearray(self.data[at : min(at + self.chunk, until)])
            for wrong in {wrong for wrong in self.bent if at <= wrong < at + len(chunk)}:
                chunk[wrong - at] ^= 1
                self.bent.remove(wrong)
            self.sent += len(chunk)
            yield bytes(chunk)


def listed(data, piece_bytes=100):
    store = Files.open("memory://")
    return manifest(store, store.put(data), piece_bytes)


def part_of(target, whole):
    return target.with_name(f"{target.name}.{whole.digest[:8]}.part")


def test_a_manifest_has_the_digest_of_every_piece_and_is_kept(store):
    digest = store.put(DATA[:250])
    whole = manifest(store, digest, 100)
    pieces = tuple(hashlib.sha256(DATA[at : min(at + 100, 250)]).hexdigest() for at in (0, 100, 200))
    assert whole == Manifest(digest, 250, 100, pieces)
    assert manifest(store, digest, 100) == whole
    assert manifest(store, digest, 200).piece_bytes == 200
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Manifest) == whole


def test_a_download_in_one_go(tmp_path):
    server, target, done = Server(DATA), tmp_path / "view.zip", []
    fetch(server.open_range, listed(DATA), target, done.append)
    assert target.read_bytes() == DATA and sum(done) == len(DATA)
    assert server.asked == [0] and [path.name for path in tmp_path.iterdir()] == ["view.zip"]


@pytest.mark.parametrize("data", [b"", b"x", DATA[:100], DATA[:101]], ids=["0", "1", "100", "101"])
def test_files_of_any_size_are_downloaded(tmp_path, data):
    fetch(Server(data).open_range, listed(data), tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == data


def test_a_download_that_failed_goes_on_with_the_pieces_it_has(tmp_path):
    server, target, whole, done = Server(DATA), tmp_path / "view.zip", listed(DATA), []

    def breaking(start):
        yield from server._chunks(start, 450)
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        fetch(breaking, whole, target)
    assert not target.exists() and part_of(target, whole).stat().st_size == 400
    fetch(server.open_range, whole, target, done.append)
    assert server.asked == [400] and target.read_bytes() == DATA and sum(done) == len(DATA)


def test_a_stream_that_ends_early_is_asked_for_again(tmp_path):
    server, target = Server(DATA), tmp_path / "view.zip"
    server.break_after = [250, 0, 130]
    fetch(server.open_range, listed(DATA), target)
    assert server.asked == [0, 200, 200, 300] and target.read_bytes() == DATA


def test_a_piece_that_comes_wrong_is_asked_for_again_and_no_other(tmp_path):
    server, target = Server(DATA, chunk=50), tmp_path / "view.zip"
    server.bent = [320, 555]
    fetch(server.open_range, listed(DATA), target)
    assert server.asked == [0, 300, 500] and target.read_bytes() == DATA
    assert server.sent == len(DATA) + 200


def test_a_piece_that_always_comes_wrong_ends_the_download_and_keeps_the_rest(tmp_path):
    server, target, whole = Server(DATA), tmp_path / "view.zip", listed(DATA)
    server.bent = [320] * 10
    with pytest.raises(PalestraError, match="Piece 4 of 10 came wrong or not at all, 3 times"):
        fetch(server.open_range, whole, target)
    assert not target.exists()
    server.bent = []
    fetch(server.open_range, whole, target)
    assert target.read_bytes() == DATA


def test_pieces_that_went_bad_on_the_disk_are_fetched_again_and_those_alone(tmp_path):
    server, target, whole = Server(DATA, chunk=100), tmp_path / "view.zip", listed(DATA)
    bad = bytearray(DATA)
    for at in (120, 250, 777):
        bad[at] ^= 255
    part_of(target, whole).write_bytes(bytes(bad) + b"and more")
    fetch(server.open_range, whole, target)
    assert server.asked == [100, 700] and target.read_bytes() == DATA
    assert server.sent <= 500


def test_a_file_whose_pieces_are_right_and_whole_is_not_never_gets_its_name(tmp_path):
    whole = msgspec.structs.replace(listed(DATA), digest="0" * 64)
    with pytest.raises(PalestraError, match="the list of pieces is of another file"):
        fetch(Server(DATA).open_range, whole, tmp_path / "view.zip")
    assert not (tmp_path / "view.zip").exists()


def test_what_is_there_already_is_not_fetched_and_another_file_is_not_overwritten(tmp_path):
    server, target, done = Server(DATA), tmp_path / "view.zip", []
    target.write_bytes(DATA)
    fetch(server.open_range, listed(DATA), target, done.append)
    assert server.asked == [] and done == [len(DATA)]
    target.write_bytes(b"my own")
    with pytest.raises(PalestraError, match="is there, and is another file"):
        fetch(server.open_range, listed(DATA), target)
    assert target.read_bytes() == b"my own"


def test_newer_data_does_not_go_on_with_the_part_of_older(tmp_path):
    target, old, new = tmp_path / "view.zip", listed(DATA), listed(DATA[::-1])
    part_of(target, old).write_bytes(DATA[:500])
    server = Server(DATA[::-1])
    fetch(server.open_range, new, target)
    assert server.asked == [0] and target.read_bytes() == DATA[::-1]


def test_a_manifest_that_makes_no_sense_is_refused(tmp_path):
    whole = listed(DATA)
    bent = [{"piece_bytes": 0}, {"piece_bytes": -1}, {"bytes": 10**15}, {"bytes": -1}, {"pieces": ()},
            {"piece_bytes": 1 << 40, "pieces": whole.pieces[:1]}, {"digest": "../../x"}]  # fmt: skip
    for change in bent:
        with pytest.raises(Refused, match="the list of pieces"):
            fetch(Server(DATA).open_range, msgspec.structs.replace(whole, **change), tmp_path / "x")
    assert not list(tmp_path.iterdir())


@given(
    st.binary(max_size=300),
    st.integers(1, 50),
    st.binary(max_size=320),
    st.lists(st.integers(0, 120), max_size=2),
    st.sets(st.integers(0, 299), max_size=2),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_whatever_lies_there_and_however_the_line_behaves_the_file_is_right(
    tmp_path_factory, data, piece_bytes, left, breaks, bent
):
    target, whole = tmp_path_factory.mktemp("fetch") / "view.zip", listed(data, piece_bytes)
    server = Server(data, chunk=13)
    server.break_after, server.bent = breaks, [at for at in bent if at < len(data)]
    part_of(target, whole).write_bytes(left)
    done = []
    try:
        fetch(server.open_range, whole, target, done.append)
    except PalestraError:  # one piece may come wrong three times
        assert not target.exists()
        fetch(server.open_range, whole, target)
    else:
        assert sum(done) == len(data)
    assert target.read_bytes() == data
