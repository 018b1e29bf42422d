"""A scripted OpenAI-compatible endpoint on a real socket: for tests of what happens over HTTP."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Reply:
    """One HTTP answer. With `hold`, nothing is sent until the endpoint is closed (a server that hangs)."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hold: bool = False


def answer(text: str | None, *, usage: bool = True, finish_reason: str = "stop", **charged: object) -> Reply:
    """A chat completion as an endpoint sends it."""
    message = {"role": "assistant", "content": text}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, **charged}
    return Reply(body=json.dumps(body).encode())


def embeddings(vectors: Sequence[Sequence[float]], *, tokens: int | None = 11) -> Reply:
    """Embeddings as an endpoint sends them; without `tokens` there is no usage."""
    data = [{"object": "embedding", "index": n, "embedding": list(vector)} for n, vector in enumerate(vectors)]
    body: dict[str, Any] = {"object": "list", "data": data, "model": "served-model"}
    if tokens is not None:
        body["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Reply(body=json.dumps(body).encode())


def failure(status: int, message: str, **headers: str) -> Reply:
    """An error as an endpoint sends it; header names are written with underscores."""
    body = json.dumps({"error": {"message": message, "type": "error"}}).encode()
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


class HttpEndpoint:
    """Context manager: sends the replies in order, the last one for ever; what was asked stands in `requests`.

    A reply may be a function of what was asked.
    """

    def __init__(self, replies: Iterable[Reply | Callable[[dict[str, Any]], Reply]]) -> None:
        self._replies = list(replies)
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        """The base URL to configure."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def _next(self, request: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self._lock:
            self.requests.append(request)
            self.headers.append(headers)
            reply = self._replies[min(len(self.requests), len(self._replies)) - 1]
        return reply if isinstance(reply, Reply) else reply(request)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # connections stay open between calls, as at a real endpoint

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                reply = endpoint._next(json.loads(data), {k.lower(): v for k, v in self.headers.items()})
                if reply.hold:
                    endpoint._closed.wait()
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in {"content-type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, format: str, *args: Any) -> None:
                """Keep the test output clean."""

        return Handler
