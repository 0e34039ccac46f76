"""The ID token of another site: whom it names, once everything about it has been checked. Pure functions."""

import warnings
from typing import Any, NoReturn

import msgspec
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc import jws, jwt
from joserfc.errors import BadSignatureError, ClaimError, JoseError, MissingClaimError, SecurityWarning
from joserfc.jwk import Key, RSAKey, import_key
from joserfc.registry import HeaderParameter

from palestra.errors import Told, clean, clip

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
        _reject(
            f"it has {len(token):,} letters; at most {LONGEST_TOKEN:,}",
            f"它有 {len(token):,} 个字符；最多 {LONGEST_TOKEN:,} 个",
        )
    try:
        header = jws.extract_compact(token.encode(), registry=SIGNATURES).headers()
        return jwt.decode(token, _key_for(header, keys), registry=SIGNATURES).claims
    except BadSignatureError:
        _reject("Signature verification failed", "签名验证失败")
    except (JoseError, LookupError, TypeError, ValueError, RecursionError) as error:  # of nonsense within
        said = clean(str(error)).removesuffix(".")
        _reject(f"it or its key cannot be read ({said})", f"无法读取它或其密钥（{said}）")


def _key_for(header: dict[str, Any], keys: list[dict[str, Any]]) -> Key:
    """The key that a token says it is signed with, if that is one of the other site's and of the right sort."""
    algorithm, key_id = header["alg"], header.get("kid")
    if algorithm not in ALGORITHMS:
        _reject(
            f"it is signed with {clip(algorithm)}; expected one of {', '.join(ALGORITHMS)}",
            f"其签名算法为 {clip(algorithm)}；应为 {', '.join(ALGORITHMS)} 之一",
        )
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
        found = f"{len(fitting)} of the site's keys" if fitting else "none of the site's keys"
        _reject(
            f"it is signed with key {clip(key_id)} ({algorithm}), which fits {found}",
            f"其签名密钥为 {clip(key_id)}（{algorithm}），该网站有 {len(fitting)} 个密钥与之相符，应恰有一个",
        )
    # Only the public numbers: what else a site says of its key is not ours to judge.
    key = import_key({part: fitting[0][part] for part in ("kty", "crv", "n", "e", "x", "y") if part in fitting[0]})
    if isinstance(key, RSAKey) and key.raw_value.key_size < SHORTEST_RSA:
        size = key.raw_value.key_size
        _reject(f"its key has {size} bits; at least {SHORTEST_RSA}", f"其密钥为 {size} 位；至少 {SHORTEST_RSA} 位")
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
        _reject(*_fault(error, claims.get(error.claim), issuer, client_id))


def _is_time(_: object, found: object) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 1e12


def _fault(error: ClaimError, value: object, issuer: str, client_id: str) -> tuple[str, str]:
    """What is wrong with a claim, in both languages."""
    found = clip(value)
    match error.claim:
        case "nonce":
            return "it was made for another sign-in (its nonce is not ours)", "它是为另一次登录签发的（nonce 不符）"
        case "azp":
            return f"it was made for {found}; expected {client_id!r}", f"它是为 {found} 签发的；应为 {client_id!r}"
        case missing if isinstance(error, MissingClaimError):
            return f'it is missing the "{missing}" claim', f"它缺少 {missing}"
        case "iss":
            return f"its issuer is {found}; expected {issuer!r}", f"其签发方为 {found}；应为 {issuer!r}"
        case "aud":
            return f"Audience is {found}; expected {client_id!r}", f"其受众为 {found}；应为 {client_id!r}"
        case "sub":
            return (
                f"its subject is {found}. Subject must be a string, printable, that fits in {LONGEST_IDENTITY} letters",
                f"其 subject 为 {found}；应为可打印的文本，连同签发方不超过 {LONGEST_IDENTITY} 个字符",
            )
        case "exp" | "iat" | "nbf" as claim if not _is_time(None, value):
            return (
                f"its {claim} is {found}; expected seconds since 1970",
                f"其 {claim} 为 {found}；应为自 1970 年起的秒数",
            )
        case "exp":
            return (
                "it has expired; please begin again, and check the clocks if that happens again",
                "它已过期；请重新开始，若再次出现，请检查时钟",
            )
        case "iat" | "nbf":
            return "it is from the future; check the clocks of both machines", "签发时间在未来；请检查双方机器的时钟"
        case other:
            return f"its {other} is {found}; expected text", f"其 {other} 为 {found}；应为文本"


def _reject(en: str, zh: str) -> NoReturn:
    raise Told(
        f"The other site's word on who you are cannot be accepted: {en}.", f"对方网站对您身份的说明不能接受：{zh}。"
    )
