"""A git checkout (or a bare repository): what its commit holds, read through git, never through the work tree.

So what is recorded is exactly that commit: no untracked file, no file of a nested repository, no link that leads
anywhere. Nothing of the repository is run. Does not belong here: skill folders (see listing).
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from facet_dagster.errors import SettingsError
from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.licence import is_collection
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.sources.entry import Entry, place_of
from facet_dagster.skills.sources.listing import Node, read_listing

_REMOTE = re.compile(r"[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$")
_LINK, _SUBMODULE = "120000", "commit"
_LONGEST_TARGET = 4_096
# A repository may name programs to run and places to fetch from; none of them is asked.
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "",
    "LC_ALL": "C",
}


def is_checkout(path: Path) -> bool:
    """Whether a folder is the root of a repository, with or without a work tree."""
    return (path / ".git").exists() or all((path / each).exists() for each in ("HEAD", "objects", "refs"))


def remote_of(root: Path) -> str:
    """`owner/repository` where the remote of a repository tells it."""
    command = ["git", "--no-pager", "-C", str(root), "config", "--get", "remote.origin.url"]
    try:
        found = subprocess.run(command, capture_output=True, check=False, env={**os.environ, **_ENVIRONMENT})
    except FileNotFoundError:  # no git
        return ""
    match = _REMOTE.search(found.stdout.decode(errors="replace").strip())
    return match.group(1) if match else ""


class CheckoutSource:
    """The skills of the commit that is checked out. The name is `owner/repository` where a remote tells it."""

    def __init__(self, root: Path, name: str = "") -> None:
        self.root = root
        self.place = place_of(root)
        self.version = self._git("rev-parse", "--verify", "HEAD^{commit}").decode().strip()
        remote = remote_of(root)
        self.name = name or remote or root.resolve().name
        self._collection = is_collection(self.name) or is_collection(remote)

    def entries(self) -> Iterator[Entry]:
        """In the order of their paths. Raises SettingsError where git cannot read the commit."""
        nodes: dict[str, Node] = {}
        objects: dict[str, bytes] = {}
        with _Objects(self._command("cat-file", "--batch")) as store:
            for line in self._git("ls-tree", "-r", "-l", "-z", "--full-tree", self.version).split(b"\0"):
                if not line:
                    continue
                about, _, name = line.partition(b"\t")
                mode, kind, digest, size = about.split()
                path = name.decode("utf-8", errors="backslashreplace")
                if kind.decode() == _SUBMODULE:
                    continue
                objects[path] = digest
                if mode.decode() == _LINK:
                    target = store.read(digest, _LONGEST_TARGET) or b""
                    nodes[path] = Node("link", target=target.decode("utf-8", errors="backslashreplace"))
                else:
                    nodes[path] = Node("file", size=int(size))

            def read(path: str, limit: int) -> bytes | Refusal:
                data = store.read(objects[path], limit)
                return Refusal(SkillFault.UNREADABLE, "the repository lacks the file") if data is None else data

            yield from read_listing(self.name, nodes, read, own_root=not self._collection)

    def _command(self, *arguments: str) -> list[str]:
        return ["git", "--no-pager", "-C", str(self.root), *arguments]

    def _git(self, *arguments: str) -> bytes:
        try:
            done = subprocess.run(
                self._command(*arguments), capture_output=True, check=False, env={**os.environ, **_ENVIRONMENT}
            )
        except FileNotFoundError as error:
            raise SettingsError(f"{self.root} is a git repository: install git to read it") from error
        if done.returncode:
            said = (done.stderr.decode(errors="replace").strip().splitlines() or ["it has no commit"])[0]
            raise SettingsError(f"git cannot read {self.root}: {said}")
        return done.stdout


class _Objects:
    """One `git cat-file --batch`, asked for one object after another."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
        )

    def __enter__(self) -> "_Objects":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def read(self, digest: bytes, limit: int) -> bytes | None:
        """The beginning of an object; None where the repository lacks it."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(digest + b"\n")
        self._process.stdin.flush()
        header = self._process.stdout.readline().split()
        if len(header) != 3:
            return None
        left = int(header[2]) + 1  # a line end follows the object
        data = self._process.stdout.read(min(left - 1, limit))
        _skip(self._process.stdout, left - len(data))
        return data


def _skip(stream: IO[bytes], count: int) -> None:
    while count > 0:
        got = len(stream.read(min(count, 1 << 20)))
        if not got:
            return
        count -= got
