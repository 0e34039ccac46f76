"""Sign-in through another site, against a real provider, and against each way to cheat."""

import asyncio
import base64
import gzip
import hmac
import ipaddress
import json
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import jwt
import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, OKPAlgorithm

from palestra.contest.storage.database import open_database, sqlite_address, writing
from palestra.errors import PalestraError
from palestra.sandbox import public_addresses
from palestra.web.auth import oidc
from palestra.web.auth.id_token import Identity, identity_of
from palestra.web.site import Oidc
from tests.web.provider import CLIENT, OTHER_KEY, RSA_KEY, SECRET, Provider, public_jwk, running, send

NOW = 1_668_000_000_000
BACK = "http://127.0.0.1:9/signin/back"
NAME = "rebinds.example.org"
DISCOVERY = "/.well-known/openid-configuration"


@pytest.fixture
def provider():
    with running(NOW // 1000) as found:
        yield found


@dataclass
class SignIn:
    """Somebody who signs in."""

    provider: Provider

    @property
    def settings(self) -> Oidc:
        return Oidc(self.provider.url, CLIENT, SECRET, private=True)

    def begin(self) -> oidc.Kept:
        self.url, self.kept = asyncio.run(oidc.begin(self.settings, BACK, NOW))
        self.query = self.provider.authorize(self.url)
        return self.kept

    def finish(self, now: int = NOW) -> Identity:
        return asyncio.run(oidc.finish(self.settings, self.kept, self.query, now))

    def whole(self) -> Identity:
        self.begin()
        return self.finish()

    def refused(self, words: str, now: int = NOW) -> None:
        with pytest.raises(PalestraError, match=words):
            self.finish(now)


@pytest.fixture
def sign_in(provider):
    return SignIn(provider)


def test_somebody_signs_in(sign_in):
    assert sign_in.whole() == Identity(sign_in.provider.url, "person-1", "lin", "lin@example.org")
    assert sign_in.provider.asked == [DISCOVERY, DISCOVERY, "/token", "/jwks"]


def test_a_provider_that_takes_the_secret_in_the_form_gets_it_there(sign_in):
    sign_in.provider.about["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    assert sign_in.whole().subject == "person-1"


def test_without_a_secret_only_the_client_id_is_sent(sign_in):
    sign_in.begin()
    sign_in.provider.is_client = lambda form, authorization: (
        form["client_id"] == CLIENT and "client_secret" not in form and not authorization
    )
    public = msgspec.structs.replace(sign_in.settings, client_secret="")
    assert asyncio.run(oidc.finish(public, sign_in.kept, sign_in.query, NOW)).subject == "person-1"


def test_an_address_that_has_a_query_keeps_it(sign_in):
    sign_in.provider.about["authorization_endpoint"] += "?tenant=a%26b&empty="
    sign_in.begin()
    asked = dict(parse_qsl(urlsplit(sign_in.url).query, keep_blank_values=True))
    assert asked["tenant"] == "a&b" and asked["empty"] == "" and asked["redirect_uri"] == BACK
    assert sign_in.finish().subject == "person-1"


def test_each_sign_in_has_its_own_state_nonce_and_verifier(sign_in):
    first, second = sign_in.begin(), sign_in.begin()
    assert len({first.state, second.state, first.nonce, second.nonce, first.verifier, second.verifier}) == 6
    assert first.verifier not in sign_in.url and second.verifier not in sign_in.url


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA"])
def test_other_good_signatures_are_accepted(sign_in, algorithm):
    if algorithm == "ES256":
        key = ec.generate_private_key(ec.SECP256R1())
        public = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        key = ed25519.Ed25519PrivateKey.generate()
        public = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    sign_in.provider.jwks["keys"].append({**public, "kid": "curve"})
    sign_in.provider.sign = lambda claims: jwt.encode(claims, key, algorithm, {"kid": "curve"})
    assert sign_in.whole().subject == "person-1"


def test_keys_may_be_changed_between_two_sign_ins(sign_in):
    assert sign_in.whole().subject == "person-1"
    sign_in.provider.jwks["keys"] = [public_jwk(OTHER_KEY, "second")]
    sign_in.begin()
    sign_in.refused("fits none of the site's keys")
    sign_in.provider.sign = lambda claims: jwt.encode(claims, OTHER_KEY, "RS256", {"kid": "second"})
    assert sign_in.whole().subject == "person-1"


def test_keys_that_nobody_here_knows_do_no_harm_beside_a_good_one(sign_in):
    sign_in.provider.jwks["keys"][0] |= {"key_ops": ["sign"], "x5c": 7}
    sign_in.provider.jwks["keys"] += [{"kty": "EC", "crv": "P-1", "x": 7}, {"kty": "RSA", "n": "?"}, {"kty": "new"}, {}]
    assert sign_in.whole().subject == "person-1"


def test_a_token_may_carry_its_certificates_and_what_is_not_asked_for(sign_in):
    header = {"kid": "first", "x5c": ["A" * 4_000], "of-their-own": 1}
    sign_in.provider.sign = lambda claims: jwt.encode(claims, RSA_KEY, "RS256", header)
    sign_in.provider.claims = {"amr": "pwd", "auth_time": "today", "at_hash": 7, "\ud800": 1}
    assert sign_in.whole().subject == "person-1"


def test_an_email_that_the_site_has_not_verified_is_not_told(sign_in):
    sign_in.provider.claims = {"email_verified": False}
    assert sign_in.whole().email == ""


def test_a_name_comes_as_one_printable_line(sign_in):
    sign_in.provider.claims = {"preferred_username": "", "name": "Lin\n<b>\x00" + "x" * 10_000}
    name = sign_in.whole().name
    assert name.startswith("Lin <b> xxx") and len(name) == 200


# Nothing happens unless it is set up


def test_nothing_is_fetched_unless_an_issuer_is_set(provider):
    with pytest.raises(PalestraError, match="not set up"):
        asyncio.run(oidc.begin(Oidc("", CLIENT, SECRET), BACK, NOW))
    assert provider.asked == []


@pytest.mark.parametrize(
    "issuer",
    [
        "http://example.org",
        "http://127.0.0.1.example.org",
        "ftp://127.0.0.1",
        "https://user@example.org",
        "https://example.org/?tenant=1",
        "https://example.org/#part",
        "https://exa mple.org",
        "https://",
        "http://[::1",
        "example.org",
        "https://example.org:port",
    ],
)
def test_an_issuer_that_is_not_safe_is_refused(issuer):
    with pytest.raises(PalestraError):
        oidc.check_settings(Oidc(issuer, CLIENT))


@pytest.mark.parametrize(
    "issuer", ["https://example.org", "https://example.org/realms/a/", "http://localhost:8080", "http://[::1]:80"]
)
def test_an_issuer_by_https_or_on_this_machine_is_taken(issuer):
    oidc.check_settings(Oidc(issuer, CLIENT))


def test_a_client_id_must_be_set():
    with pytest.raises(PalestraError, match="client id"):
        oidc.check_settings(Oidc("https://example.org"))


# What the browser brings back


@pytest.mark.parametrize("state", ["", "another", None])
def test_a_wrong_state_is_refused_before_anything_is_fetched(sign_in, state):
    sign_in.begin()
    sign_in.query.pop("state")
    sign_in.query |= {} if state is None else {"state": state}
    sign_in.refused("not begun in this browser")
    assert "/token" not in sign_in.provider.asked


def test_an_answer_of_another_issuer_is_refused(sign_in):
    sign_in.begin()
    sign_in.query["iss"] = "https://evil.example"
    sign_in.refused("comes from 'https://evil.example'")


def test_the_issuer_in_the_answer_may_be_ours(sign_in):
    sign_in.begin()
    sign_in.query["iss"] = sign_in.provider.url
    assert sign_in.finish().subject == "person-1"


def test_a_refusal_of_the_site_is_told_in_one_line(sign_in):
    sign_in.begin()
    sign_in.query |= {"error": "access_denied", "error_description": "not\x1b[31m today\n"}
    sign_in.refused(r"It says: not \[31m today$")


def test_no_code_is_refused(sign_in):
    sign_in.begin()
    del sign_in.query["code"]
    sign_in.refused("without a code")


def test_a_sign_in_may_take_ten_minutes(sign_in):
    sign_in.begin()
    assert sign_in.finish(NOW + oidc.KEPT_MS - 300_000).subject == "person-1"
    sign_in.begin()
    sign_in.refused("longer than 10 minutes", NOW + oidc.KEPT_MS)
    sign_in.refused("longer than 10 minutes", NOW - 1)


def test_a_code_is_good_once(sign_in):
    sign_in.whole()
    sign_in.refused("unknown or used code")


def test_a_code_that_was_caught_is_worth_nothing_without_the_verifier(sign_in):
    caught = SignIn(sign_in.provider)
    caught.begin()
    sign_in.begin()
    sign_in.query["code"] = caught.query["code"]
    sign_in.refused("answered 400")


# What is kept in the browser


def test_what_is_kept_comes_back_from_its_cookie(sign_in):
    kept = sign_in.begin()
    assert oidc.unseal(oidc.seal(kept, b"k" * 32), b"k" * 32) == kept


@pytest.mark.parametrize("change", ["", ".", "x", "é.é"])
def test_a_cookie_that_is_not_ours_is_refused(change):
    with pytest.raises(PalestraError, match="begin again"):
        oidc.unseal(change, b"k" * 32)


def test_a_changed_cookie_is_refused():
    kept = oidc.Kept("state", "nonce", "verifier", BACK, NOW)
    cookie = oidc.seal(kept, b"k" * 32)
    forged = _base64(msgspec.json.encode(msgspec.structs.replace(kept, nonce="mine")))
    for wrong in (f"{forged}.{cookie.partition('.')[2]}", cookie[:-2], oidc.seal(kept, b"other")):
        with pytest.raises(PalestraError, match="begin again"):
            oidc.unseal(wrong, b"k" * 32)


@given(st.text())
def test_no_cookie_breaks_it(cookie):
    with pytest.raises(PalestraError):
        oidc.unseal(cookie, b"k" * 32)


# What the site signs


NOW_S = NOW // 1000


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"nonce": "another"}, "another sign-in"),
        ({"nonce": ""}, "another sign-in"),
        ({"nonce": None}, "another sign-in"),
        ({"aud": "another site"}, "Audience"),
        ({"aud": ["another site", "a third"]}, "Audience"),
        ({"aud": [CLIENT, "another site"]}, "made for None"),
        ({"aud": [CLIENT, "another site"], "azp": "another site"}, "made for 'another site'"),
        ({"azp": "another site"}, "made for 'another site'"),
        ({"azp": ""}, "made for ''"),
        ({"azp": [CLIENT]}, "made for"),
        ({"aud": [CLIENT, 7], "azp": CLIENT}, "cannot be accepted"),
        ({"nonce": 7}, "another sign-in"),
        ({"jti": 7}, "cannot be accepted"),
        ({"exp": NOW_S - 60}, "expired"),
        ({"exp": "soon"}, "its exp is 'soon'"),
        ({"exp": True}, "its exp is True"),
        ({"exp": float("nan")}, "its exp is nan"),
        ({"exp": 1e12}, "its exp is 1000000000000.0"),
        ({"iat": -1e12}, "its iat is -1000000000000.0"),
        ({"iat": None}, 'missing the "iat" claim'),
        ({"nbf": None}, "its nbf is None"),
        ({"iat": NOW_S + 61}, "from the future"),
        ({"nbf": NOW_S + 61}, "from the future"),
        ({"iss": "https://evil.example"}, "issuer"),
        ({"sub": ""}, "its subject is ''"),
        ({"sub": "a\x00b"}, "its subject is"),
        ({"sub": "x" * 300}, "its subject is"),
        ({"sub": 7}, "Subject must be a string"),
        ({"sub": None}, 'missing the "sub" claim'),
    ],
)
def test_a_token_with_a_wrong_claim_is_refused(sign_in, claims, words):
    sign_in.provider.claims = claims
    sign_in.begin()
    sign_in.refused(words)


