"""Construction: the seven components of a task bundle, one cell per component and scenario seed.

One step walks all seeds of a run side by side, so that a seed that fails never holds up another. What a
person selects by hand is made again and nothing else; a whole selection is a walk with repair rounds.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.partitions import BATCHES, scenario_seed
from assets.provenance import pointed
from assets.recorder import Recorder
from assets.streaming import Event, Put, stream
from facet_dagster.makers import INPUTS
from facet_dagster.records.outcome import Component
from facet_dagster.workshop import CODE_VERSION
from resources.doors import Doors
from resources.watching import Onlooker, Watchers
from resources.workshop import Session

_ABOUT = {
    Component.SCENARIO: (
        "What the task is about, reconstructed from the seed's skills: goal, states, requirements.",
        "openai",
    ),
    Component.ENVIRONMENT: (
        "Dockerfile and files, built and probed, with the state e0 that the container really has.",
        "docker",
    ),
    Component.INSTRUCTION: ("What the agent is told, written from e0.", "openai"),
    Component.SOLUTION: ("solve.sh and what its execution changed (e0 to eT).", "docker"),
    Component.VERIFIER: ("test_outputs.py, written from e0 and eT; each test cites its requirements.", "pytest"),
    Component.VALIDATION: (
        "The gates: untouched container scores 0, solution scores 1, repeatedly. Made whatever it says.",
        "docker",
    ),
    Component.TASK: ("The accepted bundle, exported as a Harbor task. Missing where the seed was rejected.", "harbor"),
}


def _spec(component: Component) -> dg.AssetSpec:
    about, kind = _ABOUT[component]
    return dg.AssetSpec(
        component.value,
        deps=[made_from.value for made_from in INPUTS[component]] or ["scenario_seeds"],
        description=about,
        skippable=True,
        group_name="construction",
        code_version=CODE_VERSION,
        kinds={kind},
    )


@dg.multi_asset(
    specs=[_spec(component) for component in Component],
    partitions_def=scenario_seed,
    backfill_policy=BATCHES,
    can_subset=True,
)
def construction(
    context: dg.AssetExecutionContext,
    workshop: dg.ResourceParam[Session],
    doors: dg.ResourceParam[Doors],
    onlooker: dg.ResourceParam[Onlooker],
) -> Iterator[Event]:
    """Hand the run's seeds to the pipeline and record what comes out of it."""
    wanted = frozenset(Component(key.path[-1]) for key in context.selected_asset_keys)
    yield from walk_seeds(context.partition_keys, wanted, context.instance, workshop, doors, onlooker)


def walk_seeds(
    seed_ids: Sequence[str],
    wanted: frozenset[Component],
    instance: dg.DagsterInstance,
    session: Session,
    doors: Doors,
    onlooker: Onlooker,
) -> Iterator[Event]:
    """Walk seeds side by side and yield what is made. Raises dg.Failure where something wanted was not."""
    bench = session.workshop
    seeds = doors.find_seeds(bench, seed_ids)
    selection = None if wanted == frozenset(Component) else wanted
    planned = instance.get_latest_materialization_event(dg.AssetKey("scenario_seeds"))
    plan = planned.tags.get("dagster/data_version") if planned and planned.tags else None

    async def walk(put: Put) -> dg.Failure | None:
        recorder = Recorder(put, bench.store, wanted, {"scenario_seeds": plan})
        await doors.construct_seeds(seeds, bench, Watchers([recorder, onlooker]), selection=selection)
        return recorder.failure()

    failure = yield from pointed(stream(walk), instance)
    if failure is not None:
        raise failure
