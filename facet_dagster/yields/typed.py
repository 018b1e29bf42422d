"""Which of a trial's keystrokes were commands: keys are none, nor is text that a running program got.

Who got the text is decided by what the terminal showed last, and where that does not tell, by what was started before
in it (docs/behaviour.md). Works on the turns of a trial in their order.
"""

import re
from collections.abc import Sequence

from facet_dagster.records.rollout import Turn
from facet_dagster.yields.observing import starts_program
from facet_dagster.yields.shell import ShellCommand, shell_commands, unfinished

# Names of keys as tmux knows them; as the whole of the keystrokes they are pressed, not typed.
KEY = re.compile(
    r"(?:[CMS]-)+\S+|Enter|Escape|Tab|BTab|Space|BSpace|Up|Down|Left|Right|Home|End|PageUp|PageDown|PPage|NPage|DC|IC"
    r"|F\d{1,2}|\^\S"
)
_SHELL_PROMPT = re.compile(r"(?:.*\S)?[$#❯]\s*")
_PROGRAM_PROMPT = re.compile(
    r"(?:>>>|\.\.\.|In \[\d+\]:|\w+(?:\[\d+\])?>|MariaDB \[[^]]*\]>|\s*->|\w+[=(*^!-]+[#>]|\(\w*db\)|>|:|.*\(END\)"
    r"|--More--.*|.*[Pp]ass(?:word|phrase)[^:]*:|lines \d+-\d+.*|-- INSERT --.*|~)\s*"
)
_LEAVE = re.compile(
    r"\s*(?:exit|quit|q|:q!?|:wq!?|:x|ZZ|\.quit|\.exit|\\q|(?:exit|quit)\(\d*\)|bye|logout|.*exit\(\))\s*;?\n?"
)
_ENDS = {"filters": {"C-c", "C-d", "C-z"}, "prompting": {"C-d", "C-z"}, "full_screen": {"C-x", "C-z", "q"}}


class Keyboard:
    """Follows who has the keyboard: `typed` tells the commands of each keystrokes, `look` sees what is shown."""

    def __init__(self) -> None:
        self._program: str | None = None  # its kind, where one other than the shell has the keyboard
        self._begun = ""  # typed at the shell, not yet run

    def look(self, shown: str) -> None:
        """What the terminal showed last; where it ends in a prompt, it says who reads."""
        lines = [line for line in shown.splitlines() if line.strip()]
        last = lines[-1].rstrip() if lines else ""
        if _PROGRAM_PROMPT.fullmatch(last):
            # A bare ">" is the shell's own, too, where a command is not at its end.
            if not (last == ">" and self._begun):
                self._program = self._program or "prompting"
        elif _SHELL_PROMPT.fullmatch(last):
            self._program, self._begun = None, ""

    def typed(self, keystrokes: str) -> list[ShellCommand]:
        """The commands that these keystrokes run at the shell."""
        if KEY.fullmatch(keystrokes):
            return self._pressed(keystrokes)
        if self._program is not None:
            keystrokes = self._given(keystrokes)
            if not keystrokes:
                return []
        return self._at_the_shell(self._begun + keystrokes)

    def _pressed(self, key: str) -> list[ShellCommand]:
        if self._program is not None:
            if key in _ENDS[self._program]:
                self._program = None
            return []
        if key == "Enter":
            return self._at_the_shell(self._begun + "\n")
        if key in {"C-c", "C-u", "C-d"}:
            self._begun = ""
        return []

    def _given(self, text: str) -> str:
        """A program gets the text; what comes after a line that ends the program is for the shell."""
        if self._program == "filters":
            return ""
        lines = text.splitlines(keepends=True)
        for place, line in enumerate(lines):
            if _LEAVE.fullmatch(line):
                self._program = None
                return "".join(lines[place + 1 :])
        return ""

    def _at_the_shell(self, text: str) -> list[ShellCommand]:
        whole, end, rest = text.rpartition("\n")
        if not end or unfinished(text):
            self._begun = text
            return []
        self._begun = rest
        return self._until_a_program(whole + "\n")

    def _until_a_program(self, text: str) -> list[ShellCommand]:
        """The commands up to one that takes the keyboard: the lines behind it are for that program."""
        found = shell_commands(text)
        for place, command in enumerate(found):
            kind = starts_program(command)
            if kind is None:
                continue
            self._program = kind
            after = _behind(text, command)
            rest = self._given(after) if after else ""
            return [*found[: place + 1], *(self._at_the_shell(rest) if rest else _same_line(found, place, after))]
        return found


def commands_of(turns: Sequence[Turn]) -> list[list[ShellCommand]]:
    """The commands of each turn. Never raises."""
    keyboard = Keyboard()
    told: list[list[ShellCommand]] = []
    for place, turn in enumerate(turns):
        if place:
            keyboard.look(_shown(turns[place - 1]))
        told.append([command for keys in turn.commands for command in keyboard.typed(keys.keystrokes)])
    return told


def _shown(turn: Turn) -> str:
    """What the terminal showed, without the question that follows a first "done"."""
    return turn.observation.rpartition("\n\n")[0] or turn.observation if turn.task_complete else turn.observation


def _behind(text: str, command: ShellCommand) -> str:
    """The lines behind the first one that names the command."""
    lines = text.splitlines(keepends=True)
    first = next((place for place, line in enumerate(lines) if command.name in line), len(lines) - 1)
    return "".join(lines[first + 1 :])


def _same_line(found: Sequence[ShellCommand], place: int, after: str) -> list[ShellCommand]:
    """Where nothing was typed behind it, what stands beside it in its line (`cat; ls`) still runs when it ends."""
    return list(found[place + 1 :]) if not after.strip() else []
