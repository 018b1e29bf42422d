"""The table of commands (commands.toml): which observe, which act, which wrap others. docs/behaviour.md explains it."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Wrapper(_Entry):
    """A command that runs another: options of its own that take a value, and words of its own before the command."""

    values: frozenset[str] = frozenset()
    words: int = 0
    keep: frozenset[str] = frozenset()  # with these it runs nothing: `command -v`

    def rest(self, words: Sequence[str]) -> Sequence[str]:
        """The command that it runs; nothing where it runs none."""
        left, own = list(words), self.words
        while left:
            word = left[0]
            if word in self.keep:
                return []
            if word.startswith("-") and len(word) > 1:
                left = left[2:] if word in self.values else left[1:]
            elif re.match(r"[A-Za-z_]\w*=", word):
                left = left[1:]
            elif own:
                left, own = left[1:], own - 1
            else:
                return left
        return []


class PythonCalls(_Entry):
    """Calls in a Python program that change something outside of it."""

    functions: frozenset[str]
    methods: frozenset[str]  # whoever they are called on
    modules: dict[str, frozenset[str]]  # by the name that they are called on


class Table(_Entry):
    """What is known of commands by name."""

    observe: frozenset[str]
    neither: frozenset[str]
    acts_with: dict[str, re.Pattern[str]]  # an argument that lets an observing command act
    observes_with: dict[str, re.Pattern[str]]  # an argument that lets an acting command merely observe
    subcommands: dict[str, frozenset[str]]  # those that observe
    keyboard: dict[str, frozenset[str]]  # kinds of programs that read the keyboard
    wrappers: dict[str, Wrapper]
    python: PythonCalls


def _read() -> Table:
    given: dict[str, Any] = tomllib.loads((Path(__file__).parent / "commands.toml").read_text(encoding="utf-8"))
    return Table.model_validate(given)


TABLE = _read()
