"""The workshop as a Dagster resource: a profile's path in, the opened workshop out, closed when the run ends.

Belongs here: the life of a workshop within one run. Does not belong here: which adapters it holds
(adapters/wiring.py) and any work.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import dagster as dg

from facet_dagster.adapters.wiring import open_workshop
from facet_dagster.settings import Settings
from facet_dagster.workshop import Workshop
from resources.owners import own
from resources.settings import resolve


@dataclass(frozen=True)
class Session:
    """What assets are handed: an opened workshop and the settings it was opened with."""

    settings: Settings
    workshop: Workshop


class WorkshopResource(dg.ConfigurableResource[Session]):
    """Opens the workshop once per run. `profile` is the path of a TOML profile; endpoints and secrets come
    from the environment when the run starts."""

    profile: str = ""

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Session]:
        """Raises SettingsError, EngineUnavailable and what else opening the adapters may raise."""
        own(context.instance, context.run_id)
        settings = resolve(self.profile)
        say = dg.get_dagster_logger().info
        with open_workshop(settings, run_id=context.run_id or "adhoc", progress=say) as workshop:
            yield Session(settings, workshop)
