"""Engines that a run finds at its start: those that fail are left out, and said to be."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from facet_dagster.adapters import wiring
from facet_dagster.adapters.engine_patience import PatientEngine
from facet_dagster.errors import EngineUnavailable, InfrastructureError
from facet_dagster.settings import Settings

TROUBLE = {
    "tcp://off": EngineUnavailable("no container engine answers"),
    "tcp://full": InfrastructureError("cannot build the base image"),
}


@pytest.fixture(autouse=True)
def _engines(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def open_engine(*_: object, host: str | None, patient: bool = True, **__: object) -> Iterator[wiring.Engine]:
        if host in TROUBLE:
            raise TROUBLE[host]
        stand_ins = {"waits for": str(host)} if patient else {}
        yield wiring.Engine(builder=Mock(), sandbox=Mock(), stand_ins=stand_ins, cpus=2.0, client=Mock())

    monkeypatch.setattr(wiring, "open_engine", open_engine)


def opened(hosts: tuple[str, ...], tmp_path: Path) -> list[str]:
    said: list[str] = []
    settings = Settings(store=str(tmp_path / "store"), out=tmp_path / "out", docker_hosts=hosts)
    with wiring._open_engines(settings, "run", said.append):
        return said


def test_an_engine_that_fails_at_the_start_is_left_out(tmp_path: Path) -> None:
    assert opened(("tcp://off", "tcp://well", "tcp://full"), tmp_path) == [
        "the engine tcp://off is left out: no container engine answers",
        "the engine tcp://full is left out: cannot build the base image",
    ]


def test_where_all_fail_there_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="tcp://off, tcp://full"):
        opened(("tcp://off", "tcp://full"), tmp_path)


@pytest.mark.parametrize("hosts", [(), ("tcp://well",), ("tcp://well", "tcp://well")])
def test_a_single_engine_is_waited_for_and_no_pool_gives_it_up(hosts: tuple[str, ...], tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path / "store"), out=tmp_path / "out", docker_hosts=hosts)
    with wiring._open_engines(settings, "run", print) as engine:
        assert isinstance(engine, wiring.Engine)
        assert engine.stand_ins == {"waits for": hosts[0] if hosts else "None"}


def test_the_last_of_several_is_waited_for(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path / "store"), out=tmp_path / "out", docker_hosts=("tcp://a", "tcp://b"))
    with wiring._open_engines(settings, "run", print) as engines:
        assert isinstance(engines.builder, PatientEngine) and engines.builder is engines.sandbox
