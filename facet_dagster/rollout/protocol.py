"""What a teacher's turn means: one JSON object with analysis, plan, commands and task_complete.

Lenient about what stands around the object, strict about its shape: a turn with an error runs no command.
The shape is that of the Terminus-2 agent (Harbor), so that trajectories of either train the same student.
Does not belong here: the terminal, the dialogue.
"""

import math
from typing import Any

from facet_dagster.prompts.parse import Misfit, find_object
from facet_dagster.records.base import Record
from facet_dagster.records.rollout import Keystrokes

DEFAULT_WAIT_S = 1.0
FIELDS = frozenset({"analysis", "plan", "commands", "task_complete"})
COMMAND_FIELDS = frozenset({"keystrokes", "duration"})


class ParsedTurn(Record):
    """A turn as it was understood. With an `error` nothing else holds; `warnings` are told but harmless."""

    analysis: str = ""
    plan: str = ""
    commands: tuple[Keystrokes, ...] = ()
    task_complete: bool = False
    error: str | None = None
    warnings: tuple[str, ...] = ()


def parse_turn(text: str, *, cut_off: bool = False) -> ParsedTurn:
    """Read a turn. Never raises: whatever the model wrote, the answer says what to do or what is wrong.

    Of a turn that was `cut_off` at the length limit nothing is run: half a command may be another command.
    """
    turn = _read(text)
    mended = None if turn.error is None or cut_off else _closed(text)
    if mended is None:
        return turn
    again = _read(mended)
    if again.error is not None:
        return turn
    return again.model_copy(update={"warnings": ("the closing brackets were missing and were added", *again.warnings)})


def _closed(text: str) -> str | None:
    """The object with the brackets that its end lacks, where what they close is whole: the object or its commands."""
    start = text.find("{")
    ended = text[start:].rstrip() if start != -1 else ""
    missing: list[str] = []
    in_string = escaped = False
    for character in ended:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "{[":
            missing.append("}" if character == "{" else "]")
        elif character in "}]" and (not missing or missing.pop() != character):
            return None
    whole = missing == ["}"] or (missing == ["}", "]"] and ended.endswith("}"))
    return ended + "".join(reversed(missing)) if whole and not in_string else None


def _read(text: str) -> ParsedTurn:
    try:
        value = find_object(text)
        warnings = list(_around(text))
        commands = _commands(value, warnings)
        turn = ParsedTurn(
            analysis=_text(value, "analysis"),
            plan=_text(value, "plan"),
            commands=commands,
            task_complete=_complete(value),
        )
    except Misfit as misfit:
        return ParsedTurn(error=clean(str(misfit)))
    unknown = sorted(set(value) - FIELDS)
    if unknown:
        warnings.append(f"unknown fields were ignored: {', '.join(unknown[:5])}")
    return turn.model_copy(update={"warnings": tuple(clean(w) for w in warnings)})


def _text(value: dict[str, Any], name: str) -> str:
    if name not in value:
        raise Misfit(f'the field "{name}" is missing')
    if not isinstance(value[name], str):
        raise Misfit(f'"{name}" must be a string')
    return clean(value[name])


def _complete(value: dict[str, Any]) -> bool:
    said = value.get("task_complete", False)
    if isinstance(said, str) and said.lower() in {"true", "false"}:
        return said.lower() == "true"
    if not isinstance(said, bool):
        raise Misfit('"task_complete" must be true or false')
    return said


def _commands(value: dict[str, Any], warnings: list[str]) -> tuple[Keystrokes, ...]:
    if "commands" not in value:
        raise Misfit('the field "commands" is missing (an empty list sends no keys)')
    commands = value["commands"]
    if not isinstance(commands, list):
        raise Misfit('"commands" must be a list')
    return tuple(_command(number, command, warnings) for number, command in enumerate(commands, start=1))


def _command(number: int, command: Any, warnings: list[str]) -> Keystrokes:
    if not isinstance(command, dict):
        raise Misfit(f"command {number} must be an object")
    if not isinstance(command.get("keystrokes"), str):
        raise Misfit(f'command {number} needs "keystrokes", a string')
    if set(command) - COMMAND_FIELDS:
        warnings.append(f"command {number}: only keystrokes and duration are read")
    duration = finite_seconds(command.get("duration", DEFAULT_WAIT_S))
    if duration is None:
        warnings.append(f"command {number}: the duration is not a number of seconds, {DEFAULT_WAIT_S} was taken")
    wait = DEFAULT_WAIT_S if duration is None else duration
    return Keystrokes(keystrokes=clean(command["keystrokes"]), duration=wait)


def finite_seconds(value: Any) -> float | None:
    """Seconds, or None for what is no finite length of time."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _around(text: str) -> tuple[str, ...]:
    bare = text.strip()
    alone = bare.startswith("{") and bare.endswith("}")
    return () if alone else ("text around the JSON object was ignored",)


def clean(text: str) -> str:
    """Text that can be kept: JSON escapes can spell half a surrogate pair, which no file and no terminal can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
