"""The ID token of another site: whom it names, once everything about it has been checked. Pure functions."""

import warnings
from typing import Any, NoReturn

import msgspec
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc import jws, jwt
from joserfc.errors import BadSignatureError, ClaimError, JoseError, MissingClaimError, SecurityWarning
from joserfc.jwk import Key, RSAKey, import_key
from joserfc.registry import HeaderParameter

from palestra.errors import PalestraError, clean, clip
from palestra.text import Words, say

# Signatures that need the other site's private key. With any that does not, its public key could be used to forge.
ALGORITHMS = {"RS256": ("RSA", None), "ES256": ("EC", "P-256"), "EdDSA": ("OKP", "Ed25519")}
SHORTEST_RSA = 2048  # bits
LEEWAY_S = 60  # that two clocks may differ
LONGEST_TOKEN = 16 * 1024
LONGEST_IDENTITY = 300  # letters of issuer and subject together

# It warns of short keys, which are refused here, and of the name EdDSA, which sites go on using.
warnings.filterwarnings("ignore", category=SecurityWarning)


class _Signatures(jws.JWSRegistry):
    """What signatures may be like: a header may carry certificates, as long as the whole token is short enough."""

    max_header_length = max_payload_length = max_signature_length = LONGEST_TOKEN


SIGNATURES = _Signatures(
    {"b64": HeaderParameter("claims that are not encoded: RFC 7797 forbids them in tokens", "none")},
    list(ALGORITHMS),
    strict_check_header=False,  # a site may say more than we know of
)


class Identity(msgspec.Struct, frozen=True):
    """Who signed in there. The subject alone tells one person from another; the rest is what they call themselves."""

    issuer: str
    subject: str
    name: str
    email: str  # empty unless the site has verified it


def identity_of(issuer: str, client_id: str, token: str, keys: list[dict[str, Any]], nonce: str, now: int) -> Identity:
    """Whom an ID token names, once its signature and all of its claims are right."""
    claims = _signed_claims(token, keys)
    _check_claims(claims, issuer, client_id, nonce, now // 1_000)
    names = (claims.get(claim) for claim in ("preferred_username", "nickname", "name"))
    name = next((clean(name) for name in names if isinstance(name, str) and name.strip()), "")
    email = claims.get("email") if claims.get("email_verified") is True else ""
    return Identity(issuer, claims["sub"], name, clean(email) if isinstance(email, str) else "")


def _signed_claims(token: str, keys: list[dict[str, Any]]) -> dict[str, Any]:
    if len(token) > LONGEST_TOKEN:
        _reject(say("it has {count:,} letters; at most {most:,}", count=len(token), most=LONGEST_TOKEN))
    try:
        header = jws.extract_compact(token.encode(), registry=SIGNATURES).headers()
        return jwt.decode(token, _key_for(header, keys), registry=SIGNATURES).claims
    except BadSignatureError:
        _reject(say("Signature verification failed"))
    except (JoseError, LookupError, TypeError, ValueError, RecursionError) as error:  # of nonsense within
        said = clean(str(error)).removesuffix(".")
        _reject(say("it or its key cannot be read ({why})", why=said))


def _key_for(header: dict[str, Any], keys: list[dict[str, Any]]) -> Key:
    """The key that a token says it is signed with, if that is one of the other site's and of the right sort."""
    algorithm, key_id = header["alg"], header.get("kid")
    if algorithm not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        _reject(say("it is signed with {found}; expected one of {known}", found=clip(algorithm), known=known))
    kind, curve = ALGORITHMS[algorithm]
    fitting = [
        key
        for key in keys
        if key.get("kty") == kind
        and key.get("crv") == curve
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (key_id is None or key.get("kid") == key_id)
    ]
    if len(fitting) != 1:
        _reject(
            say(
                "it is signed with key {key} ({algorithm}), which fits {count} of the site's keys",
                key=clip(key_id),
                algorithm=algorithm,
                count=len(fitting) or say("none"),
            )
        )
    # Only the public numbers: what else a site says of its key is not ours to judge.
    key = import_key({part: fitting[0][part] for part in ("kty", "crv", "n", "e", "x", "y") if part in fitting[0]})
    if isinstance(key, RSAKey) and key.raw_value.key_size < SHORTEST_RSA:
        size = key.raw_value.key_size
        _reject(say("its key has {size} bits; at least {least}", size=size, least=SHORTEST_RSA))
    return key


def _check_claims(claims: dict[str, Any], issuer: str, client_id: str, nonce: str, now_s: int) -> None:
    def is_subject(_: object, subject: str) -> bool:
        return subject.isprintable() and len(issuer) + len(subject) < LONGEST_IDENTITY

    expected: dict[str, dict[str, Any]] = {
        "iss": {"essential": True, "value": issuer},
        "aud": {"essential": True, "value": client_id},
        "azp": {"value": client_id},
        "nonce": {"essential": True, "value": nonce},
        "sub": {"essential": True, "validate": is_subject},
        "exp": {"essential": True, "validate": _is_time},
        "iat": {"essential": True, "validate": _is_time},
        "nbf": {"validate": _is_time},
        "jti": {},
    }
    # No other claims: sites are free in those, and nothing here rests on them.
    checked = {claim: claims[claim] for claim in expected if claim in claims}
    try:
        CodeIDToken(checked, {}, expected, {"client_id": client_id, "nonce": nonce}).validate(now_s, LEEWAY_S)
    except ClaimError as error:
        _reject(_fault(error, claims.get(error.claim), issuer, client_id))


def _is_time(_: object, found: object) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 1e12


def _fault(error: ClaimError, value: object, issuer: str, client_id: str) -> Words:
    """What is wrong with a claim."""
    found = clip(value)
    match error.claim:
        case "nonce":
            return say("it was made for another sign-in (its nonce is not ours)")
        case "azp":
            return say("it was made for {found}; expected {client!r}", found=found, client=client_id)
        case missing if isinstance(error, MissingClaimError):
            return say('it is missing the "{claim}" claim', claim=missing)
        case "iss":
            return say("its issuer is {found}; expected {issuer!r}", found=found, issuer=issuer)
        case "aud":
            return say("Audience is {found}; expected {client!r}", found=found, client=client_id)
        case "sub":
            return say(
                "its subject is {found}. Subject must be a string, printable, that fits in {most} letters",
                found=found,
                most=LONGEST_IDENTITY,
            )
        case "exp" | "iat" | "nbf" as claim if not _is_time(None, value):
            return say("its {claim} is {found}; expected seconds since 1970", claim=claim, found=found)
        case "exp":
            return say("it has expired; please begin again, and check the clocks if that happens again")
        case "iat" | "nbf":
            return say("it is from the future; check the clocks of both machines")
        case other:
            return say("its {claim} is {found}; expected text", claim=other, found=found)


def _reject(why: Words) -> NoReturn:
    raise PalestraError(say("The other site's word on who you are cannot be accepted: {why}.", why=why))
