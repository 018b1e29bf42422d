"""Front door of evaluations, for the command line and the Dagster asset: settings in, scores out.

Opens the engine and the models itself, since an evaluation needs no workshop. What is done: evaluation/.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.wiring import open_engine, open_models
from facet_dagster.audit.load import load_folder
from facet_dagster.errors import SettingsError
from facet_dagster.evaluation.attempt import Examinee
from facet_dagster.evaluation.run import Hall, Invigilator, evaluate
from facet_dagster.evaluation.scores import evaluation_of
from facet_dagster.records.evaluation import Evaluation, EvaluationTrial
from facet_dagster.settings import Models, Settings


def tasks_of(settings: Settings) -> Path:
    """The folder of tasks: the one that is set, else that of the exported tasks."""
    return settings.evaluation.tasks or settings.out / "tasks"


def models_of(settings: Settings) -> tuple[str, ...]:
    """The models that are scored, each once, in the order given. Raises SettingsError where none is named."""
    named = settings.evaluation.models or (settings.models.teacher,)
    if not all(named) or (settings.models.base_url and named == (Models().teacher,)):
        raise SettingsError("no model is named: use --model, FACET_EVALUATE_MODELS or FACET_MODEL_TEACHER")
    return tuple(dict.fromkeys(named))


def evaluate_folder(
    settings: Settings,
    *,
    run_id: str,
    invigilator: Invigilator,
    progress: Callable[[str], None],
    only: Sequence[str] = (),
) -> Evaluation:
    """Make the attempts that are missing, and score all. Raises SettingsError, EngineUnavailable, and as evaluate.

    What was made until then is in the store in any case, and the same call goes on with it.
    """
    terms, models = settings.evaluation, models_of(settings)
    tasks = load_folder(tasks_of(settings), only)
    store = ParquetStore(settings.store)
    asked = open_models(settings, models, store, run_id)
    with open_engine(run_id, progress, in_flight=settings.rollouts.in_flight) as engine:
        hall = Hall(
            builder=engine.builder,
            sandbox=engine.sandbox,
            store=store,
            examinees=[Examinee(name, each.model, each.ledger, each.recorded) for name, each in asked.items()],
            run_id=run_id,
            journals=settings.out / "open-evaluations",
            stand_ins=engine.stand_ins,
            cpus_max=engine.cpus,
        )
        trials = asyncio.run(
            evaluate(
                tasks,
                hall,
                attempts=terms.attempts,
                rollouts=settings.rollouts,
                network=terms.network,
                invigilator=invigilator,
            )
        )
    return scored(settings, trials)


def scored(settings: Settings, trials: Sequence[EvaluationTrial]) -> Evaluation:
    """The scores of these trials of an evaluation under these settings."""
    return evaluation_of(str(tasks_of(settings)), models_of(settings), settings.evaluation.attempts, trials)


def compare_stored(settings: Settings, models: Sequence[str]) -> Evaluation:
    """Models as the store knows them, on all tasks or on those of the folder that is set. Needs no engine, no model.

    Raises SettingsError for a model without a trial there.
    """
    trials = ParquetStore(settings.store).rows(EvaluationTrial)
    folder = settings.evaluation.tasks
    if folder is not None:
        names = {task.name for task in load_folder(folder)}
        trials = [trial for trial in trials if trial.task in names]
    known = sorted({trial.model for trial in trials})
    for model in models:
        if model not in known:
            raise SettingsError(f"no trial of {model!r} in {settings.store}: there are {', '.join(known) or 'none'}")
    attempts = max(trial.attempt for trial in trials) + 1
    return evaluation_of(str(folder or settings.store), tuple(dict.fromkeys(models)), attempts, trials)
