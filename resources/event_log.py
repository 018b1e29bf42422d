"""Dagster's own event log on SQLite, with its connections kept: an event costs a third of what it costs otherwise.

Dagster makes a new SQLAlchemy engine for every transaction, which compiles every statement anew, and closes the file
after it, which merges SQLite's write-ahead log each time. Here both stay, one per file. The files are the same, so that
the web server and its runs go on with Dagster's own class. Does not belong here: anything about what is logged.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.schema import AssetKeyTable
from dagster._core.storage.sqlite import create_db_conn_string
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import StaticPool

KEPT = 8  # files: the index, and those of the latest runs
BUSY_S = 60.0


def instance_of(home: Path) -> dg.DagsterInstance:
    """The instance of a home with a dagster.yaml; its event log is kept as here where it is one on SQLite."""
    ref = InstanceRef.from_dir(str(home))
    log = ref.event_storage_data
    if log is not None and log.class_name == SqliteEventLogStorage.__name__:
        ours = {"module": __name__, "class": KeptEngines.__name__, "config": yaml.safe_load(log.config_yaml)}
        ref = InstanceRef.from_dir(str(home), overrides={"event_log_storage": ours})
    return dg.DagsterInstance.from_ref(ref)


class KeptEngines(SqliteEventLogStorage):
    """Behaves as its parent in everything but the price."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._there: set[str] = set()  # tables and columns, which stay once they are there
        super().__init__(base_dir, inst_data)

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> "KeptEngines":
        """As Dagster makes it from dagster.yaml."""
        return cls(inst_data=inst_data, **config_value)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engine = self._engine(shard)
            with engine.connect() as connection, connection.begin():
                yield connection

    def _engine(self, shard: str) -> Engine:
        engine = self._engines.pop(shard, None)
        if engine is None:
            place = create_db_conn_string(self._base_dir, shard)
            # One connection for all threads: `_db_lock` lets them have it one by one.
            options = {"timeout": BUSY_S, "check_same_thread": False}
            engine = create_engine(place, poolclass=StaticPool, connect_args=options)
            event.listen(engine, "connect", _without_waiting)
        if shard not in self._initialized_dbs:
            self._initdb(engine)
            self._initialized_dbs.add(shard)
        self._engines[shard] = engine
        while len(self._engines) > KEPT:
            self._engines.popitem(last=False)[1].dispose()
        return engine

    def has_table(self, table_name: str) -> bool:
        """As the parent says, which looks at the file for every event with tags."""
        if table_name not in self._there and super().has_table(table_name):
            self._there.add(table_name)
        return table_name in self._there

    def _has_asset_key_col_on_connection(self, conn: Connection, column_name: str) -> bool:
        """As the parent says, which reads the table's columns for every event of an asset."""
        name = f"{AssetKeyTable.name}.{column_name}"
        if name not in self._there and super()._has_asset_key_col_on_connection(conn, column_name):
            self._there.add(name)
        return name in self._there

    def dispose(self) -> None:
        """Close the files."""
        for engine in self._engines.values():
            engine.dispose()
        self._engines.clear()
        super().dispose()


def _without_waiting(connection: Any, _record: object) -> None:
    """A killed process loses nothing; a power cut may lose the last events, which are told from the store again."""
    connection.execute("PRAGMA synchronous=NORMAL")
