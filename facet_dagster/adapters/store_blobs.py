"""Payload blobs of the store, addressed by their content: `blobs/<aa>/<sha256>`."""

import re

from facet_dagster.adapters.store_files import StoreFiles
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.base import digest_of

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Blobs:
    """Bytes under the digest of themselves; equal bytes are kept once."""

    def __init__(self, files: StoreFiles) -> None:
        self._files = files

    def put(self, data: bytes) -> str:
        """Keep `data`; its SHA-256 is the address."""
        digest = digest_of(data)
        path = self._path(digest)
        if not self._files.exists(path):
            self._files.write(path, data)
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes at an address. Raises InfrastructureError where they are missing or damaged."""
        if not _DIGEST.fullmatch(digest):
            raise ValueError(f"{digest!r} is no SHA-256 digest")
        data = self._files.read(self._path(digest))
        if data is None:
            raise InfrastructureError(f"the store {self._files.root} has lost the blob {digest}")
        if digest_of(data) != digest:
            raise InfrastructureError(f"the blob {digest} in the store {self._files.root} is damaged")
        return data

    def _path(self, digest: str) -> str:
        return self._files.path("blobs", digest[:2], digest)
