"""An evaluation over fakes: what is missing is made, what is graded is not repeated, and whose trouble is whose."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from facet_dagster.audit.load import Fault, Found, Loaded
from facet_dagster.audit.run import bundle_of
from facet_dagster.errors import BudgetSpent, InfrastructureError, ModelRefused, ModelUnavailable, NoRecording
from facet_dagster.evaluation.attempt import Examinee, subject_of
from facet_dagster.evaluation.run import Hall, evaluate
from facet_dagster.records.call import ChatRequest
from facet_dagster.records.container import BuildFault, BuildRequest, BuildResult, Command, CommandResult, FileEntry
from facet_dagster.records.container import Limits as ContainerLimits
from facet_dagster.records.evaluation import EvaluationTrial
from facet_dagster.records.outcome import Component
from facet_dagster.records.rollout import StopReason
from facet_dagster.records.terms import RolloutTerms
from facet_dagster.rollout.journal import journal
from facet_dagster.rollout.trial import begin
from facet_dagster.testing.memory_ledger import MemoryLedger
from facet_dagster.testing.memory_store import MemoryStore
from facet_dagster.testing.prompt_terminal import tmux_says
from facet_dagster.testing.sandbox import FakeContainer, FakeImageBuilder, FakeSandbox, always_builds
from facet_dagster.testing.scripted_model import ScriptedModel
from facet_dagster.validation.candidate import Candidate

OK = CommandResult(exit_code=0, output="", seconds=0.0)
SOLVE = "echo 1 > /app/x\n"


def a_task(name: str, **changes: object) -> Loaded:
    candidate = Candidate(
        name=name, image="", dockerfile="FROM facet-base\n", context=(), instruction=f"Write 1 to /app/x. ({name})\n",
        solution=(), tests=(FileEntry(path="/tests/test.sh", content="pytest\n", mode=0o755),),
        limits=ContainerLimits(cpus=64), solve_timeout_s=10, grade_timeout_s=10,
    )  # fmt: skip
    return replace(Loaded(name, Path(name), candidate), **changes)  # type: ignore[arg-type]


def engine(container: FakeContainer, command: Command) -> CommandResult:
    """A container with a terminal in which keys that write the file write it, and a test.sh that looks at it."""
    script = command.script
    if "command -v tmux" in script:
        return (
            OK
            if "no-tmux" not in container.spec.seed or "with-tmux" in container.files
            else OK.model_copy(update={"exit_code": 1})
        )
    if "/tests/test.sh" in script and "exec" in script and "mute" not in container.spec.seed:
        container.files["/logs/verifier/reward.txt"] = b"1" if container.files.get("/app/x") == b"1" else b"0"
    return OK


def terminal(container: FakeContainer, script: str, data: bytes) -> bytes:
    """A screen with a prompt; typing what solves the task writes the file."""

    def typed(text: str) -> None:
        if SOLVE in text:
            container.files["/app/x"] = b"1"

    return tmux_says(data, typed)


def say(keys: list[str], *, done: bool) -> str:
    commands = [{"keystrokes": each, "duration": 0} for each in keys]
    return json.dumps({"analysis": "", "plan": "", "commands": commands, "task_complete": done})


def solves(request: ChatRequest) -> str:
    return say([SOLVE], done=False) if request.call.turn == 1 else say([], done=True)


def gives_up(request: ChatRequest) -> str:
    return say([], done=True)


class Seen:
    """An invigilator that takes notes."""

    def __init__(self) -> None:
        self.planned_for: list[tuple[int, int]] = []
        self.lines: list[str] = []
        self.doing: list[str] = []

    def planned(self, tasks: int, trials: int) -> None:
        self.planned_for.append((tasks, trials))

    def at(self, what: str, doing: str) -> None:
        self.doing.append(f"{what} {doing}")

    def ended(self, trial: EvaluationTrial, *, again: bool) -> None:
        self.lines.append(f"{trial.task} {trial.model} {trial.attempt} {'again ' if again else ''}{trial.reward}")


class School:
    """A hall over fakes, and what happened in it."""

    def __init__(self, tmp_path: Path, build: Callable[[BuildRequest], BuildResult] = always_builds) -> None:
        self.sandbox = FakeSandbox(engine, reply=terminal)
        self.builder = FakeImageBuilder(self.sandbox, build)
        self.store = MemoryStore()
        self.journals = tmp_path / "open"
        self.seen = Seen()
        self.models: dict[str, ScriptedModel] = {}

    def examinee(self, name: str, answers: object, greeting: object = "ready", **changes: bool) -> Examinee:
        script = {
            "rollout.teacher": answers,
            "evaluation.greeting": [greeting] if isinstance(greeting, BaseException) else lambda _: greeting,
        }
        self.models[name] = ScriptedModel(script)  # type: ignore[arg-type]
        return Examinee(name, self.models[name], MemoryLedger(usd_per_token=0.001), **changes)

    async def sit(
        self, tasks: Sequence[Loaded], *examinees: Examinee, attempts: int = 1, run: str = "r1", **terms: object
    ) -> list[EvaluationTrial]:
        network = bool(terms.pop("network", False))
        hall = Hall(self.builder, self.sandbox, self.store, examinees, run, self.journals, cpus_max=2)
        found = [Found(task.name, task.path, lambda task=task: task) for task in tasks]  # type: ignore[misc]
        try:
            return await evaluate(
                found, hall, attempts=attempts, rollouts=RolloutTerms(**terms), network=network, invigilator=self.seen  # type: ignore[arg-type]
            )  # fmt: skip
        finally:
            assert not self.sandbox.running and not self.sandbox.images, "something was left behind"

    def asked(self, name: str, station: str = "rollout.teacher") -> int:
        return sum(request.call.station == station for request in self.models[name].requests)


@pytest.fixture
def school(tmp_path: Path) -> School:
    return School(tmp_path)


async def test_every_model_attempts_every_task_and_what_is_graded_is_not_repeated(school: School) -> None:
    good, weak = school.examinee("good", solves), school.examinee("weak", gives_up)
    made = await school.sit([a_task("org/a"), a_task("org/b")], good, weak, attempts=2)
    assert school.seen.planned_for == [(2, 8)]
    assert {(t.task, t.model, t.attempt, t.reward) for t in made} == {
        (task, model, attempt, reward)
        for task in ("org/a", "org/b")
        for model, reward in (("good", 1.0), ("weak", 0.0))
        for attempt in (0, 1)
    }
    assert all(t.tokens and t.cost_usd == pytest.approx(t.tokens * 0.001) for t in made)
    assert school.asked("good", "evaluation.greeting") == 1
    builds, asked = len(school.builder.requests), school.asked("good")
    again = await school.sit([a_task("org/a"), a_task("org/b")], good, weak, attempts=2, run="r2")
    assert sorted(t.key for t in again) == sorted(t.key for t in made)
    assert (len(school.builder.requests), school.asked("good")) == (builds, asked), "nothing was made twice"
    more = await school.sit([a_task("org/a")], good, attempts=3, run="r3")
    assert [t.attempt for t in sorted(more, key=lambda t: t.attempt)] == [0, 1, 2]
    assert sum("again" in line for line in school.seen.lines) == 8 + 2
    assert list(school.journals.rglob("*.jsonl")) == []


async def test_a_changed_task_or_changed_limits_are_another_measurement(school: School) -> None:
    good = school.examinee("good", solves)
    await school.sit([a_task("org/a")], good)
    changed = a_task("org/a")
    assert changed.candidate is not None
    edited = replace(changed, candidate=replace(changed.candidate, instruction="Else."))
    (trial,) = await school.sit([edited], good)
    (limited,) = await school.sit([edited], good, turns=7)
    assert len({trial.bundle, limited.bundle, *(t.bundle for t in school.store.rows(EvaluationTrial))}) == 3
    assert sum("again" in line for line in school.seen.lines) == 0


async def test_what_cannot_be_prepared_is_an_error_of_each_attempt_and_stops_no_other(tmp_path: Path) -> None:
    def build(request: BuildRequest) -> BuildResult:
        if request.seed == "org/broken":
            return BuildResult(image=request.tag(), fault=BuildFault.FAILED, log="make: no rule\n", seconds=1)
        if request.seed == "org/lost":
            raise InfrastructureError("no space left")
        return always_builds(request)

    school = School(tmp_path, build)
    good = school.examinee("good", solves)
    faulty = a_task("org/faulty", faults=(Fault(Component.VERIFIER, "tests/test.sh is missing"),), candidate=None)
    odd = a_task("org/odd", obstacles=("GPUs are not supported",))
    tasks = [a_task("org/broken"), a_task("org/lost"), faulty, odd, a_task("org/a")]
    made = await school.sit(tasks, good, attempts=2)
    errors = {t.task: t.error for t in made if t.reward is None}
    assert errors == {
        "org/broken": "infrastructure: the image does not build: make: no rule",
        "org/lost": "infrastructure: trouble: no space left",
        "org/faulty": "infrastructure: tests/test.sh is missing",
        "org/odd": "infrastructure: GPUs are not supported",
    }
    assert [t.reward for t in made if t.task == "org/a"] == [1.0, 1.0]
    assert len(school.store.rows(EvaluationTrial)) == 10
    again = await school.sit(tasks, good, attempts=2, run="r2")
    assert sum(t.reward is None for t in again) == 8, "errors are tried again"


async def test_tests_without_a_verdict_are_an_error_and_made_again(school: School) -> None:
    good = school.examinee("good", solves)
    (trial,) = await school.sit([a_task("org/mute")], good)
    assert trial.reward is None and "wrote no reward" in trial.error
    (second,) = await school.sit([a_task("org/mute")], good, run="r2")
    assert second.run_id == "r2" and len(school.store.rows(EvaluationTrial)) == 2


async def test_the_agent_works_as_the_tasks_user_in_its_folder_and_without_network(school: School) -> None:
    good = school.examinee("good", solves)
    await school.sit([a_task("org/a", user="root", workdir="/srv")], good, network=True)
    worked = [c for c in school.sandbox.opened if c.spec.purpose == "rollout"]
    typed = [command for c in worked for command in c.commands if "new-session" in command.script]
    assert {(command.user, command.workdir) for command in typed} == {("root", "/srv")}
    assert {c.spec.network for c in worked} == {True}
    await school.sit([a_task("org/b", network=False)], good, network=True)
    await school.sit([a_task("org/c")], good)
    assert {
        c.spec.network for c in school.sandbox.opened if "org-a" not in c.spec.seed and c.spec.purpose != "evaluate"
    } == {False}


async def test_an_image_without_tmux_gets_it(school: School) -> None:
    await school.sit([a_task("org/no-tmux")], school.examinee("good", solves))
    first, second = school.builder.requests
    assert second.dockerfile.startswith(f"FROM {first.tag()}\n") and "apt-get install" in second.dockerfile


async def test_a_model_that_the_endpoint_does_not_know_ends_it_before_anything_is_built(school: School) -> None:
    unknown = school.examinee("unknown", solves, greeting=ModelRefused("no such model"))
    with pytest.raises(ModelRefused, match="no such model"):
        await school.sit([a_task(f"org/{n}") for n in range(10)], unknown)
    assert school.builder.requests == [] and school.store.rows(EvaluationTrial) == []
    assert school.asked("unknown", "evaluation.greeting") == 1, "tasks that wait for the answer do not ask again"


async def test_trouble_of_the_endpoint_is_an_error_and_in_a_row_the_end(school: School) -> None:
    def fails(request: ChatRequest) -> ModelUnavailable:
        return ModelUnavailable("it is gone")

    once = school.examinee("once", [ModelUnavailable("it hiccups"), say([SOLVE], done=True), say([], done=True)])
    made = await school.sit([a_task("org/a"), a_task("org/b")], once, in_flight=1)
    assert sorted((t.stop.value, t.reward) for t in made) == [("completed", 1.0), ("model_trouble", None)]
    with pytest.raises(ModelUnavailable, match="4 trials of gone in a row: model_trouble: it is gone"):
        await school.sit([a_task(f"org/{n}") for n in range(30)], school.examinee("gone", fails), in_flight=1)
    assert sum(t.model == "gone" for t in school.store.rows(EvaluationTrial)) == 4


@pytest.mark.parametrize("end", [BudgetSpent("spent"), NoRecording("no recorded answer")])
async def test_a_spent_budget_and_a_missing_recording_end_it_and_keep_what_was_made(
    school: School, end: Exception
) -> None:
    answers = [say([SOLVE], done=True), say([], done=True), end, end, end, end]
    with pytest.raises(type(end)):
        await school.sit([a_task(f"org/{n}") for n in range(4)], school.examinee("m", answers), in_flight=1)
    assert [t.reward for t in school.store.rows(EvaluationTrial)] == [1.0]


async def test_recorded_answers_are_asked_for_nothing_else(school: School) -> None:
    (trial,) = await school.sit([a_task("org/a")], school.examinee("m", solves, recorded=True))
    assert trial.reward == 1.0 and school.asked("m", "evaluation.greeting") == 0


async def test_what_a_dead_process_left_half_done_is_kept_and_made_again(school: School) -> None:
    good = school.examinee("good", solves)
    (first,) = await school.sit([a_task("org/a")], good)
    left = begin("org/a", first.seed, first.bundle, 1, model="good", run_id="dead")
    with journal(school.journals, left) as open_trial:
        open_trial.add(first.turns[0])
    made = await school.sit([a_task("org/a")], good, attempts=2, run="r2")
    assert sorted(t.reward or 0.0 for t in made) == [1.0, 1.0]
    cut = [t for t in school.store.rows(EvaluationTrial) if t.stop is StopReason.CUT]
    assert [(t.attempt, t.run_id) for t in cut] == [(1, "dead")] and list(school.journals.rglob("*.jsonl")) == []


async def test_a_trial_that_cannot_be_kept_is_an_error_of_its_task_alone(school: School) -> None:
    school.journals.mkdir()
    good = school.examinee("good", solves)
    candidate = a_task("org/a").candidate
    assert candidate is not None
    in_the_way = subject_of("org/a", bundle_of(replace(candidate, limits=ContainerLimits(cpus=2))), "good")
    (school.journals / in_the_way).write_text("a file where a folder must be")
    made = await school.sit([a_task("org/a"), a_task("org/b")], good)
    assert {t.task: t.reward for t in made} == {"org/a": None, "org/b": 1.0}
    assert "cannot keep" in next(t.error for t in made if t.reward is None)


async def test_a_bug_is_raised_after_the_others_have_ended(school: School) -> None:
    def breaks(request: ChatRequest) -> RuntimeError:
        return RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await school.sit([a_task("org/a")], school.examinee("good", solves), school.examinee("bug", breaks))


def test_calls_are_kept_by_task_version_and_model() -> None:
    subject = subject_of("Org/Ä task!", "c", "m")
    assert re.fullmatch(r"eval-org-task-[0-9a-f]{12}", subject)
    assert len({subject, subject_of("Org/Ä task!", "d", "m"), subject_of("Org/Ä task!", "c", "n")}) == 3
