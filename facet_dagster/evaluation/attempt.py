"""One attempt of one model on one task of a folder: the rollouts' trial in the task's own image, kept as it goes."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from facet_dagster.attempts import kept
from facet_dagster.evaluation.place import PlacedSandbox
from facet_dagster.ports import ChatModel, Ledger, Sandbox, Store
from facet_dagster.records.authoring import Instruction
from facet_dagster.records.base import digest_of
from facet_dagster.records.call import Role
from facet_dagster.records.environment import Environment, Manifest, Materials, ObservedState
from facet_dagster.records.evaluation import EvaluationTrial
from facet_dagster.rollout.agent import Keep
from facet_dagster.rollout.limits import TrialLimits
from facet_dagster.rollout.trial import begin, run_trial
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.grade import grade

_READABLE = 60  # characters of a task's name in the name of its calls


@dataclass(frozen=True)
class Examinee:
    """A model that is scored, and what its calls cost. `recorded` answers are replayed."""

    name: str
    model: ChatModel
    ledger: Ledger
    recorded: bool = False


def subject_of(task: str, content: str, model: str) -> str:
    """What the calls of a model on this version of a task are kept under: the same wherever it is evaluated."""
    readable = re.sub(r"[^a-z0-9]+", "-", task.lower()).strip("-")[:_READABLE]
    return f"eval-{readable}-{digest_of(f'{content}{chr(0)}{model}')[:12]}"


@dataclass(frozen=True)
class Attempt:
    """What is to be done: attempt `number` of a model on a task. `bundle` is the digest of task and terms."""

    examinee: Examinee
    task: str
    subject: str
    bundle: str
    number: int
    run_id: str
    store: Store
    journals: Path

    def begun(self) -> EvaluationTrial:
        """The trial of which nothing has happened yet."""
        trial = begin(self.task, self.subject, self.bundle, self.number, model=self.examinee.name, run_id=self.run_id)
        return EvaluationTrial.model_validate(trial.model_dump())

    async def make(self, task: Candidate, sandbox: Sandbox, limits: TrialLimits, *, network: bool) -> EvaluationTrial:
        """Let the model work and grade what it left. Raises BudgetSpent and NoRecording."""
        placed = PlacedSandbox(sandbox, user=task.user, workdir=task.workdir, network=network)
        grade_image = partial(
            grade,
            name=self.subject,
            tests=task.tests,
            sandbox=placed,
            limits=task.limits,
            timeout_s=task.grade_timeout_s,
            workdir=task.workdir,
        )

        begun = self.begun()

        async def run(keep: Keep) -> EvaluationTrial:
            trial = await run_trial(
                begun,
                Instruction(text=task.instruction, clauses={}),
                _as_built(task),
                model=self.examinee.model,
                sandbox=placed,
                limits=task.limits,
                settings=limits,
                grade=grade_image,
                cost_of=partial(self.examinee.ledger.cost, Role.TEACHER),
                keep=keep,
            )
            assert isinstance(trial, EvaluationTrial)
            return trial

        return await kept(begun, self.journals, self.store, run)


def error_trial(attempt: Attempt, why: str) -> EvaluationTrial:
    """The attempt as it ends where the task cannot be prepared: without a reward, and nobody's failure."""
    return attempt.begun().model_copy(update={"trouble": why})


def _as_built(task: Candidate) -> Environment:
    """A foreign task's image as an environment of which no more is known; its services are waited for in place.py."""
    return Environment(
        manifest=Manifest(directories=[], files=[], apt_packages=[], pip_packages=[], services=[], properties=[]),
        materials=Materials(
            apt_packages=[], pip_packages=[], files=[], generators=[], setup_commands=[], services=[], properties=[]
        ),
        dockerfile=task.dockerfile,
        image=task.image,
        build_seconds=0.0,
        probes=(),
        e0=ObservedState(files=(), packages=(), tools={}, users=(), listening=()),
        build_repairs=0,
    )
