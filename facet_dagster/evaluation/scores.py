"""Trials of an evaluation to scores: per task, per model, and pairs of models. Pure: records in, records out."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean

from facet_dagster.records.evaluation import (
    Comparison,
    Evaluation,
    EvaluationTrial,
    Interval,
    ModelScore,
    PassAtK,
    TaskScore,
)
from facet_dagster.statistics import bootstrap, pass_at_k, sign_test, wilson

ALIKE = 1e-9  # pass rates this close are the same


def evaluation_of(
    directory: str, models: Sequence[str], attempts: int, trials: Iterable[EvaluationTrial]
) -> Evaluation:
    """Score the trials of these models; per task and attempt the graded trial counts, else the latest."""
    mine: dict[str, list[EvaluationTrial]] = defaultdict(list)
    for trial in trials:
        mine[trial.model].append(trial)
    scored = tuple(model_score(model, attempts, mine[model]) for model in models)
    pairs = combinations(scored, 2)
    return Evaluation(
        directory=directory,
        attempts=attempts,
        models=scored,
        comparisons=tuple(compared(one, other) for one, other in pairs),
    )


def model_score(model: str, attempts: int, trials: Iterable[EvaluationTrial]) -> ModelScore:
    """One model over the tasks that its trials are of, the first `attempts` of each."""
    by_task = _counting(attempts, trials)
    chosen = [trial for of_task in by_task.values() for trial in of_task]
    scores = tuple(_task_score(of_task) for _, of_task in sorted(by_task.items()))
    rates = [score.rate for score in scores if score.rate is not None]
    rewards = [score.reward for score in scores if score.reward is not None]
    return ModelScore(
        model=model,
        recorded=any(trial.recorded for trial in chosen),
        tasks=scores,
        pass_rate=_over_tasks(rates),
        mean_reward=fmean(rewards) if rewards else None,
        pass_at=tuple(found for k in range(1, attempts + 1) if (found := _pass_at(k, scores))),
        graded=sum(score.graded for score in scores),
        solved=sum(score.solved for score in scores),
        errors=sum(len(score.errors) for score in scores),
        turns=sum(len(trial.turns) for trial in chosen),
        tokens=sum(trial.tokens for trial in chosen),
        cost_usd=sum(trial.cost_usd for trial in chosen),
        seconds=sum(trial.seconds for trial in chosen),
    )


def compared(one: ModelScore, other: ModelScore) -> Comparison:
    """The models on the tasks, in the same version, that both have grades of."""
    first, second = _rates(one), _rates(other)
    differences = [second[task] - first[task] for task in sorted(first.keys() & second.keys())]
    better, worse = sum(d > ALIKE for d in differences), sum(d < -ALIKE for d in differences)
    difference = None
    if differences:
        low, high = bootstrap(differences)
        difference = Interval(value=fmean(differences), low=low, high=high)
    return Comparison(
        model=one.model,
        other=other.model,
        tasks=len(differences),
        better=better,
        worse=worse,
        same=len(differences) - better - worse,
        difference=difference,
        p=sign_test(better, worse),
    )


def _counting(attempts: int, trials: Iterable[EvaluationTrial]) -> Mapping[tuple[str, str], list[EvaluationTrial]]:
    """One trial per task and attempt."""
    latest: dict[tuple[str, str, int], EvaluationTrial] = {}
    for trial in sorted(trials, key=lambda each: (each.reward is not None, each.started_at)):
        if trial.attempt < attempts:
            latest[trial.task, trial.bundle, trial.attempt] = trial
    by_task: dict[tuple[str, str], list[EvaluationTrial]] = defaultdict(list)
    for (task, bundle, _), trial in sorted(latest.items()):
        by_task[task, bundle].append(trial)
    return by_task


def _task_score(trials: Sequence[EvaluationTrial]) -> TaskScore:
    rewards = [trial.reward for trial in trials if trial.reward is not None]
    return TaskScore(
        task=trials[0].task,
        bundle=trials[0].bundle,
        graded=len(rewards),
        solved=sum(trial.success for trial in trials),
        reward=fmean(rewards) if rewards else None,
        errors=tuple(trial.error for trial in trials if trial.reward is None),
    )


def _rates(score: ModelScore) -> dict[tuple[str, str], float]:
    return {(task.task, task.bundle): task.rate for task in score.tasks if task.rate is not None}


def _over_tasks(values: Sequence[float]) -> Interval | None:
    if not values:
        return None
    mean = min(1.0, max(0.0, fmean(values)))
    low, high = wilson(mean, len(values))
    return Interval(value=mean, low=low, high=high)


def _pass_at(k: int, scores: Sequence[TaskScore]) -> PassAtK | None:
    values = [pass_at_k(score.graded, score.solved, k) for score in scores if score.graded >= k]
    estimate = _over_tasks(values)
    return PassAtK(k=k, tasks=len(values), estimate=estimate) if estimate else None
