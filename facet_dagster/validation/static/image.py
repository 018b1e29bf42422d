"""G0, the image: bases that anybody can pull, nothing from outside the context, neither tests nor solution inside.

Packages by name from their index are the one thing that may come from elsewhere.
"""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from facet_dagster.records.authoring import E0_COPIES
from facet_dagster.records.container import FileEntry
from facet_dagster.records.outcome import Component
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.static.finding import Finding
from facet_dagster.validation.static.heredocs import skip
from facet_dagster.validation.static.remote import fetched

_REGISTRIES = re.compile(
    r"^((registry-1\.|index\.)?docker\.io|ghcr\.io|quay\.io|([\w-]+\.)?gcr\.io|[\w-]+-docker\.pkg\.dev"
    r"|mcr\.microsoft\.com|public\.ecr\.aws|registry\.k8s\.io|nvcr\.io|cgr\.dev|registry\.gitlab\.com|docker\.elastic\.co"
    r"|registry\.(access\.)?redhat\.(io|com)|registry\.(fedoraproject|opensuse|suse)\.(org|com)|container-registry\.oracle\.com)$"
)
_REMOTE = re.compile(r"^(https?|ftp|git|ssh)://|^git@")
_SMALL = 40  # bytes; shorter files may be equal by chance
Line = tuple[int, str, list[str], str]  # number, instruction, words without options, everything behind the instruction


def image_findings(task: Candidate) -> Iterator[Finding]:
    """What is wrong with the Dockerfile and its context."""
    yield from _dockerfile(task.dockerfile)
    yield from _given_away(task)


def _dockerfile(text: str) -> Iterator[Finding]:
    arguments: dict[str, str] = {}
    for number, name, words, rest in _lines(text):
        place = f"Dockerfile:{number}"
        if name in {"ARG", "ENV"}:
            arguments |= {key: value.strip("\"'") for key, _, value in (word.partition("=") for word in words) if value}
        elif name == "RUN":
            for command in fetched(_expanded(_shell(rest), arguments)):
                what = f"RUN fetches what nobody pins: {command}; COPY a file instead"
                yield Finding(Component.ENVIRONMENT, place, what)
        elif name == "FROM" and words:
            yield from _base(place, _expanded(words[0], arguments))
        elif name in {"COPY", "ADD"} and len(words) > 1 and not words[0].startswith("<<"):
            yield from _sources(place, name, words[:-1])


def _shell(rest: str) -> str:
    """A RUN's command line; its other form is a JSON list of words."""
    try:
        words = json.loads(rest) if rest.startswith("[") else None
    except ValueError:
        words = None
    return shlex.join(map(str, words)) if isinstance(words, list) else rest


def _base(place: str, image: str) -> Iterator[Finding]:
    """The registry is the first part of a name that has a dot or a port."""
    host, slash, _ = image.partition("/")
    if not slash or "$" in image or not ("." in host or ":" in host or host == "localhost"):
        return
    if not _REGISTRIES.match(host):
        yield Finding(Component.ENVIRONMENT, place, f"the base {image} is in a registry that others cannot reach")


def _sources(place: str, name: str, sources: Sequence[str]) -> Iterator[Finding]:
    for source in (word.strip("[\",'") for word in sources):
        if name == "ADD" and _REMOTE.match(source):
            yield Finding(Component.ENVIRONMENT, place, f"ADD fetches {source} when it is built; COPY a file instead")
        elif ".." in PurePosixPath(source).parts:
            yield Finding(Component.ENVIRONMENT, place, f"{name} {source} reaches outside the build context")


def _given_away(task: Candidate) -> Iterator[Finding]:
    """Tests or solution in the build context: an agent could read them."""
    secret = {
        _squeezed(file): file.path
        for file in (*task.solution, *task.tests)
        if file.path.endswith((".sh", ".py"))
        and not file.path.startswith(f"{E0_COPIES}/")
        and len(file.data()) >= _SMALL
    }
    for file in task.context:
        known = secret.get(_squeezed(file))
        if known is not None:
            what = f"it is {known.lstrip('/')}, which the agent could read in the image"
            yield Finding(Component.ENVIRONMENT, f"environment/{file.path}", what)
        elif file.path in {"solution/solve.sh", "tests/test.sh", "tests/test_outputs.py"}:
            what = "a file of this name belongs to the graders, not into the image"
            yield Finding(Component.ENVIRONMENT, f"environment/{file.path}", what)


def _squeezed(file: FileEntry) -> bytes:
    return b" ".join(file.data().split())


def _expanded(word: str, arguments: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        return arguments.get(match[1] or match[2]) or match[3] or match[0]

    return re.sub(r"\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})", value, word)


def _lines(text: str) -> Iterator[Line]:
    """Instructions with the number of their first line, continued lines joined, options and here-documents left out."""
    lines = text.splitlines()
    index = 0
    while index < len(lines):
        first, line = index, lines[index]
        index += 1
        if line.lstrip().startswith("#"):
            continue
        while line.rstrip().endswith("\\") and index < len(lines):
            following = lines[index]
            line = line.rstrip()[:-1] + " " + ("" if following.lstrip().startswith("#") else following)
            index += 1
            if following.lstrip().startswith("#"):
                line += "\\"
        words = line.split()
        script: list[str] = []
        if words and words[0].upper() in {"RUN", "COPY", "ADD"}:
            script, index = skip(line, lines, index)
        if words:
            rest = line.strip()[len(words[0]) :].strip()
            # Where a command stands before it, a here-document is its input, else it is what RUN runs.
            rest = "\n".join(script) if rest.startswith("<<") else rest
            yield first + 1, words[0].upper(), [word for word in words[1:] if not word.startswith("--")], rest
