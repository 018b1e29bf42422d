"""The composition root: everything that Dagster is shown, and the same graph run without its user interface.

The only module of the domain package that knows Dagster. Does not belong here: any work, any asset's body.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from assets import (
    construction,
    datasets,
    evaluation,
    maintenance,
    pruning,
    reports,
    rollouts,
    seed_lists,
    seeds,
    skills,
)
from assets.catalogue import PAID, catalogued
from assets.partitions import scenario_seed
from assets.trouble import root_of
from facet_dagster import errors, evaluations, pipeline, results
from facet_dagster.records.outcome import Component
from resources.event_log import instance_of
from resources.owners import end_lost_runs, owner
from resources.settings import SettingsResource, StoreResource
from resources.watching import NoOnlooker
from resources.workshop import Session as Session  # callers build one for `overrides`
from resources.workshop import WorkshopResource
from sensors.budget import budget_watch
from sensors.compaction import hourly_compaction
from sensors.drift import nightly_drift
from sensors.inbox import skill_inbox
from sensors.leftovers import hourly_sweep
from sensors.pruning import daily_pruning
from sensors.seeds import unregistered_seeds
from sensors.work import new_seeds, repairable_seeds, untried_tasks

# The graph in the order in which it is run; the members of one group can be made in one run.
SKILLS = ("skills", "skill_rejects")
SEEDING = ("scenario_hypotheses", "scenario_seeds")
CONSTRUCTION = tuple(component.value for component in Component)
ROLLOUTS = ("trajectories",)
DATASETS = ("task_dataset", "sft_dataset")
EVALUATION = ("evaluation",)  # asked for: its models cost money, so `facet run` leaves it out
REPORTS = ("yield_report", "cost_report", "scheme_report", "behaviour_report")

Instance = dg.DagsterInstance

_LISTED = (seed_lists.repair_seeds, seed_lists.roll_out_listed_seeds)
_HOUSEKEEPING = (
    maintenance.sweep_leftovers,
    maintenance.compact_store,
    maintenance.revalidate_tasks,
    maintenance.hold_queue,
    pruning.prune_run_logs,
)
_PARTITIONED = frozenset((*CONSTRUCTION, *ROLLOUTS))
# Dagster keeps all events of a run in memory, pages included, until it ends: about 0.2 MB per seed.
SEEDS_PER_RUN = 250
_RANGE_START, _RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"

# Written where an instance has no configuration yet. Steps print nothing: what they say is metadata, and
# capturing stdout would take the terminal away from a progress display in the same process.
_INSTANCE = """\
telemetry:
  enabled: false
nux:
  enabled: false
run_monitoring:
  enabled: false
concurrency:
  runs:
    max_concurrent_runs: 2
