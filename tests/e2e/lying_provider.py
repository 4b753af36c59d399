"""A provider of OpenID Connect that is right in all until a test makes it lie: http.server in a thread, tokens signed by `cryptography`. No
test itself."""

import base64
import dataclasses
import functools
import hashlib
import hmac
import http.server
import json
import secrets
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

CLIENT = "neurolens"
LIFE = 300
Json = dict[str, Any]


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def json_part(value: Any) -> str:
    return base64url(json.dumps(value).encode())


def number_part(value: int, size: int | None = None) -> str:
    return base64url(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


@dataclasses.dataclass(frozen=True)
class RsaKey:
    kid: str
    private: rsa.RSAPrivateKey
    alg: str = "RS256"

    def public(self) -> Json:
        numbers = self.private.public_key().public_numbers()
        return {"kty": "RSA", "use": "sig", "alg": self.alg, "kid": self.kid, "n": number_part(numbers.n), "e": number_part(numbers.e)}

    def pem(self) -> bytes:
        return self.private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def sign(self, text: bytes) -> bytes:
        return self.private.sign(text, padding.PKCS1v15(), hashes.SHA256())

    def sign_as(self, alg: str, text: bytes) -> bytes:
        """RS384, RS512 or PS256: fine signatures by ways that are not allowed."""
        if alg == "PS256":
            return self.private.sign(text, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())
        return self.private.sign(text, padding.PKCS1v15(), {"RS384": hashes.SHA384(), "RS512": hashes.SHA512()}[alg])


@dataclasses.dataclass(frozen=True)
class EcKey:
    kid: str
    private: ec.EllipticCurvePrivateKey
    alg: str = "ES256"

    @property
    def size(self) -> int:
        return (self.private.curve.key_size + 7) // 8

    def public(self) -> Json:
        numbers = self.private.public_key().public_numbers()
        curve = {"secp256r1": "P-256", "secp384r1": "P-384"}[self.private.curve.name]
        point = {"x": number_part(numbers.x, self.size), "y": number_part(numbers.y, self.size)}
        return {"kty": "EC", "crv": curve, "use": "sig", "alg": self.alg, "kid": self.kid, **point}

    def der(self, text: bytes) -> bytes:
        return self.private.sign(text, ec.ECDSA(hashes.SHA256()))

    def sign(self, text: bytes) -> bytes:
        return b"".join(one.to_bytes(self.size, "big") for one in decode_dss_signature(self.der(text)))


@dataclasses.dataclass(frozen=True)
class WeakKey:
    """RSA with 512 bits, which no library makes any more."""

    kid: str
    alg: str = "RS256"
    p = 0xF0D1C6B7A5948372615F4E3D2C1B0A99887766554433221100FFEEDDCCBBABCF
    q = 0xC0FFEE0123456789ABCDEF0FEDCBA9876543210F1E2D3C4B5A69788796A5B6C5

    def public(self) -> Json:
        return {"kty": "RSA", "use": "sig", "alg": self.alg, "kid": self.kid, "n": number_part(self.p * self.q), "e": number_part(65537)}

    def sign(self, text: bytes) -> bytes:
        """RSASSA-PKCS1-v1_5 with SHA-256."""
        n = self.p * self.q
        digest = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(text).digest()
        padded = b"\0\1" + b"\xff" * (64 - 3 - len(digest)) + b"\0" + digest
        return pow(int.from_bytes(padded, "big"), pow(65537, -1, (self.p - 1) * (self.q - 1)), n).to_bytes(64, "big")


Key = RsaKey | EcKey | WeakKey


@functools.cache
def rsa_key(kid: str, number: int = 0) -> RsaKey:
    """Another number gives another key of the same id."""
    return RsaKey(kid, rsa.generate_private_key(65537, 2048))


@functools.cache
def ec_key(kid: str, curve: type[ec.EllipticCurve] = ec.SECP256R1) -> EcKey:
    return EcKey(kid, ec.generate_private_key(curve()))


def hmac_sha256(key: bytes) -> Callable[[bytes], bytes]:
    return lambda text: hmac.digest(key, text, "sha256")


@dataclasses.dataclass
class Asked:
    """What the token endpoint was asked."""

    form: dict[str, str]
    authorization: str | None


@dataclasses.dataclass
class Code:
    nonce: str
    challenge: str
    redirect_uri: str
    is_used: bool = False


class LyingProvider:
    """The members from `claims` on are what a test lies with. A value None takes a claim or a member away."""

    def __init__(self, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.issuer = f"{'https' if tls else 'http'}://{host}:{self.server.server_port}"
        self.secret = f"secret-{secrets.token_hex(16)}"
        self.codes: dict[str, Code] = {}
        self.asked: list[Asked] = []
        self.paths: list[str] = []  # of all requests
        self.given: list[str] = [self.secret]  # nobody but the server may see these
        self.is_over = threading.Event()

        self.claims: Json = {}
        self.head: Json = {}
        self.key: Key = rsa_key("one")
        self.keys: list[Json] = [self.key.public()]
        self.sign: Callable[[bytes], bytes] | None = None  # instead of the key
        self.raw_head: bytes | None = None  # instead of the head
        self.payload: bytes | None = None  # instead of the claims; NONCE is replaced
        self.change_token: Callable[[str], Any] = lambda token: token
        self.discovery: Json = {}
        self.answers: dict[str, tuple[int, str, bytes]] = {}  # status, type and body instead, by path
        self.places: dict[str, str] = {}  # where a path sends on to
        self.delays: dict[str, float] = {}  # seconds, by path
        self.trickles: set[str] = set()  # paths that are answered a byte at a time, without an end
        self.closes: set[str] = set()  # paths that are not answered
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def use(self, key: Key) -> None:
        """Signs with this key, and publishes it alone."""
        self.key, self.keys = key, [key.public()]

    def stop(self) -> None:
        self.is_over.set()
        self.server.shutdown()
        self.server.server_close()

    # ---- What it says

    def configuration(self) -> Json:
        said = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
            **self.discovery,
        }
        return {name: value for name, value in said.items() if value is not None}

    def id_token(self, nonce: str) -> Any:
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": CLIENT, "sub": "alice", "iat": now, "exp": now + LIFE, "nonce": nonce,
            "email": "alice@example.com", "email_verified": True, "groups": ["perf"], **self.claims,
        }  # fmt: skip
        head = {"alg": self.key.alg, "kid": self.key.kid, "typ": "JWT", **self.head}
        head, claims = ({name: value for name, value in one.items() if value is not None} for one in (head, claims))
        payload = json_part(claims) if self.payload is None else base64url(self.payload.replace(b"NONCE", nonce.encode()))
        text = f"{json_part(head) if self.raw_head is None else base64url(self.raw_head)}.{payload}"
        return self.change_token(f"{text}.{base64url((self.sign or self.key.sign)(text.encode()))}")

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser goes."""
        code = f"code-{secrets.token_hex(16)}"
        self.codes[code] = Code(query["nonce"], query["code_challenge"], query["redirect_uri"])
        self.given.append(code)
        return f"{query['redirect_uri']}?{urllib.parse.urlencode({'code': code, 'state': query['state']})}"

    def client_fault(self, asked: Asked) -> str:
        """Who does not name the secret is no client; empty if all is well."""
        if asked.authorization:
            kind, _, text = asked.authorization.partition(" ")
            name, _, secret = base64.b64decode(text).decode().partition(":")
            given = {"kind": kind, "name": urllib.parse.unquote_plus(name), "secret": urllib.parse.unquote_plus(secret)}
            return "" if given == {"kind": "Basic", "name": CLIENT, "secret": self.secret} else "the client is wrong"
        given = {"name": asked.form.get("client_id", ""), "secret": asked.form.get("client_secret", "")}
        return "" if given == {"name": CLIENT, "secret": self.secret} else "the client is wrong"

    def code_fault(self, form: dict[str, str]) -> str:
        code = self.codes.get(form.get("code", ""))
        if code is None or code.is_used:
            return "the code is not known"
        code.is_used = True
        challenge = base64url(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if form.get("grant_type") != "authorization_code" or form.get("redirect_uri") != code.redirect_uri or challenge != code.challenge:
            return "the code is not for this"
        return ""

    def tokens(self, asked: Asked) -> tuple[int, Json]:
        self.asked.append(asked)
        self.given += [asked.form[name] for name in ("code_verifier",) if name in asked.form]
        if self.client_fault(asked):
            return 401, {"error": "invalid_client", "error_description": self.client_fault(asked)}
        if fault := self.code_fault(asked.form):
            return 400, {"error": "invalid_grant", "error_description": fault}
        access = f"access-{secrets.token_hex(16)}"
        refresh = f"refresh-{secrets.token_hex(16)}"
        token = self.id_token(self.codes[asked.form["code"]].nonce)
        self.given += [access, refresh, *([one for one in token.split(".")[1:] if len(one) > 16] if isinstance(token, str) else [])]
        answer = {"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": LIFE, "id_token": token}
        return 200, {name: value for name, value in answer.items() if value is not None}

    # ---- How it says it

    def handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 30

            def log_message(self, *words: Any) -> None:
                pass

            def say(self, status: int, kind: str, body: bytes, **headers: str) -> None:
                self.send_response(status)
                for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def say_json(self, status: int, value: Any) -> None:
                self.say(status, "application/json", json.dumps(value).encode())

            def trickle(self) -> None:
                self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{")
                while not provider.is_over.wait(0.2):
                    self.wfile.write(b" ")

            def is_a_lie(self, path: str) -> bool:
                provider.paths.append(path)
                provider.is_over.wait(provider.delays.get(path, 0))
                if path in provider.trickles:
                    self.trickle()
                elif path in provider.closes:
                    self.close_connection = True
                elif path in provider.places:
                    self.say(307, "text/plain", b"", Location=provider.places[path])
                elif path in provider.answers:
                    self.say(*provider.answers[path])
                else:
                    return False
                return True

            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                if self.is_a_lie(path):
                    return
                if path == "/.well-known/openid-configuration":
                    self.say_json(200, provider.configuration())
                elif path == "/keys":
                    self.say_json(200, {"keys": provider.keys})
                elif path == "/authorize":
                    self.say(302, "text/plain", b"", Location=provider.authorize(dict(urllib.parse.parse_qsl(query))))
                else:
                    self.say_json(404, {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                if self.is_a_lie(self.path):
                    return
                if self.path == "/token" and self.headers.get_content_type() == "application/x-www-form-urlencoded":
                    form = dict(urllib.parse.parse_qsl(body, keep_blank_values=True, strict_parsing=True))
                    self.say_json(*provider.tokens(Asked(form, self.headers["Authorization"])))
                else:
                    self.say_json(404, {})

        return Handler
