"""The ID token of another site: whom it names, once everything about it has been checked. Pure functions."""

import hmac
from typing import Any, NoReturn

import jwt
import msgspec

from palestra.errors import Told, clean, clip

# Signatures that need the other site's private key. With any that does not, its public key could be used to forge.
ALGORITHMS = {"RS256": ("RSA", None), "ES256": ("EC", "P-256"), "EdDSA": ("OKP", "Ed25519")}
LEEWAY_S = 60  # that two clocks may differ
LONGEST_TOKEN = 16 * 1024
LONGEST_IDENTITY = 300  # letters of issuer and subject together


class Identity(msgspec.Struct, frozen=True):
    """Who signed in there. The subject alone tells one person from another; the rest is what they call themselves."""

    issuer: str
    subject: str
    name: str
    email: str  # empty unless the site has verified it


def identity_of(issuer: str, client_id: str, token: str, keys: list[dict[str, Any]], nonce: str, now: int) -> Identity:
    """Whom an ID token names, once its signature and all of its claims are right."""
    claims = _signed_claims(issuer, client_id, token, keys)
    _check_times(claims, now // 1_000)
    _check_party(claims, client_id)
    if not same(str(claims.get("nonce", "")), nonce):
        _reject("it was made for another sign-in (its nonce is not ours)", "它是为另一次登录签发的（nonce 不符）")
    subject = claims["sub"]
    if not (subject and subject.isprintable() and len(issuer) + len(subject) < LONGEST_IDENTITY):
        _reject(
            f"its subject is {clip(subject)}; expected printable text that fits in {LONGEST_IDENTITY} letters",
            f"其 subject 为 {clip(subject)}；应为可打印的文本，连同签发方不超过 {LONGEST_IDENTITY} 个字符",
        )
    names = (claims.get(claim) for claim in ("preferred_username", "nickname", "name"))
    name = next((clean(name) for name in names if isinstance(name, str) and name.strip()), "")
    email = claims.get("email") if claims.get("email_verified") is True else ""
    return Identity(issuer, subject, name, clean(email) if isinstance(email, str) else "")


def same(one: str, other: str) -> bool:
    """Compared in a time that does not tell where they differ; an empty text is like nothing."""
    return bool(one) and hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _signed_claims(issuer: str, client_id: str, token: str, keys: list[dict[str, Any]]) -> dict[str, Any]:
    if len(token) > LONGEST_TOKEN:
        _reject(
            f"it has {len(token):,} letters; at most {LONGEST_TOKEN:,}",
            f"它有 {len(token):,} 个字符；最多 {LONGEST_TOKEN:,} 个",
        )
    try:
        header = jwt.get_unverified_header(token)
        key = jwt.PyJWK(_key_for(header, keys), header["alg"])
        return jwt.decode(
            token,
            key,
            algorithms=list(ALGORITHMS),
            issuer=issuer,
            audience=client_id,
            options={
                "require": ["iss", "sub", "aud", "exp", "iat"],
                "enforce_minimum_key_length": True,
                # Times are checked by `_check_times`, with the clock that everything else here goes by.
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
    except jwt.PyJWTError as error:
        said = clean(str(error)).removesuffix(".")
        _reject(said, said)


def _key_for(header: dict[str, Any], keys: list[dict[str, Any]]) -> dict[str, Any]:
    """The key that a token says it is signed with, if that is one of the other site's and of the right sort."""
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
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
    return fitting[0]


def _check_times(claims: dict[str, Any], now_s: int) -> None:
    for claim in ("exp", "iat", "nbf"):
        if claim in claims and (type(claims[claim]) not in (int, float) or not abs(claims[claim]) < 1e12):
            _reject(
                f"its {claim} is {clip(claims[claim])}; expected seconds since 1970",
                f"其 {claim} 为 {clip(claims[claim])}；应为自 1970 年起的秒数",
            )
    if claims["exp"] <= now_s - LEEWAY_S:
        _reject(
            "it has expired; please begin again, and check the clocks if that happens again",
            "它已过期；请重新开始，若再次出现，请检查时钟",
        )
    if max(claims["iat"], claims.get("nbf", 0)) > now_s + LEEWAY_S:
        _reject("it is from the future; check the clocks of both machines", "签发时间在未来；请检查双方机器的时钟")


def _check_party(claims: dict[str, Any], client_id: str) -> None:
    """That the token was made for us, and not for another site that several share."""
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else client_id) != client_id:
        _reject(
            f"it was made for {clip(claims.get('azp'))}; expected {client_id!r}",
            f"它是为 {clip(claims.get('azp'))} 签发的；应为 {client_id!r}",
        )


def _reject(en: str, zh: str) -> NoReturn:
    raise Told(
        f"The other site's word on who you are cannot be accepted: {en}.", f"对方网站对您身份的说明不能接受：{zh}。"
    )
