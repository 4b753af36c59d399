"""What goes wrong with a sign-in: a provider that lies, is slow or gone, and strangers who make up codes and cookies. Nobody gets in, the
audit log has a line, and no secret is in any output."""

import concurrent.futures
import dataclasses
import datetime
import functools
import json
import pathlib
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from conftest import Neurolens
from lying_provider import CLIENT, LyingProvider, WeakKey, base64url, ec_key, hmac_sha256, json_part, rsa_key
from server import Answer, Server, until
from sign_in import (
    SIGN_IN_COOKIE,
    Attempt,
    audited,
    authorize,
    begin,
    by_cookie,
    cookies_of,
    grants_of,
    options,
    outputs,
    query_of,
    refusals,
    return_with,
    session_of,
    sign_in,
    token_of,
    tokens,
)

HTML = {"Accept": "text/html"}
DISCOVERY = "/.well-known/openid-configuration"
HOUR = 3600
MOST_SECONDS = 15  # for an answer, whatever the provider does
Lie = Callable[[LyingProvider], None]


@pytest.fixture
def provider() -> Iterator[LyingProvider]:
    one = LyingProvider()
    yield one
    one.stop()


@pytest.fixture
def start(provider: LyingProvider, serve, tmp_path) -> Callable[..., Server]:
    """Starts a server that signs in with the provider."""

    def start(*more: Any, groups: tuple[str, ...] = ("perf=write:main",)) -> Server:
        secret = tmp_path / "secret"
        secret.write_text(provider.secret + "\n")
        return serve("--access-log", tmp_path / "access.log", *options(provider.issuer, CLIENT, secret, *groups), *more)

    return start


@pytest.fixture
def server(start: Callable[..., Server]) -> Server:
    return start()


def check_refused(server: Server, provider: LyingProvider, answer: Answer, *statuses: int) -> None:
    assert answer.status in statuses, answer
    assert token_of(answer) == "" and "Location" not in answer.headers, answer
    assert answer.text.strip(), "it says why"
    assert [one["status"] for one in refusals(server)] == [answer.status]
    assert tokens(server) == []
    seen = outputs(server, answer)
    assert [one for one in provider.given if one in seen] == []
    assert "a bug" not in answer.text + server.said and server.get("/healthz").status == 200


# ---- Lies


def claims(**changed: Any) -> Lie:
    return lambda provider: provider.claims.update(changed)


def times(**seconds: float) -> Lie:
    """Claims that are so many seconds from now."""
    return lambda provider: provider.claims.update({name: int(time.time() + value) for name, value in seconds.items()})


def head(**changed: Any) -> Lie:
    return lambda provider: provider.head.update(changed)


def token(change: Callable[[str], Any]) -> Lie:
    return lambda provider: setattr(provider, "change_token", change)


def signed(alg: str, sign: Callable[[bytes], bytes]) -> Lie:
    def lie(provider: LyingProvider) -> None:
        provider.head["alg"], provider.sign = alg, sign

    return lie


def signed_by(key: Any, **changed: Any) -> Lie:
    """The head still names the key that is published, but for what is changed."""

    def lie(provider: LyingProvider) -> None:
        provider.sign = key.sign
        provider.head.update(alg=key.alg, **changed)

    return lie


def published(key: Any, **changed: Any) -> Lie:
    """Signs with this key, which is published with these changes. None takes a member away."""

    def lie(provider: LyingProvider) -> None:
        provider.use(key)
        provider.keys = [{name: value for name, value in {**key.public(), **changed}.items() if value is not None}]

    return lie


def answered(path: str, status: int, body: str | bytes, kind: str = "application/json") -> Lie:
    return lambda provider: provider.answers.update({path: (status, kind, body.encode() if isinstance(body, str) else body)})


def payload(more: str) -> Lie:
    """A text of JSON that json.dumps does not make; all is well up to `more`."""

    def lie(provider: LyingProvider) -> None:
        now = int(time.time())
        text = f'"iss": "{provider.issuer}", "aud": "{CLIENT}", "sub": "alice", "groups": ["perf"], "iat": {now}, "exp": {now + HOUR}'
        provider.payload = f'{{{text}, "nonce": "NONCE"{more}'.encode()

    return lie


def raw_payload(text: bytes) -> Lie:
    return lambda provider: setattr(provider, "payload", text)


def with_parts(change: Callable[[list[str]], list[str]]) -> Lie:
    return token(lambda text: ".".join(change(text.split("."))))


without_signature = with_parts(lambda parts: [*parts[:2], ""])


def both(first: Lie, second: Lie) -> Lie:
    def lie(provider: LyingProvider) -> None:
        first(provider)
        second(provider)

    return lie


