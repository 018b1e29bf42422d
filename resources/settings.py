"""The settings and the store alone as Dagster resources, for what needs no engine and no model."""

import os
from pathlib import Path

import dagster as dg

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.ports import Store
from facet_dagster.settings import Settings, load
from resources.owners import own


class SettingsResource(dg.ConfigurableResource[Settings]):
    """The resolved settings. `profile` is the path of a TOML profile."""

    profile: str = ""

    def create_resource(self, context: dg.InitResourceContext) -> Settings:
        """Raises SettingsError."""
        own(context.instance, context.run_id)
        return resolve(self.profile)


class StoreResource(dg.ConfigurableResource[Store]):
    """The store that the settings name. `profile` is the path of a TOML profile."""

    profile: str = ""

    def create_resource(self, context: dg.InitResourceContext) -> Store:
        """Raises SettingsError and StoreTooNew."""
        own(context.instance, context.run_id)
        return ParquetStore(resolve(self.profile).store)


def resolve(profile: str) -> Settings:
    """A profile (or none) and the environment as it is now. Raises SettingsError."""
    return load(os.environ, Path(profile) if profile else None)
