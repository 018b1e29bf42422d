"""What a stranger's Dockerfile says, and how it is built on an engine that may reach no registry.

Belongs here: reading instructions and naming other base images. Building is the ImageBuilder's business, judging the
text that of the gates.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from facet_dagster.environment.dockerfile import on_local_base

_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)\s+(.*)", re.DOTALL)
_FROM = re.compile(r"(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?\s*", re.IGNORECASE)
_FROM_LINE = re.compile(r"^(\s*FROM\s+(?:--platform=\S+\s+)?)(\S+)", re.IGNORECASE | re.MULTILINE)
_ARG_LINE = re.compile(r"^(\s*ARG\s+\w+=)(['\"]?)([^\s'\"]+)\2", re.IGNORECASE | re.MULTILINE)
_BASE_DEFAULT = re.compile(r"^\s*ARG\s+BASE_IMAGE\s*=", re.IGNORECASE | re.MULTILINE)
_BUILDKIT = re.compile(
    r"^\s*(?:RUN\s+--(?:mount|network|security)\b|(?:RUN|COPY|ADD)\b[^\n]*<<-?['\"]?\w+"
    r"|(?:COPY|ADD)\s[^\n]*--(?:link|chmod|parents|exclude|checksum)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")


@dataclass(frozen=True)
class Defaults:
    """User and working directory of containers of the image; what the base image says is not known here."""

    user: str | None
    workdir: str | None


def defaults(dockerfile: str) -> Defaults:
    """What the last stage sets."""
    known: dict[str, str] = {}
    stages: dict[str, Defaults] = {}
    user: str | None = None
    workdir: str | None = None
    alias = ""
    for word, rest in _instructions(dockerfile):
        if word == "FROM":
            stages[alias] = Defaults(user, workdir)
            base, alias = _stage(_expanded(rest, known))
            before = stages.get(base, Defaults(None, None))
            user, workdir = before.user, before.workdir
        elif word in {"ARG", "ENV"} and "=" in rest:
            name, _, value = rest.strip().partition("=")
            known[name] = _expanded(value.strip("\"'"), known)
        elif word == "USER":
            user = _expanded(rest, known).split(":")[0] or user
        elif word == "WORKDIR":
            workdir = str(PurePosixPath(workdir or "/", _expanded(rest, known).strip("\"'")))
    return Defaults(user, workdir)


def needs_buildkit(dockerfile: str) -> bool:
    """Whether it uses what the classic builder does not know: here-documents, mounts, links."""
    return any(_BUILDKIT.match(f"{word} {rest}") for word, rest in _instructions(dockerfile))


def buildable(dockerfile: str, stand_ins: Mapping[str, str], mark: str) -> str:
    """The Dockerfile as it is built here: on local images where `stand_ins` names one; `mark` keeps its image apart."""
    text = on_local_base(dockerfile)
    if text == dockerfile:
        if _BASE_DEFAULT.search(text):  # the builder gives BASE_IMAGE a value, and this one has its own
            text = re.sub(r"\bBASE_IMAGE\b", "TASK_BASE_IMAGE", text)
        text = _FROM_LINE.sub(lambda line: line[1] + stand_ins.get(line[2], line[2]), text)
        text = _ARG_LINE.sub(lambda line: line[1] + stand_ins.get(line[3], line[3]), text)
    return f"{text.rstrip()}\n# {mark}\n"


def _stage(rest: str) -> tuple[str, str]:
    match = _FROM.fullmatch(rest)
    return (match[1], match[2] or "") if match else (rest, "")


def _instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Each instruction in upper case with its arguments, continued lines joined."""
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    for text in re.sub(r"\\[ \t]*\n", " ", "\n".join(lines)).splitlines():
        match = _INSTRUCTION.fullmatch(text)
        if match:
            yield match[1].upper(), match[2].strip()


def _expanded(text: str, known: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: known.get(match[1] or match[3], match[2] or ""), text)
