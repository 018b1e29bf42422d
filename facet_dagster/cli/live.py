"""The part of a live display that all of them share: drawn on a terminal, silent elsewhere, gone at the end."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live


class LiveDisplay(ABC):
    """A context manager that redraws `_draw` four times a second while it is open."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __enter__(self) -> Self:
        # Made here and not before: Live draws once as soon as it is made.
        self._live = Live(get_renderable=self._draw, console=self._console, refresh_per_second=4, transient=True)
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    @abstractmethod
    def _draw(self) -> RenderableType:
        """What the terminal shows now."""
