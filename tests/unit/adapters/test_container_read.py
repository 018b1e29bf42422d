"""A file of a container that somebody cuts while the engine packs it: read again, never trouble of the engine."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.adapters.docker_calls import EngineCalls
from facet_dagster.adapters.docker_container import DockerContainer
from facet_dagster.adapters.docker_files import Cut, first_file, pack
from facet_dagster.records.container import FileEntry, Limits

CONTENT = b"0123456789" * 300
WHOLE = pack([FileEntry.of("/app/file", CONTENT)])


class Api:
    """An engine that gives these archives, one after the other, and then the last for ever."""

    def __init__(self, *archives: bytes) -> None:
        self._archives = list(archives)
        self.asked = 0

    def get_archive(self, *_: object, **__: object) -> tuple[Any, dict[str, int]]:
        self.asked += 1
        data = self._archives.pop(0) if len(self._archives) > 1 else self._archives[0]

        def chunks() -> Iterator[bytes]:
            yield data

        return chunks(), {"mode": 0o644}


async def read(api: Api) -> bytes | None:
    container = DockerContainer(api, EngineCalls(), "c", Limits())  # type: ignore[arg-type]  # a fake of the API
    return await container.read("/app/file", max_bytes=100_000)


async def test_it_is_read_again() -> None:
    api = Api(WHOLE[:700], WHOLE[:1_000], WHOLE)
    assert (await read(api), api.asked) == (CONTENT, 3)


@pytest.mark.parametrize("archive", [b"", WHOLE[:700]])
async def test_what_never_holds_still_is_empty(archive: bytes) -> None:
    assert await read(Api(archive)) == b""


@given(st.integers(min_value=0, max_value=len(WHOLE)))
def test_an_archive_is_whole_or_cut(length: int) -> None:
    try:
        assert first_file([WHOLE[:length]], 100_000) == CONTENT
    except Cut:
        assert length < 512 + len(CONTENT)
