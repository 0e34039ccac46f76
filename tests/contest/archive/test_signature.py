"""The contest's key: made once, for its owner alone, and what it signs can be checked by anybody."""

import base64
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_public_key
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.archive.signature import fingerprint, key_of, open_key, pem_of, same_fingerprint, verify
from palestra.contest.archive.verify_archive import _word
from palestra.errors import PalestraError, Refused


@pytest.fixture
def file(tmp_path):
    return tmp_path / "contest.key"


def test_a_key_is_made_once_and_only_its_owner_may_read_it(file):
    first = open_key(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert open_key(file).public == first.public
    assert [path.name for path in file.parent.iterdir()] == ["contest.key"]


def test_of_many_who_make_it_at_once_all_get_the_same(file):
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: open_key(file).public, range(32)))
    assert len(set(keys)) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_key_that_others_may_read_is_refused(file, mode):
    open_key(file)
    file.chmod(mode)
    with pytest.raises(Refused, match="chmod 600"):
        open_key(file)


def test_a_file_that_is_no_key_is_refused_and_not_replaced(file):
    file.write_bytes(b"half of a key")
    file.chmod(0o600)
    with pytest.raises(PalestraError, match="from a backup"):
        open_key(file)
    assert file.read_bytes() == b"half of a key"


def test_a_key_of_another_kind_is_refused(file):
    file.write_bytes(generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    file.chmod(0o600)
    with pytest.raises(Refused, match="Ed25519"):
        open_key(file)


def test_a_signature_fits_what_was_signed_and_nothing_else(file):
    key = open_key(file)
    signature = key.sign(b"the manifest")
    other = open_key(file.with_name("other.key"))
    assert verify(b"the manifest", signature, key.public)
    assert not verify(b"the Manifest", signature, key.public)
    assert not verify(b"the manifest", signature, other.public)
    assert not verify(b"the manifest", signature[:-1], key.public)
    assert not verify(b"the manifest", signature, b"no key")


def test_nothing_shows_the_private_key(file):
    key = open_key(file)
    assert repr(key) == f"Key({key.fingerprint})"
    secret = base64.b64decode(b"".join(file.read_bytes().split(b"\n")[1:-2]))[-32:]
    assert secret not in key.public + pem_of(key.public)


@given(st.binary(min_size=32, max_size=32))
def test_a_public_key_comes_back_from_its_file(public):
    assert key_of(pem_of(public)) == public


@given(st.binary(min_size=32, max_size=32), st.integers(0, 112), st.integers(1, 255))
def test_a_changed_key_file_is_another_key_or_none(public, place, change):
    pem = bytearray(pem_of(public))
    pem[place] ^= change
    try:
        assert key_of(bytes(pem)) != public
    except ValueError as error:
        assert "Ed25519" in str(error)


def test_our_key_files_are_those_that_others_read(file):
    public = open_key(file).public
    assert load_pem_public_key(pem_of(public)).public_bytes_raw() == public


def test_a_fingerprint_is_eight_words_and_always_the_same():
    assert fingerprint(bytes(32)) == "kinom-lopot-zodof-rujul-kufaz-sakar-mupiz-mumob"


def test_words_are_those_of_the_published_scheme():
    """Proquints, arXiv:0901.4016: 127.0.0.1 is lusab-babad."""
    assert (_word(0x7F00), _word(0x0001)) == ("lusab", "babad")


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_other_keys_have_other_fingerprints(one, other):
    assert (fingerprint(one) == fingerprint(other)) == (one == other)


def test_a_fingerprint_may_be_typed_as_people_do():
    words = fingerprint(bytes(32))
    assert same_fingerprint(words.replace("-", " ").upper() + "\n", words)
    assert not same_fingerprint(words.replace("k", "m", 1), words)
    assert not same_fingerprint("", words)
