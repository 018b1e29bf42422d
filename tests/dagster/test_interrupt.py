"""An interrupted run gives its containers back: walks are cancelled and awaited before the workshop closes."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dagster as dg
import pytest

from facet_dagster.definitions import CONSTRUCTION, materialise
from facet_dagster.workshop import Workshop
from resources.workshop import Session, WorkshopResource


@pytest.mark.parametrize("owner", ["run", "caller"])
def test_walks_are_cancelled_before_the_workshop_closes(
    instance: dg.DagsterInstance,
    overrides: Mapping[str, object],
    doors: Any,
    monkeypatch: pytest.MonkeyPatch,
    owner: str,
) -> None:
    session = overrides["workshop"]
    assert isinstance(session, Session)
    happened: list[str] = []

    @contextmanager
    def opened_and_closed(settings: object, **kwargs: object) -> Iterator[Workshop]:
        try:
            yield session.workshop
        finally:
            happened.append("closed")

    async def hang(*args: object, **kwargs: object) -> None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)  # giving a container back takes a turn of the loop
            happened.append("given back")

    monkeypatch.setattr("resources.workshop.open_workshop", opened_and_closed)
    monkeypatch.setattr(doors, "construct_seeds", hang)
    workshop = WorkshopResource() if owner == "run" else session
    with pytest.raises(KeyboardInterrupt):
        materialise(CONSTRUCTION, instance=instance, overrides={**overrides, "workshop": workshop})
    assert happened == (["given back", "closed"] if owner == "run" else ["given back"])
    assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.FAILURE]