retention:
  sensor:
    purge_after_days: {skipped: 2, failure: 14, success: 30}
  schedule:
    purge_after_days: {skipped: 2, failure: 14, success: 30}
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
"""


def build_defs(overrides: Mapping[str, object] | None = None) -> dg.Definitions:
    """The whole graph. `overrides` replaces resources by key: workshop (a Session), settings, store, onlooker, and the
    front doors: doors, results, examiner.

    A Session put there stays open: who opened it closes it.
    """
    resources: dict[str, object] = {
        "workshop": WorkshopResource(),
        "settings": SettingsResource(),
        "store": StoreResource(),
        "doors": pipeline,
        "results": results,
        "examiner": evaluations,
        "onlooker": NoOnlooker(),
        **(overrides or {}),
    }
    modules = (skills, seeds, construction, rollouts, datasets, evaluation, reports)
    return dg.Definitions(
        assets=dg.map_asset_specs(catalogued, dg.load_assets_from_modules(modules)),  # type: ignore[arg-type]  # what is loaded is wider than what is mapped
        jobs=[*_jobs(), *_LISTED, *_HOUSEKEEPING],
        sensors=[unregistered_seeds, skill_inbox, new_seeds, repairable_seeds, untried_tasks, budget_watch],
        schedules=[hourly_sweep, hourly_compaction, nightly_drift, daily_pruning],
        resources=resources,
        executor=dg.in_process_executor,
    )


def _jobs() -> Iterator[dg.JobDefinition]:
    for name, assets, description in (
        ("read_skills", SKILLS, "Read the source of skills and the inbox."),
        ("plan_seeds", SEEDING, "Make hypotheses and scenario seeds from the skills."),
        ("construct_all", CONSTRUCTION, "Walk scenario seeds to their end, repair rounds included."),
        ("rollouts", ROLLOUTS, "Let the teacher attempt the accepted tasks."),
        ("datasets", DATASETS, "Write the task dataset and the SFT set from what is in the store."),
        ("evaluate", EVALUATION, "Score the models that the settings name on a folder of tasks."),
        ("reports", REPORTS, "Draw the yield and cost reports."),
    ):
        tags = {"facet/cost": "model"} if PAID & set(assets) else {}
        yield dg.define_asset_job(  # type: ignore[misc]  # declared as an unresolved job
            name, selection=dg.AssetSelection.assets(*assets), description=description, tags=tags
        )


def open_instance(home: Path) -> dg.DagsterInstance:
    """The instance whose files stand below `home`, made where it is missing; a context manager.

    Runs that a killed process of this host left as running are ended.
    Sets no environment variable: the web server is told the same folder as DAGSTER_HOME by who starts it.
    """
    configuration = home / "dagster.yaml"
    try:
        home.mkdir(parents=True, exist_ok=True)
        if not configuration.exists():
            configuration.write_text(_INSTANCE, encoding="utf-8")
    except OSError as error:
        raise errors.SettingsError(
            f"{home} cannot be Dagster's home ({error.strerror}): set FACET_DAGSTER_HOME"
        ) from error
    instance = instance_of(home.resolve())
    end_lost_runs(instance)
    return instance


def register(seeds: Sequence[str], instance: dg.DagsterInstance) -> None:
    """Make seeds that the store knows into partitions of an instance that may not know them yet."""
    instance.add_dynamic_partitions(scenario_seed.name or "", list(seeds))


@dataclass(frozen=True)
class StepFailure:
    """Why a run did not succeed. `on_purpose`: seeds were not finished, and all others are done.

    `kind` is the name of the exception at the root (`EngineUnavailable`), `message` its text.
    """

    on_purpose: bool
    kind: str
    message: str

    @property
    def exit_code(self) -> int:
        """Exit code of the trouble (errors.py); 0 where seeds were merely not finished."""
        return 0 if self.on_purpose else errors.trouble_named(self.kind, errors.FacetError).exit_code


@dataclass(frozen=True)
class Materialised:
    """What came of a headless materialisation: the runs, and what did not succeed in them."""

    run_ids: tuple[str, ...]
    failures: tuple[StepFailure, ...]

    @property
    def success(self) -> bool:
        return not self.failures

    @property
    def trouble(self) -> StepFailure | None:
        """The first failure that is not merely unfinished seeds."""
        return next((failure for failure in self.failures if not failure.on_purpose), None)


def materialise(
    names: Sequence[str],
    *,
    instance: dg.DagsterInstance,
    seeds: Sequence[str] | None = None,
    overrides: Mapping[str, object] | None = None,
    tags: Mapping[str, str] | None = None,
) -> Materialised:
    """Materialise assets in this process, as the user interface would: same assets, same instance, same events.

    `names` are all partitioned by seed or all not. `seeds` (None: every registered one) become one run per
    contiguous range of at most SEEDS_PER_RUN. Raises SettingsError for an unknown asset or an unregistered seed,
    KeyboardInterrupt when a signal ended the run, never for a run that failed.
    """
    known = {*SKILLS, *SEEDING, *DATASETS, *EVALUATION, *REPORTS, *_PARTITIONED}
    if unknown := set(names) - known:
        raise errors.SettingsError(f"unknown asset {sorted(unknown)[0]!r}: there are {', '.join(sorted(known))}")
    partitioned = _PARTITIONED & set(names)
    if partitioned and len(partitioned) < len(set(names)):
        raise errors.SettingsError("assets per seed and assets of all seeds cannot be made in one go: ask for one kind")
    job = build_defs(overrides).resolve_implicit_global_asset_job_def()
    run_ids: list[str] = []
    failures: list[StepFailure] = []
    for first, last in _ranges(instance, seeds) if partitioned else [(None, None)]:
        run = job.execute_in_process(
            asset_selection=[dg.AssetKey(name) for name in names],
            instance=instance,
            partition_key=first if first == last else None,
            tags={**(tags or {}), **owner(), **_range_tags(first, last)},
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        run_ids.append(run.run_id)
        failures += _failures(run)
        if any(failure.kind == dg.DagsterExecutionInterruptedError.__name__ for failure in failures):
            raise KeyboardInterrupt
    return Materialised(run_ids=tuple(run_ids), failures=tuple(failures))


def _ranges(instance: dg.DagsterInstance, seeds: Sequence[str] | None) -> list[tuple[str, str]]:
    """First and last key of each contiguous stretch, cut to length, in the order in which the seeds were registered."""
    registered = list(instance.get_dynamic_partitions(scenario_seed.name or ""))
    wanted = set(registered if seeds is None else seeds)
    if unknown := wanted - set(registered):
        raise errors.SettingsError(f"seed {sorted(unknown)[0]!r} is not a partition: make scenario_seeds first")
    stretches: list[list[str]] = []
    previous_wanted = False
    for key in registered:
        if key in wanted:
            if not previous_wanted or len(stretches[-1]) == SEEDS_PER_RUN:
                stretches.append([])
            stretches[-1].append(key)
        previous_wanted = key in wanted
    return [(stretch[0], stretch[-1]) for stretch in stretches]


def _range_tags(first: str | None, last: str | None) -> dict[str, str]:
    return {_RANGE_START: first, _RANGE_END: last} if first and last and first != last else {}


def _failures(result: dg.ExecuteInProcessResult) -> Iterator[StepFailure]:
    if result.success:
        return
    steps = [event.step_failure_data for event in result.all_events if event.is_step_failure]
    for data in steps:
        meant = data.user_failure_data
        if meant is not None:
            yield StepFailure(on_purpose=True, kind="Failure", message=meant.description or "")
        else:
            yield _root(data.error)
    if not steps:
        ends = [event.job_failure_data for event in result.all_events if event.is_job_failure]
        yield _root(next((end.error for end in ends if end.error), None))


def _root(error: object) -> StepFailure:
    error = root_of(error)
    message = str(getattr(error, "message", "the run ended without saying why")).strip()
    kind = str(getattr(error, "cls_name", None) or "FacetError")
    _, named, text = message.partition(f"{kind}: ")  # "module.Kind: text"
    return StepFailure(on_purpose=False, kind=kind, message=text if named else message)


defs = build_defs()