def confused(provider: LyingProvider) -> None:
    """The public key, which everybody knows, as the secret of HS256."""
    signed("HS256", hmac_sha256(rsa_key("one").pem()))(provider)


def shared(provider: LyingProvider) -> None:
    signed("HS256", hmac_sha256(provider.secret.encode()))(provider)


def shared_key_is_published(provider: LyingProvider) -> None:
    signed("HS256", hmac_sha256(b"k" * 32))(provider)
    provider.keys = [{"kty": "oct", "kid": "one", "alg": "HS256", "k": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s"}]


def brings_its_key(provider: LyingProvider) -> None:
    signed_by(rsa_key("one", 2), jwk=rsa_key("one", 2).public())(provider)


def names_its_keys(provider: LyingProvider) -> None:
    """Also under an address that would answer."""
    signed_by(rsa_key("two"), kid="two", jku=f"{provider.issuer}/their_keys")(provider)
    provider.answers["/their_keys"] = (200, "application/json", json.dumps({"keys": [rsa_key("two").public()]}).encode())


TOKENS: dict[str, Lie] = {
    "another issuer": claims(iss="https://evil.example"),
    "the issuer with a slash": lambda provider: provider.claims.update(iss=provider.issuer + "/"),
    "no issuer": claims(iss=None),
    "for another client": claims(aud="other"),
    "for nobody": claims(aud=None),
    "for an empty list": claims(aud=[]),
    "for a client with a longer name": claims(aud=CLIENT + "_test"),
    "for a number": claims(aud=7),
    "for several without azp": claims(aud=[CLIENT, "other"]),
    "for several with another azp": claims(aud=[CLIENT, "other"], azp="other"),
    "for several others": claims(aud=["some", "other"], azp=CLIENT),
    "another nonce": claims(nonce="x" * 43),
    "no nonce": claims(nonce=None),
    "an empty nonce": claims(nonce=""),
    "expired": times(iat=-2 * HOUR, exp=-HOUR),
    "never expires": claims(exp=None),
    "expires as a text": claims(exp="9999999999"),
    "expires at a negative time": claims(exp=-1),
    "issued in the future": times(iat=HOUR, exp=2 * HOUR),
    "never issued": claims(iat=None),
    "issued as a text": claims(iat="now"),
    "no sub": claims(sub=None),
    "an empty sub": claims(sub=""),
    "a number as sub": claims(sub=7),
    "alg none with a signature": head(alg="none"),
    "alg none without a signature": both(head(alg="none"), without_signature),
    "alg nOnE without a signature": both(head(alg="nOnE"), without_signature),
    "no alg": head(alg=None),
    "a number as alg": head(alg=256),
    "an empty signature": without_signature,
    "half a signature": with_parts(lambda parts: [*parts[:2], parts[2][:-4]]),
    "a signature of zeros": signed("RS256", lambda text: bytes(256)),
    "other claims than signed": with_parts(lambda parts: [parts[0], json_part({"sub": "bob"}), parts[2]]),
    "HS256 with the public key": confused,
    "HS256 with the secret of the client": shared,
    "HS256 with a key that is published": shared_key_is_published,
    "RS384": signed("RS384", functools.partial(rsa_key("one").sign_as, "RS384")),
    "RS512": signed("RS512", functools.partial(rsa_key("one").sign_as, "RS512")),
    "PS256": signed("PS256", functools.partial(rsa_key("one").sign_as, "PS256")),
    "another key of the same id": signed_by(rsa_key("one", 2)),
    "an EC key of the same id": signed_by(ec_key("one")),
    "a key that nobody published": signed_by(rsa_key("two"), kid="two"),
    "a known key by an unknown id": head(kid="two"),
    "brings its own key": brings_its_key,
    "names its own keys": names_its_keys,
    "crit": head(crit=["exp"]),
    "crit of an unknown extension": head(crit=["x"], x=1),
    "an empty crit": head(crit=[]),
    "b64 false": head(crit=["b64"], b64=False),
    "ES256 with a signature of zeros": both(published(ec_key("one")), signed("ES256", lambda text: bytes(64))),
    "ES256 with a DER signature": both(published(ec_key("one")), signed("ES256", ec_key("one").der)),
    "ES256 with P-384": published(ec_key("one", ec.SECP384R1)),
    "ES256 with a point off the curve": published(ec_key("one"), y=base64url(b"y" * 32)),
    "RSA with 512 bits": published(WeakKey("one")),
    "a key for encryption": published(rsa_key("one"), use="enc"),
    "a key for another alg": published(rsa_key("one"), alg="RS512"),
    "a key without a modulus": published(rsa_key("one"), n=None),
    "a key with an empty modulus": published(rsa_key("one"), n=""),
    "a key with a modulus that is no base64": published(rsa_key("one"), n="!!!"),
    "a key with an even exponent": published(rsa_key("one"), e="Ag"),
    "a payload that is no JSON": raw_payload(b"sub=alice"),
    "an empty payload": raw_payload(b""),
    "a payload that is a list": raw_payload(b'["alice"]'),
    "a payload that is not UTF-8": raw_payload(b'{"sub": "\xff"}'),
    "a payload that is deep": raw_payload(b'{"a":' * 50_000),
    "something behind the payload": payload('} {"sub": "bob"}'),
    "two subs": payload(', "sub": "bob"}'),
    "two nonces": payload(', "nonce": "NONCE"}'),
    "two lists of groups": payload(', "groups": ["perf"]}'),
    "two algs": lambda provider: setattr(provider, "raw_head", b'{"alg": "none", "alg": "RS256", "kid": "one"}'),
    "a head that is no JSON": lambda provider: setattr(provider, "raw_head", b"RS256"),
    "a head that is a text": lambda provider: setattr(provider, "raw_head", b'"RS256"'),
    "no parts": token(lambda text: "token"),
    "one part": with_parts(lambda parts: parts[:1]),
    "two parts": with_parts(lambda parts: parts[:2]),
    "four parts": with_parts(lambda parts: [*parts, parts[2]]),
    "five parts": with_parts(lambda parts: [*parts, *parts[1:]]),
    "dots": token(lambda text: ".."),
    "parts that are no base64": token(lambda text: "?.*.ä"),
    "an empty token": token(lambda text: ""),
    "no token": token(lambda text: None),
    "a number as token": token(lambda text: 7),
    "a token in a list": token(lambda text: [text]),
}


@pytest.mark.parametrize("name", TOKENS)
def test_a_wrong_token_lets_nobody_in(start: Callable[..., Server], provider: LyingProvider, name: str) -> None:
    TOKENS[name](provider)
    server = start()
    answer = sign_in(server)
    assert len(provider.asked) == 1, "the code was exchanged"
    check_refused(server, provider, answer, 401)


def test_keys_that_a_token_names_are_not_fetched(server: Server, provider: LyingProvider) -> None:
    names_its_keys(provider)
    sign_in(server)
    assert "/their_keys" not in provider.paths


WORDS = '{"error": "invalid_grant", "error_description": "<script>alert(1)</script>\\u001b[31m"}'
# Faults of the provider rather than of the token: either status says so.
ENDPOINTS: dict[str, Lie] = {
    "no keys": lambda provider: provider.keys.clear(),
    "keys that are no list": answered("/keys", 200, '{"keys": "none"}'),
    "keys without a list": answered("/keys", 200, "{}"),
    "keys that are numbers": answered("/keys", 200, '{"keys": [1, null, "x", []]}'),
    "keys that are no JSON": answered("/keys", 200, "<html>", "text/html"),
    "keys that fail": answered("/keys", 500, "{}"),
    "keys that are deep": answered("/keys", 200, "[" * 100_000),
    "keys that are huge": answered("/keys", 200, '{"keys": [' + '"x",' * 3_000_000 + "1]}"),
    "tokens that fail": answered("/token", 500, "{}"),
    "tokens that fail with words": answered("/token", 400, WORDS),
    "tokens that are no JSON": answered("/token", 200, "<html>", "text/html"),
    "tokens that are a list": answered("/token", 200, "[]"),
    "tokens that are empty": answered("/token", 200, ""),
    "tokens that are not UTF-8": answered("/token", 200, b'{"id_token": "\xff"}'),
    "tokens that are deep": answered("/token", 200, "[" * 100_000),
    "tokens that are huge": answered("/token", 200, '{"id_token": "' + "x" * 20_000_000 + '"}'),
    "a huge token": claims(more="x" * 2_000_000),
    "nobody answers": lambda provider: provider.closes.add("/token"),
    "nobody tells the keys": lambda provider: provider.closes.add("/keys"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDPOINTS)
def test_a_broken_provider_lets_nobody_in(start: Callable[..., Server], provider: LyingProvider, name: str) -> None:
    ENDPOINTS[name](provider)
    server = start()
    answer = sign_in(server)
    check_refused(server, provider, answer, 401, 503)
    assert "<script" not in answer.text and "\x1b" not in answer.text + server.said


def test_the_secret_follows_no_redirect(server: Server, provider: LyingProvider) -> None:
    provider.places["/token"] = f"{provider.issuer}/elsewhere"
    check_refused(server, provider, sign_in(server), 401, 503)
    assert "/elsewhere" not in provider.paths


def test_a_provider_that_is_gone_is_said(server: Server, provider: LyingProvider) -> None:
    attempt = begin(server)
    query = query_of(authorize(attempt.location))
    provider.stop()
    check_refused(server, provider, return_with(server, query, attempt.cookie), 503)


def make_slow(provider: LyingProvider) -> None:
    provider.delays["/token"] = 60


def make_trickle(provider: LyingProvider) -> None:
    provider.trickles.add("/token")


def trickle_keys(provider: LyingProvider) -> None:
    provider.trickles.add("/keys")


@pytest.mark.slow
@pytest.mark.parametrize("lie", [make_slow, make_trickle, trickle_keys])
def test_a_slow_provider_is_not_waited_for(start: Callable[..., Server], provider: LyingProvider, lie: Lie) -> None:
    lie(provider)
    server = start()
    begun = time.monotonic()
    answer = sign_in(server)
    assert time.monotonic() - begun < MOST_SECONDS + 3
    check_refused(server, provider, answer, 401, 503)


@pytest.mark.slow
def test_a_slow_provider_keeps_nobody_out(start: Callable[..., Server], provider: LyingProvider) -> None:
    server = start("--workers", "2")
    make_slow(provider)
    with concurrent.futures.ThreadPoolExecutor(8) as people:
        waiting = [people.submit(sign_in, server) for _ in range(8)]
        while provider.paths.count("/token") == 0:
            time.sleep(0.05)
        begun = time.monotonic()
        assert [server.get("/api/v1/runs").status for _ in range(5)] == [200] * 5
        assert time.monotonic() - begun < 5
        provider.is_over.set()
        assert {one.result().status for one in waiting} <= {200, 401, 503}


# ---- What the provider says of itself


def names(**changed: Any) -> Lie:
    return lambda provider: provider.discovery.update(changed)


DISCOVERIES: dict[str, Lie] = {
    "of another issuer": names(issuer="https://evil.example"),
    "of the issuer with a slash": lambda provider: provider.discovery.update(issuer=provider.issuer + "/"),
    "of no issuer": names(issuer=None),
    "without an authorization endpoint": names(authorization_endpoint=None),
    "without a token endpoint": names(token_endpoint=None),
    "without keys": names(jwks_uri=None),
    "a token endpoint without TLS": names(token_endpoint="http://192.0.2.1/token"),
    "an authorization endpoint without TLS": names(authorization_endpoint="http://192.0.2.1/authorize"),
    "keys without TLS": names(jwks_uri="http://192.0.2.1/keys"),
    "keys in a file": names(jwks_uri="file:///etc/passwd"),
    "an authorization endpoint that is a program": names(authorization_endpoint="javascript:alert(1)"),
    "an authorization endpoint with a line break": names(authorization_endpoint="https://a.example/\r\nSet-Cookie: a=b"),
    "a number as token endpoint": names(token_endpoint=7),
    "that is no JSON": answered(DISCOVERY, 200, "<html>", "text/html"),
    "that is a list": answered(DISCOVERY, 200, "[]"),
    "that fails": answered(DISCOVERY, 500, "{}"),
    "that is not there": answered(DISCOVERY, 404, "{}"),
    "that is deep": answered(DISCOVERY, 200, "[" * 100_000),
    "that is elsewhere": lambda provider: provider.places.update({DISCOVERY: "http://192.0.2.1/"}),
}


@pytest.mark.parametrize("name", DISCOVERIES)
def test_a_wrong_discovery_sends_nobody_on(start: Callable[..., Server], provider: LyingProvider, name: str) -> None:
    """Whether the server refuses to start or to sign in."""
    DISCOVERIES[name](provider)
    try:
        server = start()
    except AssertionError as refusal:
        assert "sign" in str(refusal) or "issuer" in str(refusal), refusal
        return
    answer = server.get("/sign-in", token="")
    assert answer.status in (401, 503) and "Location" not in answer.headers, answer
    assert "a=b" not in str(answer.headers) and SIGN_IN_COOKIE not in cookies_of(answer)
    assert server.get("/api/v1/runs").status == 200, "tokens are as good as ever"


@pytest.mark.parametrize("name", DISCOVERIES)
def test_a_wrong_discovery_fails_the_check(neurolens, small_run: str, provider: LyingProvider, name: str) -> None:
    DISCOVERIES[name](provider)
    result = neurolens("serve", "--check", *options(provider.issuer, CLIENT, None, "perf=read:main"), code=None, timeout=40)
    assert result.code != 0 and result.err and "a bug" not in result.err, result


# ---- TLS


@dataclasses.dataclass
class Certificate:
    """Signed by itself."""

    path: pathlib.Path
    context: ssl.SSLContext


@pytest.fixture
def make_certificate(tmp_path) -> Callable[..., Certificate]:
    def make(name: str = "localhost", days: int = 2) -> Certificate:
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
        called = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        builder = x509.CertificateBuilder(called, called, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(30)).not_valid_after(now + datetime.timedelta(days))
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        made = builder.add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256())
        path, both_path = tmp_path / "certificate.pem", tmp_path / "both.pem"
        path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        plain = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        both_path.write_bytes(path.read_bytes() + plain)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(both_path)
        return Certificate(path, context)

    return make


@pytest.fixture
def check_with(neurolens, small_run: str) -> Iterator[Callable[..., Any]]:
    """serve --check with a provider that shows this certificate, which the machine trusts or not."""
    started: list[LyingProvider] = []

    def check(certificate: Certificate, is_trusted: bool) -> Any:
        started.append(LyingProvider(certificate.context, "localhost"))
        trusted = {"SSL_CERT_FILE": str(certificate.path)} if is_trusted else {}
        words = options(started[-1].issuer, CLIENT, None, "perf=read:main")
        return neurolens("serve", "--check", *words, code=None, timeout=40, env={**neurolens.environment, **trusted})

    yield check
    for one in started:
        one.stop()


def test_a_provider_with_a_trusted_certificate_is_asked(check_with, make_certificate) -> None:
    result = check_with(make_certificate(), is_trusted=True)
    assert result.code == 0, result


def test_a_provider_with_an_unknown_certificate_is_not_believed(check_with, make_certificate) -> None:
    result = check_with(make_certificate(), is_trusted=False)
    assert result.code != 0 and result.err, result


@pytest.mark.parametrize("wrong", [{"name": "other.example"}, {"days": -1}], ids=["of another name", "expired"])
def test_a_trusted_certificate_must_be_right(check_with, make_certificate, wrong: dict[str, Any]) -> None:
    result = check_with(make_certificate(**wrong), is_trusted=True)
    assert result.code != 0 and result.err, result


def test_people_sign_in_by_a_provider_with_tls(serve, make_certificate, tmp_path) -> None:
    certificate = make_certificate()
    provider = LyingProvider(certificate.context, "localhost")
    try:
        (tmp_path / "secret").write_text(provider.secret)
        words = options(provider.issuer, CLIENT, tmp_path / "secret", "perf=read:main")
        server = serve(*words, environment={"SSL_CERT_FILE": str(certificate.path)})
        attempt = begin(server)
        answer = return_with(server, query_of(provider.authorize(attempt.asked)), attempt.cookie)
        assert answer.status == 200 and token_of(answer), answer
    finally:
        provider.stop()


# ---- What is unusual, but right

FINE: dict[str, Lie] = {
    "nothing unusual": claims(),
    "for several with our azp": claims(aud=[CLIENT, "other"], azp=CLIENT),
    "for a list of one": claims(aud=[CLIENT]),
    "no kid and one key": head(kid=None),
    "no typ": head(typ=None),
    "ES256": lambda provider: provider.use(ec_key("one")),
    "a key without use and alg": published(rsa_key("one"), use=None, alg=None),
    "keys of other kinds beside ours": lambda provider: provider.keys.insert(0, {"kty": "OKP", "crv": "Ed25519", "kid": "new", "x": "AA"}),
    "broken keys beside ours": lambda provider: provider.keys.insert(0, {"kty": "RSA", "kid": "broken", "n": "!"}),
    "an unknown member of the head": head(x5t="abc", unknown={"a": [1]}),
    "unknown claims": claims(amr=["pwd", "otp"], address={"country": "x"}, nothing=[]),
    "text outside of ASCII": claims(name="Ålice 😀", sub="ålice"),
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_unusual_but_right_lets_in(start: Callable[..., Server], provider: LyingProvider, name: str) -> None:
    FINE[name](provider)
    server = start()
    token = session_of(server)
    assert server.get("/api/v1/runs", by_cookie(token), token="").status == 200
    assert refusals(server) == []


def sign_in_at_last(server: Server) -> None:
    """Keys that were fetched a moment ago are not fetched again."""
    assert until(lambda: sign_in(server).status == 200, 20, 1)


@pytest.mark.slow
def test_new_keys_are_fetched_when_they_are_needed(server: Server, provider: LyingProvider) -> None:
    session_of(server)
    for key in (rsa_key("two"), ec_key("three")):
        provider.use(key)
        sign_in_at_last(server)
    session_of(server)
    assert provider.paths.count("/keys") == 3


@pytest.mark.slow
def test_keys_that_are_gone_are_not_good_any_more(server: Server, provider: LyingProvider) -> None:
    """At the latest when the server has seen the new ones."""
    session_of(server)
    provider.use(rsa_key("two"))
    sign_in_at_last(server)
    signed_by(rsa_key("one"), kid="one")(provider)
    assert sign_in(server).status == 401


def test_unknown_keys_do_not_make_the_server_ask_on_and_on(server: Server, provider: LyingProvider) -> None:
    session_of(server)
    provider.head["kid"] = "two"
    begun = time.monotonic()
    assert {sign_in(server).status for _ in range(20)} == {401}
    assert provider.paths.count("/keys") <= 3 + (time.monotonic() - begun) / 3


def test_secrets_of_a_sign_in_are_in_no_output(server: Server, provider: LyingProvider) -> None:
    answer = sign_in(server)
    assert answer.status == 200
    token = token_of(answer)
    server.get("/", by_cookie(token), token="")
    server.ask("POST", "/sign-out", b"", by_cookie(token), token="")
    server.stop()
    seen = outputs(server) + answer.text
    assert len(provider.given) >= 7 and [one for one in [*provider.given, token] if one in seen] == []
    stored = (server.ledger / "access.sqlite").read_bytes().decode("latin-1")
    assert [one for one in [*provider.given, token, token.rsplit("_", 1)[1]] if one in stored] == []


def test_the_secret_goes_where_the_provider_wants_it(server: Server, provider: LyingProvider) -> None:
    """By Basic unless the provider says otherwise."""
    session_of(server)
    assert provider.asked[-1].authorization and "client_secret" not in provider.asked[-1].form


@pytest.mark.parametrize("offered", [["client_secret_post"], ["private_key_jwt", "client_secret_post"]], ids=" ".join)
def test_the_secret_is_posted_if_that_is_all_the_provider_offers(start, provider: LyingProvider, offered: list[str]) -> None:
    provider.discovery["token_endpoint_auth_methods_supported"] = offered
    session_of(start())
    assert provider.asked[-1].authorization is None and provider.asked[-1].form["client_secret"] == provider.secret


def test_the_secret_is_not_posted_if_there_is_a_choice(start, provider: LyingProvider) -> None:
    provider.discovery["token_endpoint_auth_methods_supported"] = ["client_secret_post", "client_secret_basic"]
    session_of(start())
    assert provider.asked[-1].authorization and "client_secret" not in provider.asked[-1].form


# ---- Groups


def groups_of_many(*named: str) -> list[str]:
    return [*(f"group_{number}" for number in range(10_000)), *named]


NO_GROUP: dict[str, Any] = {
    "none": None, "an empty list": [], "another group": ["other"], "in capitals": ["PERF"], "with a blank": ["perf "],
    "a longer name": ["perf_test"], "a shorter name": ["per"], "many others": groups_of_many(),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_GROUP)
def test_a_person_without_a_group_is_refused(server: Server, provider: LyingProvider, name: str) -> None:
    provider.claims["groups"] = NO_GROUP[name]
    check_refused(server, provider, sign_in(server), 403)


ODD_GROUPS: dict[str, Any] = {
    "numbers": [1, 2], "a number": 1, "lists": [["perf"]], "an object": {"perf": True}, "true": True, "objects": [{"name": "perf"}],
    "a text of several": "perf leads", "a text with commas": "perf,leads", "nulls": [None],
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_GROUPS)
def test_groups_of_another_kind_are_none(start: Callable[..., Server], provider: LyingProvider, name: str) -> None:
    server = start(groups=("perf=write:main", "1=admin:main", "true=admin:main", "null=admin:main"))
    provider.claims["groups"] = ODD_GROUPS[name]
    check_refused(server, provider, sign_in(server), 401, 403)


def test_a_text_is_one_group_or_none(server: Server, provider: LyingProvider) -> None:
    provider.claims["groups"] = "perf"
    answer = sign_in(server)
    if answer.status == 200:
        assert [grants_of(one) for one in tokens(server)] == [{"main": "write"}]
    else:
        check_refused(server, provider, answer, 401, 403)


def test_a_person_may_be_in_many_groups(server: Server, provider: LyingProvider) -> None:
    provider.claims["groups"] = groups_of_many("perf")
    assert session_of(server)
    assert [grants_of(one) for one in tokens(server)] == [{"main": "write"}]


def test_groups_beside_odd_ones_count(server: Server, provider: LyingProvider) -> None:
    """Or the whole list is refused."""
    provider.claims["groups"] = [1, None, ["x"], "perf"]
    answer = sign_in(server)
    assert answer.status in (200, 401, 403) and [grants_of(one) for one in tokens(server)] in ([], [{"main": "write"}])


GROUP_NAMES = ["Domain Users", "org:perf", "cn=perf,ou=groups,dc=example", "/a/b", "größe", "perf=read:main", "[x]", '"x"']


@pytest.mark.parametrize("group", GROUP_NAMES)
def test_a_group_may_have_any_name(start: Callable[..., Server], provider: LyingProvider, group: str) -> None:
    server = start(groups=(f"{group}=write:main", "other=read:main"))
    provider.claims["groups"] = [group]
    session_of(server)
    assert [grants_of(one) for one in tokens(server)] == [{"main": "write"}]


def test_another_claim_may_hold_the_groups(start: Callable[..., Server], provider: LyingProvider) -> None:
    server = start("--sign-in-groups-claim", "roles")
    provider.claims.update(groups=["other"], roles=["perf"])
    assert session_of(server)
    provider.claims.update(groups=["perf"], roles=["other"])
    assert sign_in(server).status == 403


# ---- Names


NAMES: list[tuple[dict[str, Any], str]] = [
    ({"email": "a@example.com", "email_verified": True}, "a@example.com"),
    ({"email": "a@example.com", "email_verified": None}, "a@example.com"),
    ({"email": "a@example.com", "email_verified": False}, "alice"),
    ({"email": None}, "alice"),
    ({"email": ""}, "alice"),
    ({"email": 7}, "alice"),
]


@pytest.mark.parametrize(("given", "name"), NAMES, ids=[json.dumps(given) for given, _ in NAMES])
def test_a_person_is_called_by_a_verified_address(server: Server, provider: LyingProvider, given: dict[str, Any], name: str) -> None:
    provider.claims.update(given)
    session_of(server)
    assert [one["name"] for one in tokens(server)] == [name]


def test_a_name_does_nothing_to_a_terminal_or_a_page(server: Server, provider: LyingProvider) -> None:
    provider.claims["email"] = "\x1b[31m<script>alert(1)</script>\r\nX: y@example.com"
    answer = sign_in(server)
    assert answer.status in (200, 401), answer
    pages = [answer.text, str(answer.headers)]
    if answer.status == 200:
        pages.append(server.get("/", {"Accept": "text/html", **by_cookie(token_of(answer))}, token="").text)
        listed = server.neurolens("token")
        assert "\x1b" not in listed.out + listed.err
    assert not any("<script>alert" in page or "\x1b" in page for page in pages) and "\x1b" not in outputs(server)


LONG_NAMES = {
    "letters": "x" * 5000, "two bytes": "é" * 3000, "two bytes after one": "x" + "é" * 3000, "four bytes": "x" + "😀" * 2000, "NUL": "\0a",
}  # fmt: skip


@pytest.mark.parametrize("name", LONG_NAMES)
def test_a_strange_name_breaks_nothing(server: Server, provider: LyingProvider, name: str) -> None:
    provider.claims["email"] = LONG_NAMES[name]
    answer = sign_in(server)
    assert answer.status in (200, 401), answer
    assert len(tokens(server)) == (answer.status == 200)
    if answer.status == 200:
        headers = by_cookie(token_of(answer))
        assert server.get("/", {**HTML, **headers}, token="").status == 200
        assert server.post("/api/v1/tag", {"run": "0" * 12, "names": ["x"]}, headers, token="").status == 404
    assert audited(server) and server.get("/healthz").status == 200


# ---- Strangers


def other(text: str) -> str:
    """Of the same length, and different at every place."""
    return "".join("B" if one == "A" else "A" for one in text)


Query = dict[str, str]
STRANGERS: dict[str, Callable[[Attempt, Query], tuple[Query, str | None]]] = {
    "another state": lambda attempt, query: ({**query, "state": "x" * 43}, attempt.cookie),
    "an empty state": lambda attempt, query: ({**query, "state": ""}, attempt.cookie),
    "half a state": lambda attempt, query: ({**query, "state": query["state"][:-1]}, attempt.cookie),
    "no state": lambda attempt, query: ({"code": query["code"]}, attempt.cookie),
    "no cookie": lambda attempt, query: (query, None),
    "an empty cookie": lambda attempt, query: (query, ""),
    "a made up cookie": lambda attempt, query: (query, "x" * len(attempt.cookie)),
    "a cookie with another end": lambda attempt, query: (query, attempt.cookie[:-4] + other(attempt.cookie[-4:])),
    "a cookie with another beginning": lambda attempt, query: (query, other(attempt.cookie[:1]) + attempt.cookie[1:]),
    "half a cookie": lambda attempt, query: (query, attempt.cookie[: len(attempt.cookie) // 2]),
    "the state as cookie": lambda attempt, query: (query, query["state"]),
    "a huge cookie": lambda attempt, query: (query, "x" * 12_000),
    "no code": lambda attempt, query: ({"state": query["state"]}, attempt.cookie),
    "an empty code": lambda attempt, query: ({**query, "code": ""}, attempt.cookie),
    "another code": lambda attempt, query: ({**query, "code": "made_up_by_a_stranger"}, attempt.cookie),
    "a long code": lambda attempt, query: ({**query, "code": "x" * 12_000}, attempt.cookie),
    "a code with a form inside": lambda attempt, query: ({**query, "code": "x&grant_type=password"}, attempt.cookie),
    "denied": lambda attempt, query: ({"error": "access_denied", "state": query["state"]}, attempt.cookie),
    "denied without a state": lambda attempt, query: ({"error": "access_denied"}, attempt.cookie),
    "denied with a code": lambda attempt, query: ({**query, "error": "access_denied"}, attempt.cookie),
    "denied with a page": lambda attempt, query: (
        {"error": "<script>alert(1)</script>", "error_description": "<script>alert(2)</script>", "state": query["state"]}, attempt.cookie,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGERS)
def test_a_made_up_return_lets_nobody_in(server: Server, provider: LyingProvider, name: str) -> None:
    attempt = begin(server)
    answer = return_with(server, *STRANGERS[name](attempt, query_of(authorize(attempt.location))))
    check_refused(server, provider, answer, 401)
    assert "<script" not in answer.text
    assert len(provider.asked) == (name in ("another code", "a long code", "a code with a form inside"))


def test_the_cookie_of_another_attempt_is_not_good(server: Server, provider: LyingProvider) -> None:
    first, second = begin(server), begin(server)
    check_refused(server, provider, return_with(server, query_of(authorize(first.location)), second.cookie), 401)


def test_the_code_of_another_attempt_is_not_good(server: Server, provider: LyingProvider) -> None:
    """PKCE: the code is for the browser that began."""
    first, second = begin(server), begin(server)
    stolen = query_of(authorize(first.location))["code"]
    answer = return_with(server, {"code": stolen, "state": second.asked["state"]}, second.cookie)
    check_refused(server, provider, answer, 401)


def test_a_code_is_good_once(server: Server, provider: LyingProvider) -> None:
    attempt = begin(server)
    query = query_of(authorize(attempt.location))
    assert return_with(server, query, attempt.cookie).status == 200
    again = return_with(server, query, attempt.cookie)
    assert again.status == 401 and not token_of(again) and len(tokens(server)) == 1
    assert [one["status"] for one in refusals(server)] == [401]


def test_a_cookie_of_another_server_is_not_good(start: Callable[..., Server], provider: LyingProvider, tmp_path) -> None:
    secret = tmp_path / "other_secret"
    secret.write_text(provider.secret)
    server, other = start(), Server(Neurolens(tmp_path / "other" / "ledger"), *options(provider.issuer, CLIENT, secret, "perf=read:main"))
    try:
        attempt = begin(other)
        check_refused(server, provider, return_with(server, query_of(authorize(attempt.location)), attempt.cookie), 401)
    finally:
        other.kill()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("path", ["/sign-in", "/sign-in/back"])
def test_a_sign_in_is_asked_for_by_get_alone(server: Server, path: str, method: str) -> None:
    answer = server.ask(method, path, b"", token="")
    assert answer.status in (401, 404, 405) and cookies_of(answer) == {}, answer
    assert server.ask(method, path, b"").status in (404, 405)


def test_the_parameters_of_a_return_come_once(server: Server, provider: LyingProvider) -> None:
    attempt = begin(server)
    query = query_of(authorize(attempt.location))
    path = f"/sign-in/back?code={query['code']}&code=x&state=x&state={query['state']}"
    answer = server.get(path, {"Cookie": f"{SIGN_IN_COOKIE}={attempt.cookie}"}, token="")
    assert answer.status in (400, 401) and not token_of(answer), answer
    assert tokens(server) == []


def memory_of(server: Server) -> int:
    """Bytes."""
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))


def test_attempts_leave_nothing_behind(server: Server, provider: LyingProvider) -> None:
    def stored() -> dict[str, int]:
        return {str(path): path.stat().st_size for path in server.ledger.rglob("*") if path.is_file()}

    def ask(count: int) -> list[Attempt]:
        return [begin(server) for _ in range(count)]

    attempts = ask(50)
    before, memory = stored(), memory_of(server)
    attempts += ask(200)
    assert stored() == before and memory_of(server) - memory < 8 << 20
    for name in ("state", "nonce", "code_challenge"):
        assert len({one.asked[name] for one in attempts}) == 250 and len(attempts[0].asked[name]) >= 22, name
    assert len({one.cookie for one in attempts}) == 250 and tokens(server) == []
    assert provider.paths.count(DISCOVERY) <= 5, "strangers do not make the server ask the provider"


def test_refused_returns_leave_no_tokens(server: Server) -> None:
    answers = [return_with(server, {"code": "x", "state": "x"}, "x") for _ in range(50)]
    assert {one.status for one in answers} == {401} and tokens(server) == []
    assert 10 <= len(refusals(server)) <= 50, "of many in a second only the first are noted"