def test_clocks_may_differ_by_less_than_a_minute(sign_in):
    sign_in.provider.claims = {"exp": NOW_S - 59, "iat": NOW_S + 59, "nbf": NOW_S + 59}
    assert sign_in.whole().subject == "person-1"


def test_several_audiences_are_fine_when_the_token_is_made_for_us(sign_in):
    sign_in.provider.claims = {"aud": [CLIENT, "another site"], "azp": CLIENT}
    assert sign_in.whole().subject == "person-1"


def _base64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _unsigned(claims, algorithm="none"):
    header = {"alg": algorithm, "kid": "first"}
    return f"{_base64(json.dumps(header).encode())}.{_base64(json.dumps(claims).encode())}."


def _hs256_with_public_key(claims):
    """The attack on checkers that take the algorithm from the token: the public key as a shared secret."""
    public = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    body = _unsigned(claims, "HS256")
    return body + _base64(hmac.digest(public, body[:-1].encode(), "sha256"))


def _signed(claims):
    """Signed as it is, where PyJWT would refuse to sign nonsense."""
    return jwt.PyJWS().encode(json.dumps(claims).encode(), RSA_KEY, "RS256", {"kid": "first"})


def _changed(claims):
    head, _, signature = jwt.encode(claims, RSA_KEY, "RS256", {"kid": "first"}).split(".")
    other = _base64(json.dumps(claims | {"sub": "somebody else"}).encode())
    return f"{head}.{other}.{signature}"


