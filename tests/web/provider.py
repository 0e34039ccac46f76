"""A small OpenID Connect provider on a loopback port: it keeps the protocol, unless a test tells it to break it."""

import base64
import hashlib
import json
import secrets
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

CLIENT, SECRET = "palestra hall", "s3cret:with/odd&signs"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)  # slow to make, so once
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_jwk(key: rsa.RSAPrivateKey, kid: str) -> dict[str, Any]:
    return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig", "alg": "RS256"}


class Provider:
    """What the provider knows, and how it answers. Tests change its attributes."""

    def __init__(self, url: str, now_s: int) -> None:
        self.url, self.now_s = url, now_s
        self.person = {
            "sub": "person-1",
            "preferred_username": "lin",
            "email": "lin@example.org",
            "email_verified": True,
        }
        self.claims: dict[str, Any] = {}  # on top of the right ones
        self.sign: Callable[[dict[str, Any]], str] = self.sign_rs256
        self.jwks: dict[str, Any] = {"keys": [public_jwk(RSA_KEY, "first")]}
        self.about: dict[str, Any] = {
            "issuer": url,
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "jwks_uri": f"{url}/jwks",
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }
        self.raw: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}  # path → what answers in place of it
        self.codes: dict[str, dict[str, str]] = {}
        self.hosts: list[str] = []  # as which it was asked
        self.asked: list[str] = []  # paths, in the order they were asked for

    def sign_rs256(self, claims: dict[str, Any]) -> str:
        return jwt.encode(claims, RSA_KEY, "RS256", {"kid": "first"})

    def authorize(self, url: str) -> dict[str, str]:
        """What the browser of somebody who agrees is sent back with."""
        assert url.startswith(self.about["authorization_endpoint"])
        asked = dict(parse_qsl(urlsplit(url).query))
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """The answer to a code, which is good once."""
        asked = self.codes.pop(form.get("code", ""), None)
        if not self.is_client(form, authorization):
            return 401, {"error": "invalid_client"}
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if (
            asked is None
            or form.get("grant_type") != "authorization_code"
            or form.get("redirect_uri") != asked["redirect_uri"]
            or base64.urlsafe_b64encode(challenge).decode().rstrip("=") != asked["code_challenge"]
        ):
            return 400, {"error": "invalid_grant", "error_description": "unknown or used code"}
        right = {"iss": self.url, "aud": CLIENT, "iat": self.now_s, "exp": self.now_s + 300, "nonce": asked["nonce"]}
        return 200, {"id_token": self.sign(self.person | right | self.claims), "token_type": "Bearer"}

    def is_client(self, form: dict[str, str], authorization: str) -> bool:
        if "client_secret_post" in self.about["token_endpoint_auth_methods_supported"]:
            return form.get("client_id") == CLIENT and form.get("client_secret") == SECRET and not authorization
        name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        return unquote(name) == CLIENT and unquote(secret) == SECRET

    def answer(self, path: str, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        if path == "/.well-known/openid-configuration":
            return 200, self.about
        if path == "/jwks":
            return 200, self.jwks
        if path == "/token":
            return self.exchange(form, authorization)
        return 404, {"error": "not found"}


@contextmanager
def running(now_s: int, tls: ssl.SSLContext | None = None) -> Iterator[Provider]:
    """A provider that answers on a free port until the test is over."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.reply({name: values[0] for name, values in parse_qs(body).items()})

        def reply(self, form: dict[str, str]) -> None:
            provider.asked.append(self.path)
            provider.hosts.append(self.headers["Host"])
            if self.path in provider.raw:
                provider.raw[self.path](self)
                return
            status, answer = provider.answer(self.path, form, self.headers.get("Authorization", ""))
            send(self, status, json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            """Tests need no log of requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    provider = Provider(f"http://127.0.0.1:{server.server_address[1]}", now_s)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
