"""Files of the store in a local folder or an object store (fsspec): safe names, whole-or-nothing writes, listings.

Belongs here: how bytes get under a name and which names exist. What the files mean stands in store_format.py,
store_blobs.py and store_tables.py.
"""

import os
import re
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import fsspec
from fsspec.implementations.local import LocalFileSystem

from facet_dagster.errors import InfrastructureError, SettingsError

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST = 180  # characters of a file name; file systems allow 255 bytes


def file_name(name: str) -> str:
    """`name` as a file name: itself where it is safe, else escaped as `~hex`; long names are cut and hashed.

    Escaped names start with a letter, a digit or `~`, so they are never hidden, `..`, or one of the store's own.
    """
    if _SAFE.fullmatch(name):
        escaped = name
    else:
        first = "" if re.match(r"[A-Za-z0-9]", name) else "~"
        escaped = first + re.sub(
            r"[^A-Za-z0-9._-]", lambda m: f"~{m.group().encode(errors='surrogateescape').hex()}~", name
        )
    if len(escaped) <= _LONGEST:
        return escaped
    return f"{escaped[: _LONGEST - 33]}~{sha256(name.encode(errors='surrogateescape')).hexdigest()[:32]}"


class StoreFiles:
    """The root of a store: a local path, or the fsspec URL of an object store, where an object appears whole and can be
    created on condition that there is none. Nothing is created before the first write.
    """

    def __init__(self, root: str) -> None:
        try:
            self.fs, path = fsspec.core.url_to_fs(root, use_listings_cache=False)
        except (ValueError, ImportError) as error:
            raise SettingsError(f"the store {root!r} cannot be opened: {error}") from error
        self._trouble = _trouble()
        self.root = str(path).rstrip("/")
        self.local = isinstance(self.fs, LocalFileSystem)
        if self.local and Path(self.root).exists() and not Path(self.root).is_dir():
            raise SettingsError(f"the store {root!r} is not a folder: set FACET_STORE to a folder or URL")

    def path(self, *parts: str) -> str:
        """Full path of something in the store, as the file system spells it."""
        return "/".join([self.root, *parts])

    def exists(self, path: str) -> bool:
        """Whether the file is there now."""
        try:
            return bool(self.fs.exists(path))
        except self._trouble as error:
            raise InfrastructureError(f"cannot look for {path}: {_reason(error)}") from error

    def read(self, path: str) -> bytes | None:
        """The whole file, or None where there is none."""
        try:
            return Path(path).read_bytes() if self.local else bytes(self.fs.cat_file(path))
        except FileNotFoundError:
            return None
        except self._trouble as error:
            raise InfrastructureError(f"cannot read {path}: {_reason(error)}") from error

    def write(self, path: str, data: bytes) -> bool:
        """Put `data` under `path`, durable and whole; the first writer wins. False where it was there before.

        In an object store the same bytes count as this write: a client that tries again hears of its own object.
        """
        return self._write_local(Path(path), data) if self.local else self._create(path, data)

    def _write_local(self, path: Path, data: bytes) -> bool:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return _write_local(path.with_name(f".{path.name[:40]}.{uuid4().hex}.tmp"), path, data)
        except OSError as error:
            raise InfrastructureError(
                f"cannot write {path}: {_reason(error)}; is the disk full or read-only?"
            ) from error

    def _create(self, path: str, data: bytes) -> bool:
        try:
            self.fs.pipe_file(path, data, mode="create")
            return True
        except self._trouble as error:  # not every endpoint says in the words that its adapter knows that it is taken
            if isinstance(error, FileExistsError) or self.exists(path):
                return self.read(path) == data
            raise InfrastructureError(f"cannot write {path}: {_reason(error)}") from error

    def remove(self, path: str) -> None:
        """Remove a file; one that is gone already is fine (somebody else removed it)."""
        try:
            self.fs.rm_file(path)
        except FileNotFoundError:
            return
        except self._trouble as error:
            raise InfrastructureError(f"cannot remove {path}: {_reason(error)}") from error

    def children(self, path: str) -> list[tuple[str, str]]:
        """Path and type of a folder's entries, by name; none where it is missing. Hidden ones are left out."""
        try:
            entries = _on_disk(path) if self.local else self._in_object_store(path)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except self._trouble as error:
            raise InfrastructureError(f"cannot list {path}: {_reason(error)}") from error
        return sorted(entry for entry in entries if not base_name(entry[0]).startswith("."))

    def _in_object_store(self, path: str) -> list[tuple[str, str]]:
        self.fs.invalidate_cache(path)
        return [(str(entry["name"]), str(entry["type"])) for entry in self.fs.ls(path, detail=True)]

    def folders(self, path: str) -> list[str]:
        """Paths of the folders in a folder."""
        return [name for name, kind in self.children(path) if kind == "directory"]

    def files(self, path: str, suffix: str) -> list[str]:
        """Paths of the files in a folder that end in `suffix`."""
        return [name for name, kind in self.children(path) if kind == "file" and name.endswith(suffix)]


def base_name(path: str) -> str:
    """The last part of a path."""
    return path.rstrip("/").rsplit("/", 1)[-1]


def _on_disk(path: str) -> list[tuple[str, str]]:
    """As fsspec lists, which asks the disk for every single entry once more."""
    with os.scandir(path) as entries:
        return [(entry.path, "directory" if entry.is_dir() else "file") for entry in entries]


def _trouble() -> tuple[type[Exception], ...]:
    """What a file system raises where it fails: S3's client has errors of its own for what it cannot reach."""
    try:
        from botocore.exceptions import BotoCoreError
    except ImportError:
        return (OSError,)
    return OSError, BotoCoreError


def _reason(error: Exception) -> str:
    said = getattr(error, "strerror", None) or error
    return " ".join(str(said).split()) or type(error).__name__


def _write_local(temporary: Path, path: Path, data: bytes) -> bool:
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return _publish(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _publish(temporary: Path, path: Path) -> bool:
    try:
        os.link(temporary, path)  # unlike a rename, it never replaces what another process has just written
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if path.exists():
            return False
        temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name, too, must survive a power cut
    finally:
        os.close(folder)
    return True