@pytest.mark.parametrize(
    ("sign", "words"),
    [
        (_unsigned, "signed with 'none'"),
        (_hs256_with_public_key, "signed with 'HS256'"),
        (lambda claims: jwt.encode(claims, "k" * 32, "HS256", {"kid": "first"}), "signed with 'HS256'"),
        (lambda claims: jwt.encode(claims, RSA_KEY, "RS512", {"kid": "first"}), "signed with 'RS512'"),
        (lambda claims: jwt.encode(claims, OTHER_KEY, "RS256", {"kid": "other"}), "fits none of the site's keys"),
        (lambda claims: jwt.encode(claims, OTHER_KEY, "RS256", {"kid": "first"}), "Signature verification failed"),
        (_changed, "Signature verification failed"),
        (lambda claims: "a.b.c", "cannot be accepted"),
        (lambda claims: "", "cannot be accepted"),
        (lambda claims: "x" * 20_000, "20,000 letters"),
    ],
    ids=[
        "none",
        "public-key-as-secret",
        "hs256",
        "rs512",
        "unknown-key",
        "other-key",
        "changed",
        "abc",
        "empty",
        "long",
    ],
)
def test_a_token_that_the_site_has_not_signed_is_refused(sign_in, sign, words):
    sign_in.provider.sign = sign
    sign_in.begin()
    sign_in.refused(words)


