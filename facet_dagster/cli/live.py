"""What live displays share: drawn on a terminal, silent elsewhere, gone at the end; and a table of what is at work."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table

from facet_dagster.cli.plain import plain

SHOWN = 12  # things at work that a live table holds


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


class LiveWork(LiveDisplay):
    """A display of what is at work, `_at`: names, and markup that says what each is doing."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._at: dict[str, str] = {}

    def _draw(self) -> Table:
        table = Table(box=None, padding=(0, 1), show_header=False)
        for name, doing in list(self._at.items())[:SHOWN]:
            table.add_row(plain(name), doing)
        return table
