"""Negative controls: final states spoilt in one output, made mechanically from what changed between e0 and eT.

Pure: from the difference, the instruction and the contents on both sides to a list of controls. Running them stands in
gates/controls.py; which changes are outputs in outputs.py; how one value is changed in spoiling.py.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from facet_dagster.records.environment import ObservedFile, ObservedState
from facet_dagster.records.validation import ControlKind
from facet_dagster.validation.outputs import Subject
from facet_dagster.validation.spoiling import PROSE, change_value

PAYLOAD = "/facet-control"  # where new content lies until the script has put it in its place
MAX_CONTENT = 2_000_000  # bytes of an output that are looked at; a larger one is only emptied and left out
_PROGRAMS = re.compile(
    r"\.(py|sh|bash|js|ts|rb|pl|php|lua|c|h|cc|cpp|cs|go|rs|java|kt|swift|sql|awk|sed|mk|r)$|/(Makefile|Dockerfile)$",
    re.I,
)
_ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf")
_SQLITE = b"SQLite format 3\x00"
_HEADED = frozenset({".csv", ".tsv", ".psv"})


@dataclass(frozen=True)
class Facts:
    """What the containers hold: contents by path on either side, as far as they were read."""

    before: Mapping[str, bytes] = field(default_factory=dict)
    after: Mapping[str, bytes] = field(default_factory=dict)
    unchanged: tuple[ObservedFile, ...] = ()  # files that are the same in e0 and eT


@dataclass(frozen=True)
class Control:
    """One spoilt state. `script` is run as root on eT, `payload` lies at PAYLOAD while it runs."""

    path: str
    kind: ControlKind
    what: str
    script: str
    payload: bytes | None = None


def unchanged_files(e0: ObservedState, changed: set[str]) -> tuple[ObservedFile, ...]:
    """Files of e0 that the solution left as they were."""
    return tuple(f for f in e0.files if f.type == "file" and f.size and f.path not in changed)


def make_controls(subjects: Sequence[Subject], facts: Facts, at_most: int) -> tuple[Control, ...]:
    """At most so many controls: the most discriminating of every output first, then the next of each."""
    queues = [list(_distinct(_controls(subject, facts), facts.after.get(subject.path))) for subject in subjects]
    chosen: list[Control] = []
    while len(chosen) < at_most and any(queues):
        for queue in queues:
            if queue and len(chosen) < at_most:
                chosen.append(queue.pop(0))
    return tuple(chosen)


def _distinct(controls: Iterator[Control], content: bytes | None) -> Iterator[Control]:
    """Without those that change nothing, or do what another has done."""
    seen = {content} if content is not None else set()
    for control in controls:
        if control.payload is None:
            yield control
        elif control.payload not in seen:
            seen.add(control.payload)
            yield control


def _controls(subject: Subject, facts: Facts) -> Iterator[Control]:
    """All controls of one output, the most discriminating first."""
    change = subject.change
    if subject.repository:
        yield from _of_repository(subject, facts)
    elif change.change == "removed":
        yield from _put_back(subject, facts)
    elif change.after is not None and change.after.type == "link":
        yield _link_control(subject)
    else:
        yield from _of_file(subject, facts)


def _of_file(subject: Subject, facts: Facts) -> Iterator[Control]:
    path, content, old = subject.path, facts.after.get(subject.path), facts.before.get(subject.path)
    created = subject.change.change == "added"
    if not created and _only_mode(subject):
        yield from _put_back(subject, facts)
        return
    if content is not None and not content:
        yield from (() if created else _put_back(subject, facts))
        yield _left_out(path)
        return
    if content is not None and len(content) <= MAX_CONTENT:
        yield from _by_content(subject, content, old, facts)
    elif not created:
        yield from _put_back(subject, facts)
    if content is not None and _is_program(subject, content):
        yield _written(path, ControlKind.EMPTIED, "emptied but for the line `#!/bin/sh`", b"#!/bin/sh\n")
    else:
        yield _emptied(path)
    yield _left_out(path)
    if subject.named:
        place = _sibling(path)
        script = f"mv -T -- {shlex.quote(path)} {shlex.quote(place)}"
        yield Control(path, ControlKind.MISPLACED, f"moved to {place}", script)


def _by_content(subject: Subject, content: bytes, old: bytes | None, facts: Facts) -> Iterator[Control]:
    """What needs the content: its kind decides what may be done to it."""
    path, created = subject.path, subject.change.change == "added"
    text = _text(content)
    program = _is_program(subject, content)
    if text is not None and not program:
        spoilt = change_value(path, text, _text(old) if old is not None else None)
        if spoilt is not None and (created or old is not None):
            yield _written(path, ControlKind.VALUE, spoilt.what, spoilt.text.encode())
    if not created:
        yield from _put_back(subject, facts)
    if content.startswith(_SQLITE):
        if created:
            yield _row_deleted(path)
        return
    if program:
        return
    cut = _first_half(content, text)
    if cut is not None and PurePosixPath(path).suffix.lower() not in PROSE:
        yield _written(path, ControlKind.TRUNCATED, "cut off after half of its content", cut)
    if text is not None and PurePosixPath(path).suffix.lower() in _HEADED:
        header = text.splitlines(keepends=True)[0]
        yield _written(path, ControlKind.HEADER_ONLY, "reduced to its first line", header.encode())
    if created:
        yield from _stale_copy(subject, facts)


def _put_back(subject: Subject, facts: Facts) -> Iterator[Control]:
    """The output as it was in e0: its content, or only its mode where that is all that changed."""
    before, path = subject.change.before, subject.path
    if before is None:
        return
    quoted = shlex.quote(path)
    if _only_mode(subject):
        script = f"chmod {shlex.quote(before.mode)} -- {quoted}"
        yield Control(path, ControlKind.PUT_BACK, f"its mode put back to {before.mode}", script)
    elif before.type == "link":
        script = f"rm -f -- {quoted} && ln -s -- {shlex.quote(before.target or '')} {quoted}"
        yield Control(path, ControlKind.PUT_BACK, f"put back as the link to {before.target}", script)
    elif path in facts.before and len(facts.before[path]) <= MAX_CONTENT:
        folder = shlex.quote(str(PurePosixPath(path).parent))
        owned = f"chmod {shlex.quote(before.mode)} -- {quoted}; chown -- {shlex.quote(before.owner)} {quoted} || true"
        script = f"mkdir -p -- {folder} && rm -rf -- {quoted} && cat {PAYLOAD} > {quoted} && {{ {owned}; }}"
        what = "put back as it was in the initial state"
        yield Control(path, ControlKind.PUT_BACK, what, script, facts.before[path])


def _of_repository(subject: Subject, facts: Facts) -> Iterator[Control]:
    """A git directory: the branch one commit back, or the whole of it as in e0. `facts` hold its tar archives."""
    path = subject.path
    if path not in facts.before or path not in facts.after:
        return
    if subject.committed:
        git = f"git -c safe.directory='*' --git-dir={shlex.quote(path)}"
        back = f"{git} update-ref HEAD HEAD~1 && chown -R --reference={shlex.quote(path)} -- {shlex.quote(path)}"
        yield Control(path, ControlKind.COMMIT_UNDONE, "its branch put back to the commit before the last", back)
    parent = shlex.quote(str(PurePosixPath(path).parent))
    script = f"rm -rf -- {shlex.quote(path)} && tar -xpf {PAYLOAD} -C {parent}"
    what = "put back as it was in the initial state; the files beside it were left"
    yield Control(path, ControlKind.PUT_BACK, what, script, facts.before[path])


def _link_control(subject: Subject) -> Control:
    before = subject.change.before
    return next(_put_back(subject, Facts())) if before and before.type == "link" else _left_out(subject.path)


def _stale_copy(subject: Subject, facts: Facts) -> Iterator[Control]:
    """Another file of e0 of the same kind over it: of the same suffix, the nearest in the tree."""
    path = PurePosixPath(subject.path)
    after = subject.change.after
    alike = [
        file
        for file in facts.unchanged
        if path.suffix and PurePosixPath(file.path).suffix.lower() == path.suffix.lower()
        if file.size <= MAX_CONTENT and (after is None or file.sha256 != after.sha256)
    ]
    if alike:
        nearest = min(alike, key=lambda file: (-_shared(file.path, subject.path), file.path))
        script = f"cat < {shlex.quote(nearest.path)} > {shlex.quote(subject.path)}"
        yield Control(subject.path, ControlKind.STALE_COPY, f"replaced by a copy of {nearest.path}", script)


def _row_deleted(path: str) -> Control:
    """From the table with the most rows, the one in the middle."""
    program = (
        "import sqlite3, sys\n"
        "base = sqlite3.connect(sys.argv[1])\n"
        "names = [r[0] for r in base.execute(\"select name from sqlite_master where type='table' and name not like "
        "'sqlite_%' order by name\")]\n"
        "quoted = ['\"' + n.replace('\"', '\"\"') + '\"' for n in names]\n"
        "counts = [(base.execute(f'select count(*) from {n}').fetchone()[0], n) for n in quoted]\n"
        "count, name = max(counts)\n"
        "row = base.execute(f'select rowid from {name} order by rowid limit 1 offset {count // 2}').fetchone()\n"
        "base.execute(f'delete from {name} where rowid = ?', row)\n"
        "base.commit()\n"
    )
    script = f"python3 -I -c {shlex.quote(program)} {shlex.quote(path)}"
    return Control(path, ControlKind.ROW_DELETED, "the middle row of its largest table deleted", script)


def _written(path: str, kind: ControlKind, what: str, content: bytes) -> Control:
    """New content into the same file: owner and mode stay."""
    return Control(path, kind, what, f"cat {PAYLOAD} > {shlex.quote(path)}", content)


def _emptied(path: str) -> Control:
    return Control(path, ControlKind.EMPTIED, "emptied", f": > {shlex.quote(path)}")


def _left_out(path: str) -> Control:
    return Control(path, ControlKind.LEFT_OUT, "deleted", f"rm -f -- {shlex.quote(path)}")


def _only_mode(subject: Subject) -> bool:
    before, after = subject.change.before, subject.change.after
    return before is not None and after is not None and before.sha256 is not None and before.sha256 == after.sha256


def _is_program(subject: Subject, content: bytes) -> bool:
    after = subject.change.after
    executable = after is not None and bool(int(after.mode, 8) & 0o111) and b"\0" not in content[:8_192]
    return content.startswith(b"#!") or executable or _PROGRAMS.search(subject.path) is not None


def _text(content: bytes) -> str | None:
    if b"\0" in content[:8_192] or content.startswith(_ARCHIVES):
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _first_half(content: bytes, text: str | None) -> bytes | None:
    """The first half of the lines, or of the bytes of what is no text; None for what is too short to have halves."""
    if text is None:
        return content[: len(content) // 2] if len(content) > 1 else None
    lines = text.splitlines(keepends=True)
    return "".join(lines[: len(lines) // 2]).encode() if len(lines) > 1 else None


def _sibling(path: str) -> str:
    pure = PurePosixPath(path)
    return str(pure.with_name(f"{pure.stem}_moved{pure.suffix}"))


def _shared(one: str, other: str) -> int:
    """How many leading folders two paths have in common."""
    pairs = zip(PurePosixPath(one).parts, PurePosixPath(other).parts, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), 99)