def _with_header(header):
    """A token with any JSON as its header; that nobody signed it does not matter to what is tried with it."""
    return f"{_base64(header)}.{_base64(b'{}')}.{_base64(b'signature')}"


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[]",
        b'"alg"',
        b'["alg", "b64"]',
        b"[" * 9_000,
        b"\xff",
        b'{"kid": "first"}',
        b'{"alg": 7}',
        b'{"alg": ["RS256"], "kid": "first"}',
        b'{"alg": "RS256", "kid": 7}',
        b'{"alg": "RS256", "kid": "first", "crit": 5}',
        b'{"alg": "RS256", "kid": "first", "crit": [[]]}',
        b'{"alg": "RS256", "kid": "first", "crit": ["new"], "new": 1}',
        b'{"alg": "RS256", "kid": "first", "b64": false, "crit": ["b64"]}',
    ],
)
def test_a_token_with_a_header_that_is_something_else_is_refused(header):
    with pytest.raises(PalestraError, match="cannot be accepted"):
        identity_of("https://a.example", CLIENT, _with_header(header), [public_jwk(RSA_KEY, "first")], "n", NOW)


@pytest.mark.parametrize("payload", [b"", b"[]", b"[" * 9_000, b"\xff", b'{"exp": 1' + b"0" * 5_000 + b"}"])
def test_a_signed_token_that_has_no_claims_is_refused(payload):
    token = jwt.PyJWS().encode(payload, RSA_KEY, "RS256", {"kid": "first"})
    with pytest.raises(PalestraError, match="cannot be accepted"):
        identity_of("https://a.example", CLIENT, token, [public_jwk(RSA_KEY, "first")], "n", NOW)


