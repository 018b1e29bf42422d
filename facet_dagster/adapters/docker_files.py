"""Tar archives in both directions: packing file entries, and taking one regular file out of a stream."""

import io
import tarfile
import time
from collections.abc import Iterable, Iterator, Sequence

from facet_dagster.records.container import AGENT_USER, FileEntry

OWNER_IDS = {"root": 0, AGENT_USER: 1000}

# Go's os.FileMode: any of these bits means that it is not a regular file (dir, link, device, pipe, socket, …).
_GO_MODE_TYPE = (1 << 31) | (1 << 27) | (1 << 26) | (1 << 25) | (1 << 24) | (1 << 21) | (1 << 19)


def pack(files: Sequence[FileEntry], *, owner: str = "root", directories: Sequence[str] = ()) -> bytes:
    """A tar archive of `directories` (mode 0755, parents first) and files; paths lose their leading slash."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in directories:
            archive.addfile(_member(path, owner, 0o755, tarfile.DIRTYPE))
        for file in files:
            data = file.data()
            member = _member(file.path, owner, file.mode, tarfile.REGTYPE)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _member(path: str, owner: str, mode: int, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.type, member.mode, member.mtime = kind, mode, int(time.time())
    member.uid = member.gid = OWNER_IDS[owner]
    return member


def is_regular(go_mode: int) -> bool:
    """Whether the engine's file mode is that of a regular file."""
    return not go_mode & _GO_MODE_TYPE


class Cut(Exception):
    """An archive that ends before what it announced: the file got shorter, or went, while it was packed."""


def first_file(chunks: Iterable[bytes], max_bytes: int) -> bytes | None:
    """The first `max_bytes` of the first regular file of a tar stream; no more of it is read. Raises Cut."""
    try:
        with tarfile.open(fileobj=_Reader(iter(chunks)), mode="r|") as archive:
            member = archive.next()
            content = archive.extractfile(member) if member is not None and member.isreg() else None
            return content.read(max_bytes) if content is not None else None
    except tarfile.ReadError as error:
        raise Cut from error


class _Reader(io.RawIOBase):
    """An iterator of chunks as the file object that tarfile reads from."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._rest) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._rest += chunk
        end = len(self._rest) if size < 0 else size
        data, self._rest = self._rest[:end], self._rest[end:]
        return data
