"""From a walk over seeds to Dagster events: which cell turns green, what is said on its page, what is missing.

The rule of the colours: the run ends as failed exactly when something selected was not made, and then names it.
"""

from collections.abc import Iterable, Mapping

import dagster as dg

from assets.markdown import fenced, table
from assets.pages import outcome_page, page, rejection_page
from assets.provenance import versions
from assets.streaming import Put
from assets.trouble import shared
from facet_dagster.lineage import trace_task
from facet_dagster.makers import INPUTS
from facet_dagster.ports import Store
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome, Status, Task
from facet_dagster.records.outcome import Component, Rejected


class Recorder:
    """A Watcher that puts one event per finished component and keeps count of what is missing."""

    def __init__(self, put: Put, store: Store, wanted: frozenset[Component], source: Mapping[str, str | None]) -> None:
        self._put = put
        self._source = source  # what a component without inputs is made from
        self._store = store
        self._wanted = wanted
        self._made: dict[str, set[Component]] = {}
        self._outcomes: dict[str, SeedOutcome] = {}

    def started(self, seed: str, component: Component, round: int) -> None:
        """Nothing: Dagster shows planned cells by itself."""

    def finished(self, version: ComponentVersion) -> None:
        """A materialisation where the version can be used, else an observation with the reason."""
        rejected = version.rejected
        if rejected is None:
            self._materialise(version)
        else:
            self._put(
                dg.AssetObservation(
                    version.component.value, partition=version.seed, metadata=rejection_page(version, rejected)
                )
            )

    def ended(self, outcome: SeedOutcome) -> None:
        """Record what was made in earlier runs, and say on the pages what is missing and why."""
        self._outcomes[outcome.seed] = outcome
        for version in self._made_before(outcome):
            self._materialise(version)
        missing = self._missing(outcome.seed)
        if not missing:
            return
        told = {outcome.component or missing[0], missing[-1]}
        for component in sorted(told, key=list(Component).index):
            self._put(dg.AssetObservation(component.value, partition=outcome.seed, metadata=outcome_page(outcome)))

    def failure(self) -> dg.Failure | None:
        """Counts and reasons when anything selected is missing; None when all of it was made."""
        unmade = [outcome for seed, outcome in self._outcomes.items() if self._missing(seed)]
        if not unmade:
            return None
        counts = {status: sum(o.status is status for o in unmade) for status in (Status.REJECTED, Status.PENDING)}
        troubles = [o.evidence.partition(":")[0] for o in unmade if o.status is Status.PENDING and o.component is None]
        rows = (
            (o.seed, o.status, o.component, o.reason, o.rounds, o.evidence.strip().partition("\n")[0]) for o in unmade
        )
        return dg.Failure(
            description=f"{len(unmade)} of {len(self._outcomes)} seeds are not finished: "
            f"{counts[Status.REJECTED]} rejected, {counts[Status.PENDING]} to be tried again; the others are done",
            metadata={
                "rejected": counts[Status.REJECTED],
                "pending": counts[Status.PENDING],
                "done": len(self._outcomes) - len(unmade),
                **shared(troubles, len(self._outcomes)),
                "seeds": table(("seed", "status", "component", "reason", "rounds", "evidence"), rows),
            },
            allow_retries=False,
        )

    def _made_before(self, outcome: SeedOutcome) -> Iterable[ComponentVersion]:
        """Current versions that this run had no need to make.

        They are recorded again, always: Dagster calls a cell failed when its last plan was not followed by a
        materialisation and that run failed, however often it was materialised before. A partial selection that
        did not end well is left as it is: there, what was not made was asked for and is missing.
        """
        missing, accepted = self._missing(outcome.seed), outcome.status is Status.ACCEPTED
        if not missing or (not accepted and self._wanted != frozenset(Component)):
            return
        current: dict[Component, ComponentVersion] = {}
        for version in self._store.rows(ComponentVersion, outcome.seed):
            if not isinstance(version.body, Rejected):
                current[version.component] = version
        for component in missing:
            found = current.get(component)
            if found and found.rejected is None and (accepted or component is not Component.TASK):
                yield found

    def _missing(self, seed: str) -> list[Component]:
        made = self._made.get(seed, set())
        return [component for component in Component if component in self._wanted and component not in made]

    def _materialise(self, version: ComponentVersion) -> None:
        self._made.setdefault(version.seed, set()).add(version.component)
        # Inputs as the graph has them: the reverse scheme makes the solution from the verifier instead.
        inputs = {name.value: version.inputs.get(name) for name in INPUTS[version.component]} or self._source
        tags = versions(version.code_version, version.body.digest(), inputs)
        metadata = {"dagster/partition_row_count": 1, **page(version)}
        if isinstance(version.body, Task):
            tree = "\n".join(trace_task(self._store, version).lines())
            metadata |= {"lineage": dg.MetadataValue.md(fenced(tree))}
        self._put(
            dg.AssetMaterialization(version.component.value, partition=version.seed, metadata=metadata, tags=tags)
        )
