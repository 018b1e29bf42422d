"""A tar or zip archive, read in memory and never unpacked: no member is written anywhere, whatever it is called.

Bounded in members, in bytes that are unpacked and in bytes that are kept; what goes beyond is refused as a whole.
Does not belong here: skill folders (see listing).
"""

import bz2
import gzip
import lzma
import posixpath
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from facet_dagster.errors import SettingsError
from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.licence import is_collection
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.sources.entry import MAX_BYTES, MAX_LICENCE, Entry, place_of
from facet_dagster.skills.sources.listing import Node, read_listing, wanted

ARCHIVES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz2", ".txz", ".tar", ".zip")
# ValueError: names that are not the UTF-8 they are said to be; NotImplementedError: a zip of a later version.
_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
)
_LONGEST_TARGET = 4_096
_LONGEST_READ = 1 << 24  # bytes; a header that claims more wants to fill the memory


@dataclass(frozen=True, slots=True)
class Bounds:
    """What an archive may cost: members, bytes unpacked, bytes kept in memory."""

    members: int = 1_000_000
    unpacked: int = 16 << 30
    kept: int = 1 << 30


class ArchiveSource:
    """The skills of an archive. Its top folder is taken for the repository that they belong to, never its root."""

    version = ""

    def __init__(self, file: Path, name: str, bounds: Bounds | None = None) -> None:
        self.file, self.name = file, name
        self.place = place_of(file)
        self._bounds = bounds or Bounds()
        self._nodes: dict[str, Node] = {}
        self._kept: dict[str, bytes | Refusal] = {}
        self._outside: list[str] = []
        self._bytes_kept = 0

    def entries(self) -> Iterator[Entry]:
        """In the order of their paths. Raises SettingsError for a damaged archive and for one beyond its bounds."""
        try:
            self._zip() if self.file.name.lower().endswith(".zip") else self._tar()
        except SettingsError:  # beyond the bounds; it is a ValueError, too
            raise
        except _DAMAGE as error:
            said = (str(error).splitlines() or [type(error).__name__])[0]
            raise SettingsError(f"{self.file} cannot be read as an archive: {said}") from error
        for path in self._outside:
            evidence = f"the archive's member {path} leads out of the archive"
            yield Entry(source=self.name, path=path, refusal=Refusal(SkillFault.UNREADABLE, evidence))
        collection = is_collection(self.name)
        yield from read_listing(self.name, self._nodes, self._read, own_root=False, collection=collection)

    def _read(self, path: str, limit: int) -> bytes | Refusal:
        data = self._kept.get(path, b"")
        return data if isinstance(data, Refusal) else data[:limit]

    def _tar(self) -> None:
        # Members come one after another, and what is not kept is skipped; a second pass would unpack everything twice.
        with self._opened() as stream, tarfile.open(fileobj=cast(IO[bytes], _Careful(stream)), mode="r:") as archive:
            unpacked = 0
            for count, member in enumerate(archive):
                unpacked += max(0, member.size)
                self._check(count, unpacked)
                path = self._inside(member.name)
                if path is None or member.isdir():
                    continue
                if member.issym():
                    self._nodes[path] = Node("link", target=member.linkname)
                elif member.islnk():
                    target = posixpath.relpath(posixpath.normpath(member.linkname), posixpath.dirname(path) or ".")
                    self._nodes[path] = Node("link", target=target)
                elif not member.isfile():
                    self._nodes[path] = Node("other")
                else:
                    self._nodes[path] = Node("file", size=member.size)
                    content = archive.extractfile(member) if wanted(path) else None
                    if content is not None:
                        self._keep(path, content.read(MAX_BYTES))

    def _opened(self) -> IO[bytes]:
        low = self.file.name.lower()
        unpack: Any = gzip.open if low.endswith("gz") else bz2.open if low.endswith("bz2") else lzma.open
        return cast(IO[bytes], unpack(self.file)) if low.endswith(("gz", "bz2", "xz")) else self.file.open("rb")

    def _zip(self) -> None:
        with zipfile.ZipFile(self.file) as archive:
            for count, member in enumerate(archive.infolist()):
                self._check(count, 0)  # only wanted members are unpacked, each up to a limit
                path = self._inside(member.filename)
                if path is None or member.is_dir():
                    continue
                mode = member.external_attr >> 16
                if stat.S_ISLNK(mode):
                    target = self._member(archive, member, _LONGEST_TARGET)
                    text = "" if isinstance(target, Refusal) else target.decode("utf-8", errors="backslashreplace")
                    self._nodes[path] = Node("link", target=text)
                elif mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
                    self._nodes[path] = Node("other")
                else:
                    self._nodes[path] = Node("file", size=member.file_size)
                    if wanted(path):
                        self._keep(path, self._member(archive, member, MAX_BYTES))

    def _member(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes | Refusal:
        try:
            with archive.open(member) as stream:
                return stream.read(limit)
        except (RuntimeError, NotImplementedError) as error:  # a password, or a method that nobody has
            return Refusal(SkillFault.UNREADABLE, f"cannot be unpacked: {error}")
        except _DAMAGE as error:
            return Refusal(SkillFault.UNREADABLE, f"the archive is damaged here: {error}")

    def _keep(self, path: str, data: bytes | Refusal) -> None:
        if not isinstance(data, Refusal):
            data = data if posixpath.basename(path).lower() == "skill.md" else data[:MAX_LICENCE]
            self._bytes_kept += len(data)
            if self._bytes_kept > self._bounds.kept:
                raise SettingsError(f"{self.file} holds more than {self._bounds.kept:,} bytes of skills: split it")
        self._kept[path] = data

    def _check(self, members: int, unpacked: int) -> None:
        if members >= self._bounds.members:
            raise SettingsError(f"{self.file} has more than {self._bounds.members:,} members: unpack it yourself")
        if unpacked > self._bounds.unpacked:
            raise SettingsError(f"{self.file} unpacks to more than {self._bounds.unpacked:,} bytes: it is not read")

    def _inside(self, name: str) -> str | None:
        """The member's path below the root; None for one that leads out, which is reported where it is a SKILL.md."""
        path = posixpath.normpath(name.replace("\\", "/").encode("utf-8", errors="backslashreplace").decode())
        if posixpath.isabs(path) or path == ".." or path.startswith("../"):
            if posixpath.basename(path).lower() == "skill.md":
                self._outside.append(posixpath.dirname(path))
            return None
        return path


class _Careful:
    """A stream for tarfile, which reads whole headers into memory, however long they say they are."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LONGEST_READ:
            raise tarfile.ReadError("a header claims more bytes than any header has")
        return self._stream.read(size)
