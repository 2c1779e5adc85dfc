"""The live API as a WSGI application, for Flask, Django and what gunicorn runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from paddle_flags._core.frames import public, public_class
from paddle_flags._core.status import shown
from paddle_flags._native import lib
from paddle_flags.errors import FlagTypeError
from paddle_flags.live._application import Application, Request, Response, refuse
from paddle_flags.live._audit import make_sink
from paddle_flags.live._patterns import join_patterns
from paddle_flags.live._phrases import phrase_of
from paddle_flags.live._sockets import Peer
from paddle_flags.live._tcp import check_names
from paddle_flags.live._tokens import User, may_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal

    from paddle_flags.live._audit import Audit

    Environ = dict[str, Any]
    Answer = None | Literal["read", "change"] | User
    Start = Callable[[str, "list[tuple[str, str]]"], object]

_PATH = "/!$&'()*+,;=:@-._~"  # what a path may have as it is (RFC 3986)


@public_class
class App:
    """A WSGI application, which `app` makes."""

    def __init__(self, authorize: Callable[[Environ], Answer], application: Application) -> None:
        self._authorize = authorize
        self._application = application

    def __call__(self, environ: Environ, start_response: Start) -> Iterable[bytes]:
        """Answer a request."""
        response = self._answer(environ)
        headers = [
            (name.decode("ascii"), value.decode("latin-1")) for name, value in response.headers
        ]
        headers.append(("Content-Length", str(len(response.body))))
        status = response.status
        start_response(f"{status} {phrase_of(status)}", headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [response.body]

    def __repr__(self) -> str:
        return f"<App: authorize={getattr(self._authorize, '__qualname__', self._authorize)!r}>"

    def _answer(self, environ: Environ) -> Response:
        allowed = _checked(self._authorize(environ))
        if allowed is None:
            return refuse(403, "you may not see the flags of this process")
        if not environ.get("PATH_INFO"):  # the page's own links are relative to the slash
            return _with_slash(environ)
        try:
            method, target, headers = _head_of(environ)
        except UnicodeEncodeError:
            return refuse(400, "the request has text that HTTP doesn't have")
        who = Peer(host=environ.get("REMOTE_ADDR") or None, label=allowed.label or None)
        request = Request(method, target, headers, who, may_bits(allowed.may))
        response = self._application.answer(request)
        return response if response.status else self._answer_body(request, environ)

    def _answer_body(self, request: Request, environ: Environ) -> Response:
        body = _body_of(environ)
        if body is None:
            return refuse(400, "Content-Length isn't a number, or the body ends before it")
        if len(body) > lib.PD_LIVE_BODY_MAX:
            return refuse(413, f"the body has more than {lib.PD_LIVE_BODY_MAX} bytes")
        return self._application.answer(request, body)


@public
def app(
    *,
    authorize: Callable[[Environ], Answer],
    settable: str | Iterable[str] = (),
    audit: Audit | None = None,
    hosts: Iterable[str] | None = None,
) -> App:
    """Return a WSGI application with the live API and its page, to be mounted under a prefix.

    `authorize` is called with the WSGI environ of each request. It returns what the client may do:
    `"read"`, `"change"`, a User, or None, which refuses the request. `settable` and `audit` are as
    in `serve`. `hosts` has the names by which clients call this server; left out, the framework
    checks them.

    It serves the process that answers: behind several workers, each request may reach another.
    """
    import inspect  # noqa: PLC0415 - seldom used

    if not callable(authorize) or inspect.iscoroutinefunction(authorize):
        message = "authorize: expected a plain function of the WSGI environ"
        raise FlagTypeError(message)
    names = ",".join(check_names(hosts)) or None
    made = Application(
        settable=join_patterns(settable), hosts=names, audit=make_sink(audit), polls=True
    )
    return App(authorize, made)


def _checked(answer: object) -> User | None:
    if answer is None or isinstance(answer, User):
        return answer
    if answer == "read":
        return User("", "read")
    if answer == "change":
        return User("", "change")
    message = f"authorize returned {shown(answer)}, expected None, 'read', 'change' or a User"
    raise FlagTypeError(message)


def _with_slash(environ: Environ) -> Response:
    place = quote(environ.get("SCRIPT_NAME", "").encode("latin-1", "replace"), safe=_PATH) + "/"
    query = environ.get("QUERY_STRING")
    place = "/" + place.lstrip("/") + (f"?{quote(query, safe=_PATH + '?%')}" if query else "")
    return Response(
        308, [(b"Location", place.encode("ascii")), (b"Cache-Control", b"no-store")], b""
    )


def _head_of(environ: Environ) -> tuple[bytes, bytes, list[tuple[bytes, bytes]]]:
    """Return method, target and headers as a client has sent them, as far as WSGI has kept them."""
    target = quote(environ["PATH_INFO"].encode("latin-1"), safe=_PATH).encode("ascii")
    query = environ.get("QUERY_STRING", "")
    if query:
        target += b"?" + _clean(query)
    headers = [
        (_clean(name[5:].replace("_", "-")), _clean(value))
        for name, value in environ.items()
        if name.startswith("HTTP_") and isinstance(value, str)
    ]
    for name, header in (("CONTENT_TYPE", b"Content-Type"), ("CONTENT_LENGTH", b"Content-Length")):
        if environ.get(name):
            headers.append((header, _clean(environ[name])))
    return _clean(environ["REQUEST_METHOD"]), target, headers


def _clean(text: str) -> bytes:
    """Return the bytes of a text; raise UnicodeEncodeError for what no header has."""
    if any(character in "\0\r\n" for character in text):
        raise UnicodeEncodeError("latin-1", text, 0, len(text), "a control character")  # noqa: EM101
    return text.encode("latin-1")


def _body_of(environ: Environ) -> bytes | None:
    """Read the body, one byte more than allowed at most; None if it isn't what it says."""
    stream = environ["wsgi.input"]
    length = environ.get("CONTENT_LENGTH") or ""
    if length:
        if not (length.isascii() and length.isdigit() and len(length) <= 15):  # noqa: PLR2004
            return None
        wanted = min(int(length), lib.PD_LIVE_BODY_MAX + 1)
    else:
        wanted = lib.PD_LIVE_BODY_MAX + 1 if environ.get("wsgi.input_terminated") else 0
    parts: list[bytes] = []
    while wanted > 0:
        part: bytes = stream.read(wanted)
        if not part:
            break
        parts.append(part)
        wanted -= len(part)
    return None if length and wanted > 0 else b"".join(parts)
