"""Evaluations: trials of models on a folder of tasks, and what they come to."""

from typing import ClassVar

from facet_dagster.records.base import Record, digest_of
from facet_dagster.records.rollout import StopReason, Trial


class EvaluationTrial(Trial):
    """One attempt of one model on one task of a folder, apart from the teacher's rollouts.

    `seed` names task, version, model and terms, so that its calls are nobody else's; `bundle` is the digest of all that
    the task consists of and of the terms of the trial. Without a reward there was trouble: it is made again.
    """

    table: ClassVar[str] = "evaluation_trials"

    @property
    def key(self) -> str:
        address = f"{self.bundle[:16]}-{digest_of(self.model)[:8]}-{self.attempt:03d}"
        if self.reward is not None:
            return address
        return f"{address}-{self.run_id}-{self.started_at:%Y%m%d%H%M%S%f}"

    @property
    def error(self) -> str:
        """Why there is no reward, in one line; empty where there is one."""
        if self.reward is not None:
            return ""
        said = self.trouble or (self.grade.trouble if self.grade is not None else None) or ""
        return " ".join(f"{self.stop.value}: {said}".split()) if said else self.stop.value

    @property
    def by_model(self) -> bool:
        """Whether trouble of the endpoint, not of task or engine, ended it."""
        return self.stop is StopReason.MODEL_TROUBLE


class Interval(Record):
    """An estimate with its interval of 95 %."""

    value: float
    low: float
    high: float


class TaskScore(Record):
    """A model on a task: graded attempts, complete successes, mean reward, and what attempts without a grade met."""

    task: str
    bundle: str
    graded: int
    solved: int
    reward: float | None
    errors: tuple[str, ...] = ()

    @property
    def rate(self) -> float | None:
        """Share of the graded attempts that solved the task."""
        return self.solved / self.graded if self.graded else None


class PassAtK(Record):
    """pass@k over the tasks with at least k graded attempts."""

    k: int
    tasks: int
    estimate: Interval


class ModelScore(Record):
    """A model over the tasks. `pass_rate` is the mean over the tasks with a grade; None where there is none.

    `tokens`, `cost_usd` (US dollars) and `turns` are of all attempts that count, errors included.
    """

    model: str
    recorded: bool
    tasks: tuple[TaskScore, ...]
    pass_rate: Interval | None
    mean_reward: float | None
    pass_at: tuple[PassAtK, ...]
    graded: int
    solved: int
    errors: int
    turns: int
    tokens: int
    cost_usd: float
    seconds: float

    @property
    def graded_tasks(self) -> int:
        """Tasks that the rates are over."""
        return sum(score.graded > 0 for score in self.tasks)


class Comparison(Record):
    """Two models on the tasks that both have grades of. `difference` is that of their mean pass rates, `other` minus
    `model`; `p` is of the exact two-sided sign test over the tasks on which they differ."""

    model: str
    other: str
    tasks: int
    better: int  # tasks on which `other` does better
    worse: int
    same: int
    difference: Interval | None
    p: float


class Evaluation(Record):
    """The scores of models on one folder of tasks, in the order asked for, and each pair of them compared."""

    directory: str
    attempts: int
    models: tuple[ModelScore, ...]
    comparisons: tuple[Comparison, ...]
