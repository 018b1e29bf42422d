"""Reading the classic builder's stream: steps, intermediate containers and images, and the log worth keeping."""

import re
from collections.abc import Callable
from typing import Any

from facet_dagster.adapters.docker_output import BoundedOutput

MAX_LOG = 20_000  # characters of BuildResult.log
_STEP_BYTES = 14_000  # of the step under way
_EARLIER_CHARS = 3_000  # of the list of steps before it
_STEP = re.compile(r"^Step \d+/\d+ : ")
_RUNNING = re.compile(r"^ ---> Running in ([0-9a-f]{12,64})\s*$")
_LAYER = re.compile(r"^ ---> ([0-9a-f]{12,64})\s*$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CREDENTIALS = re.compile(r"://[^/@\s]+@")


class BuildLog:
    """Fed message by message. Memory stays bounded however much a step prints.

    What a step prints looks like the builder's own lines: `on_container` must not trust the ids it is given.
    """

    def __init__(self, on_container: Callable[[str], None]) -> None:
        self._on_container = on_container
        self._earlier: list[str] = []
        self._title = ""
        self._step = BoundedOutput(_STEP_BYTES)
        self.last_layer: str | None = None
        self.error: str | None = None

    def feed(self, message: dict[str, Any]) -> None:
        """One decoded message of the stream."""
        if "errorDetail" in message or "error" in message:
            detail = message.get("errorDetail") or {}
            self.error = str(detail.get("message") or message.get("error"))
            return
        text = str(message.get("stream", ""))
        running = _RUNNING.match(text)
        layer = _LAYER.match(text)
        if _STEP.match(text):
            self._next_step(text)
        elif running:
            self._on_container(running.group(1))
        elif layer:
            self.last_layer = layer.group(1)
        else:
            self._step.add(_COLOUR.sub("", text).encode())

    def _next_step(self, title: str) -> None:
        if self._title:
            self._earlier.append(self._title[:200])
            del self._earlier[:-50]
        self._title = title.strip()
        self._step = BoundedOutput(_STEP_BYTES)

    def step_output(self) -> str:
        """What the step under way has printed."""
        return self._step.text()

    def text(self, *closing: str) -> str:
        """Titles of the steps before, the last step with its output, the error and closing lines; <= MAX_LOG."""
        earlier = "\n".join(self._earlier)[-_EARLIER_CHARS:]
        last = [self._title[:2_000], self.step_output().strip("\n")]
        lines = [earlier, *last, self.error[-500:] if self.error else "", *closing]
        return _CREDENTIALS.sub("://***@", "\n".join(line for line in lines if line))[-MAX_LOG:]
