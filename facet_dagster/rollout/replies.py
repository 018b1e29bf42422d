"""A teacher's turn in XML: `<response>` with analysis, plan, commands and task_complete, keystrokes verbatim.

Not read by an XML parser: nothing inside is escaped, so that what stands between the tags is typed as it is.
`PARSERS` names the readers of all kinds of replies.
"""

import re
from collections.abc import Callable, Mapping

from facet_dagster.prompts.parse import Misfit
from facet_dagster.records.rollout import Keystrokes
from facet_dagster.records.terms import Replies
from facet_dagster.rollout.protocol import DEFAULT_WAIT_S, ParsedTurn, clean, finite_seconds, parse_turn

_THINKING = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_KEYS = re.compile(r"<keystrokes(?P<attributes>\s[^>]*)?>(?P<keys>.*?)</keystrokes\s*>", re.DOTALL)
_DURATION = re.compile(r"""\sduration\s*=\s*["']?([^"'\s]*)""")
_EMPTY = re.compile(r"<commands\s*/>")
_OPEN, _END = "<response>", "</response>"


def parse_xml(text: str, *, cut_off: bool = False) -> ParsedTurn:
    """Read a turn. Never raises. Of a turn that was `cut_off` at the length limit, the complete commands are kept."""
    try:
        return _turn(_THINKING.sub("", text), cut_off)
    except Misfit as misfit:
        return ParsedTurn(error=clean(str(misfit)))


PARSERS: Mapping[Replies, Callable[..., ParsedTurn]] = {"json": parse_turn, "xml": parse_xml}


def _turn(text: str, cut_off: bool) -> ParsedTurn:
    before, opened, rest = text.partition(_OPEN)
    if not opened:
        raise Misfit(f"the answer holds no {_OPEN}" if text.strip() else "the answer is empty")
    body, ended, after = rest.rpartition(_END)
    warnings = ["text around the response was ignored"] if before.strip() or (ended and after.strip()) else []
    if not ended:
        body = rest
        if cut_off:
            return _salvaged(body)
        warnings.append(f"{_END} was missing and was added")
    head, commands, tail = _parts(body)
    return ParsedTurn(
        analysis=_section(head, "analysis"),
        plan=_section(head, "plan"),
        commands=tuple(_commands(commands, warnings)),
        task_complete=_complete(tail if _present(tail, "task_complete") else head),
        warnings=tuple(clean(warning) for warning in warnings),
    )


def _parts(body: str) -> tuple[str, str, str]:
    """What stands before, in and after the commands; whatever is typed may itself hold tags."""
    body = _EMPTY.sub("<commands></commands>", body, count=1)
    head, opened, rest = body.partition("<commands>")
    if not opened:
        raise Misfit("<commands> is missing (an empty one sends no keys)")
    commands, closed, tail = rest.rpartition("</commands>")
    if not closed:
        raise Misfit("</commands> is missing")
    return head, commands, tail


def _salvaged(body: str) -> ParsedTurn:
    head, opened, rest = body.partition("<commands>")
    warnings: list[str] = []
    commands = tuple(_commands(rest, warnings, whole=False)) if opened else ()
    if not commands:
        raise Misfit("no complete command came before the cut")
    told = f"it was cut off at the length limit: the {len(commands)} complete command(s) were sent, nothing after them"
    return ParsedTurn(
        analysis=_section(head, "analysis"),
        plan=_section(head, "plan"),
        commands=commands,
        warnings=tuple(clean(warning) for warning in (told, *warnings)),
    )


def _present(text: str, name: str) -> bool:
    return f"<{name}>" in text


def _section(text: str, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    if found is None:
        raise Misfit(f"<{name}> is missing or not closed")
    return clean(found[1].strip())


def _commands(text: str, warnings: list[str], *, whole: bool = True) -> list[Keystrokes]:
    commands = []
    for number, found in enumerate(_KEYS.finditer(text), start=1):
        commands.append(Keystrokes(keystrokes=clean(found["keys"]), duration=_wait(number, found, warnings)))
    if whole and "<keystrokes" in _KEYS.sub("", text):
        raise Misfit("a <keystrokes> is not closed")
    return commands


def _wait(number: int, found: re.Match[str], warnings: list[str]) -> float:
    said = _DURATION.search(found["attributes"] or "")
    if said is None:
        return DEFAULT_WAIT_S
    try:
        seconds = finite_seconds(float(said[1]))
    except ValueError:
        seconds = None
    if seconds is None:
        warnings.append(f"command {number}: the duration is not a number of seconds, {DEFAULT_WAIT_S} was taken")
    return DEFAULT_WAIT_S if seconds is None else seconds


def _complete(text: str) -> bool:
    if not _present(text, "task_complete"):
        return False
    said = _section(text, "task_complete").lower()
    if said not in {"true", "false"}:
        raise Misfit("<task_complete> must hold true or false")
    return said == "true"