def test_a_signed_token_whose_claims_are_not_encoded_is_refused():
    """RFC 7797 forbids it in a JWT; the signature is right."""
    claims = {"iss": "http://localhost", "aud": CLIENT, "sub": "x", "iat": NOW_S, "exp": NOW_S + 9, "nonce": "n"}
    header = {"alg": "RS256", "kid": "first", "b64": False, "crit": ["b64"]}
    signed = f"{_base64(json.dumps(header).encode())}.{json.dumps(claims)}"
    signature = RSA_KEY.sign(signed.encode(), PKCS1v15(), SHA256())
    with pytest.raises(PalestraError, match="cannot be accepted"):
        token = f"{signed}.{_base64(signature)}"
        identity_of("http://localhost", CLIENT, token, [public_jwk(RSA_KEY, "first")], "n", NOW)


def test_a_shared_secret_among_the_keys_is_no_key(sign_in):
    sign_in.provider.jwks["keys"] = [{"kty": "oct", "kid": "first", "k": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s"}]
    sign_in.begin()
    sign_in.refused("fits none of the site's keys")


def test_a_token_without_key_id_needs_a_site_with_one_key(sign_in):
    sign_in.provider.sign = lambda claims: jwt.encode(claims, RSA_KEY, "RS256")
    assert sign_in.whole().subject == "person-1"
    sign_in.provider.jwks["keys"].append(public_jwk(OTHER_KEY, "second"))
    sign_in.begin()
    sign_in.refused("fits 2 of the site's keys")


def test_a_key_for_encryption_signs_nothing(sign_in):
    sign_in.provider.jwks["keys"][0]["use"] = "enc"
    sign_in.begin()
    sign_in.refused("fits none")


def test_a_short_key_is_refused(sign_in):
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    sign_in.provider.jwks["keys"] = [public_jwk(short, "short")]
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = jwt.encode({"sub": "x"}, short, "RS256", {"kid": "short"})
    sign_in.provider.sign = lambda claims: token
    sign_in.begin()
    sign_in.refused("1024 bits")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
CLAIMS = st.sampled_from(["iss", "sub", "aud", "exp", "iat", "nbf", "nonce", "azp", "name", "email", "email_verified"])


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(CLAIMS, JSON, max_size=4))
def test_whatever_a_site_signs_is_an_identity_or_refused_in_words(changes):
    right = {"iss": "https://a.example", "aud": CLIENT, "sub": "x", "iat": NOW_S, "exp": NOW_S + 9, "nonce": "n"}
    token = _signed(right | changes)
    try:
        found = identity_of("https://a.example", CLIENT, token, [public_jwk(RSA_KEY, "first")], "n", NOW)
    except PalestraError:
        return
    assert found.issuer == "https://a.example" and found.subject and found.name.isprintable()


@given(st.lists(st.dictionaries(st.sampled_from(["kty", "kid", "n", "e", "use", "alg", "crv"]), JSON), max_size=3))
def test_no_list_of_keys_breaks_it(keys):
    token = jwt.encode({"sub": "x"}, RSA_KEY, "RS256", {"kid": "first"})
    for key in keys:
        key |= {"kty": "RSA", "kid": "first"}
    with pytest.raises(PalestraError):
        identity_of("https://a.example", CLIENT, token, keys, "n", NOW)


# What the site answers


def test_a_site_that_names_itself_otherwise_is_refused(sign_in):
    sign_in.provider.about["issuer"] += "/"
    with pytest.raises(PalestraError, match="expected exactly"):
        sign_in.begin()


@pytest.mark.parametrize("field", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
@pytest.mark.parametrize(
    "address",
    ["http://example.org/x", "javascript:alert(1)", "https://user:word@example.org", "https://a.example/\r\nx", ""],
)
def test_an_endpoint_that_is_not_safe_is_refused(sign_in, field, address):
    sign_in.provider.about[field] = address
    with pytest.raises(PalestraError, match=field):
        sign_in.begin()


def test_only_a_site_on_this_machine_may_name_plain_endpoints_on_it():
    with pytest.raises(PalestraError, match="not safe"):
        oidc._require_safe("http://127.0.0.1/token", "token_endpoint", loopback=False)


@pytest.mark.parametrize("path", [DISCOVERY, "/token", "/jwks"])
def test_an_answer_that_is_too_long_is_not_read(sign_in, path):
    def flood(handler):
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"x" * 65_536)
        except OSError:
            return  # the other side has had enough

    sign_in.begin()
    sign_in.provider.raw[path] = flood
    sign_in.refused("more than 256 KiB")


def test_a_packed_answer_is_not_unpacked(sign_in):
    def packed(handler):
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        handler.wfile.write(gzip.compress(b" " * 50_000_000))

    sign_in.begin()
    sign_in.provider.raw["/jwks"] = packed
    sign_in.refused("something else than OpenID Connect asks for")


@pytest.mark.parametrize("begun", [False, True], ids=["silent", "half-answered"])
def test_a_site_that_does_not_go_on_is_given_up(sign_in, begun):
    over = threading.Event()

    def hang(handler):
        if begun:
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(b'{"keys":')
            handler.wfile.flush()
        over.wait(30)

    sign_in.begin()
    sign_in.provider.raw["/jwks"] = hang
    impatient = msgspec.structs.replace(sign_in.settings, answer_s=0.3)
    try:
        with pytest.raises(PalestraError, match="did not answer within"):
            asyncio.run(oidc.finish(impatient, sign_in.kept, sign_in.query, NOW))
    finally:
        over.set()


def test_a_connection_that_breaks_is_told(sign_in):
    def stop_short(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"keys":')
        handler.close_connection = True

    sign_in.begin()
    sign_in.provider.raw["/jwks"] = stop_short
    sign_in.refused("cannot be reached")


def test_a_site_that_is_not_there_is_told(sign_in):
    gone = Oidc("http://127.0.0.1:1", CLIENT, private=True)
    with pytest.raises(PalestraError, match="cannot be reached"):
        asyncio.run(oidc.begin(gone, BACK, NOW))


def test_a_redirect_is_not_followed(sign_in):
    def elsewhere(handler):
        handler.send_response(302)
        handler.send_header("Location", "/secret")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    sign_in.begin()
    sign_in.provider.raw["/jwks"] = elsewhere
    sign_in.refused("answered 302")
    assert "/secret" not in sign_in.provider.asked


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"keys": [1]}', b'{"keys": {}}', b'"\xff"', b"[" * 9_999])
def test_an_answer_that_is_something_else_is_told(sign_in, body):
    sign_in.begin()
    sign_in.provider.raw["/jwks"] = lambda handler: send(handler, 200, body)
    sign_in.refused("something else than OpenID Connect asks for")
    sign_in.begin()
    sign_in.provider.raw["/token"] = lambda handler: send(handler, 400, body)
    sign_in.refused("answered 400. Please begin again")


def test_a_wrong_client_secret_is_told(sign_in):
    sign_in.begin()
    wrong = msgspec.structs.replace(sign_in.settings, client_secret="wrong")
    with pytest.raises(PalestraError, match="answered 401: invalid_client"):
        asyncio.run(oidc.finish(wrong, sign_in.kept, sign_in.query, NOW))


# Whose account it is


def test_an_identity_keeps_its_account(tmp_path):
    engine = open_database(sqlite_address(tmp_path / "contest.db"))
    lin = Identity("https://a.example", "1", "lin", "")
    elsewhere = msgspec.structs.replace(lin, issuer="https://b.example")
    with writing(engine) as connection:
        assert oidc.account_of(connection, lin) is None
        oidc.bind(connection, lin, "account-1")
    with writing(engine) as connection:
        assert oidc.account_of(connection, msgspec.structs.replace(lin, name="li", email="x@y")) == "account-1"
        assert oidc.account_of(connection, elsewhere) is None
    engine.dispose()


# Addresses


def test_a_site_beside_the_server_is_not_asked_unless_that_is_allowed(provider):
    with pytest.raises(PalestraError, match=r"leads to 127\.0\.0\.1.*--private-addresses"):
        asyncio.run(oidc.begin(Oidc(provider.url, CLIENT, SECRET), BACK, NOW))
    assert provider.asked == []


def test_a_site_does_not_send_us_to_an_address_of_our_own_network(sign_in, monkeypatch):
    """What it says of itself is a stranger's word."""
    kept = sign_in.begin()
    asked = []

    def looked_up(host, port, **how):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", port))]

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    settings = Oidc("https://id.example.org", CLIENT, SECRET)
    with pytest.raises(PalestraError, match=r"keys\.example\.org leads to 169\.254\.169\.254"):
        asyncio.run(oidc._fetch(settings, "GET", "https://keys.example.org/jwks", dict))
    assert asked == ["keys.example.org"] and kept


@pytest.fixture
def rebinding(monkeypatch):
    """A name that leads to a provider when it is first looked up, and nowhere when it is looked up again. Loopback is
    the public network here: what was looked at is noted."""
    seen, find = [], socket.getaddrinfo

    def looked_up(host, *more, **how):
        return find("127.0.0.1" if host in (NAME, NAME.encode()) and not seen else host, *more, **how)

    monkeypatch.setattr(public_addresses, "is_public", lambda address: not seen.append(address))
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    return seen


def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(provider, rebinding):
    port = urlsplit(provider.url).port
    about = asyncio.run(oidc._fetch(Oidc(), "GET", f"http://{NAME}:{port}{DISCOVERY}", dict))
    assert about["issuer"] == provider.url and rebinding == ["127.0.0.1"]
    assert provider.hosts == [f"{NAME}:{port}"]


@pytest.mark.parametrize(("named", "good"), [(NAME, True), ("other.example.org", False), ("127.0.0.1", False)])
def test_a_certificate_is_checked_for_the_name_and_not_the_address(rebinding, tmp_path, monkeypatch, named, good):
    file = certificate(tmp_path / "cert.pem", named)
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(file)
    monkeypatch.setattr(oidc, "_tls", lambda: ssl.create_default_context(cafile=file))
    with running(NOW // 1000, theirs) as provider:
        url = f"https://{NAME}:{urlsplit(provider.url).port}{DISCOVERY}"
        if good:
            assert asyncio.run(oidc._fetch(Oidc(), "GET", url, dict))["issuer"] == provider.url
        else:
            with pytest.raises(PalestraError, match=r"cannot be reached.*certificate"):
                asyncio.run(oidc._fetch(Oidc(), "GET", url, dict))


def certificate(file, name):
    """Key and certificate of a host, signed by itself."""
    key, day = ec.generate_private_key(ec.SECP256R1()), timedelta(days=1)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a host of a test")])
    with suppress(ValueError):
        name = x509.IPAddress(ipaddress.ip_address(name))
    names = x509.SubjectAlternativeName([name if isinstance(name, x509.IPAddress) else x509.DNSName(name)])
    made = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(datetime.now(UTC) - day).not_valid_after(datetime.now(UTC) + day)
    signed = made.add_extension(names, critical=False).sign(key, SHA256())
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(secret + signed.public_bytes(Encoding.PEM))
    return file
