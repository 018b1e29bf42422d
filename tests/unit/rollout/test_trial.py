"""The walk of one trial: how it ends, what is graded, what is kept."""

import json

import pytest

from facet_dagster.errors import BudgetSpent, InfrastructureError, ModelUnavailable, NoRecording
from facet_dagster.records.authoring import Instruction
from facet_dagster.records.call import Completion, Role
from facet_dagster.records.container import Limits
from facet_dagster.records.environment import Manifest, Materials, ObservedState, Service
from facet_dagster.records.rollout import StopReason, Trial
from facet_dagster.records.validation import GradeReport, TestResult
from facet_dagster.rollout.limits import TrialLimits
from facet_dagster.rollout.terminal import Terminal
from facet_dagster.rollout.trial import begin, run_trial
from facet_dagster.testing.examples import an_environment
from facet_dagster.testing.scripted_model import ScriptedModel

INSTRUCTION = Instruction(text="Write /app/out.txt.", clauses={"R1": "Write /app/out.txt."})
ENVIRONMENT = an_environment(
    manifest=Manifest(directories=[], files=[], apt_packages=[], pip_packages=[], services=[], properties=[]),
    materials=Materials(
        apt_packages=[], pip_packages=[], files=[], generators=[], setup_commands=[], services=[], properties=[]
    ),
    dockerfile="FROM x\n",
    image="facet-env:1",
    build_seconds=1,
    e0=ObservedState(files=(), packages=(), tools={}, users=(), listening=()),
)


def say(*keys: str, done: bool = False) -> dict:
    return {"analysis": "a", "plan": "p", "commands": [{"keystrokes": k} for k in keys], "task_complete": done}


async def passed(image: str) -> GradeReport:
    result = TestResult(name="test_r1_x", outcome="passed")
    return GradeReport(reward=1.0, tests=(result,), executed=1, seconds=0, output="")


async def walk(
    sandbox, answers, *, environment=ENVIRONMENT, grade=passed, clock=lambda: 0.0, cost_of=lambda c: 0.0, **settings
):
    model = ScriptedModel({"rollout.teacher": answers})
    trial = await run_trial(
        begin("org/one", "seed-1", "b" * 64, 3, model="m", run_id="run"),
        INSTRUCTION,
        environment,
        model=model,
        sandbox=sandbox,
        limits=Limits(),
        settings=TrialLimits(**settings),
        grade=grade,
        clock=clock,
        cost_of=cost_of,
    )
    return trial, model


class Slow:
    """Says the same again and again: waits for its turn, then answers, each time so many seconds by the clock."""

    def __init__(self, clock, text, *, seconds, queued):
        self.clock, self.text, self.seconds, self.queued = clock, json.dumps(text), seconds, queued

    async def complete(self, request):
        self.clock[0] += self.queued + self.seconds
        return Completion(text=self.text, model="m", prompt_tokens=1, completion_tokens=1, seconds=self.seconds)


async def test_done_is_said_twice_and_the_state_is_graded(sandbox, container):
    trial, model = await walk(
        sandbox, [say("date > out.txt\n"), say(done=True), say(done=True)], cost_of=lambda c: 0.25
    )
    assert trial.stop is StopReason.COMPLETED and trial.success
    assert container.typed == ["date > out.txt\n"] and container.frozen == 1
    assert sandbox.discarded == ["frozen:1"] and sandbox.open_now == 0
    assert [t.number for t in trial.turns] == [1, 2, 3]
    assert trial.turns[0].cost_usd == 0.25
    assert Trial.model_validate_json(trial.model_dump_json()) == trial
    assert [(s.image, s.network, s.purpose) for s in sandbox.specs] == [("facet-env:1", False, "rollout")]
    assert {(r.role, r.call.subject, r.call.attempt) for r in model.requests} == {(Role.TEACHER, "seed-1", 3)}
    assert [r.call.turn for r in model.requests] == [1, 2, 3]


async def test_done_is_taken_back_by_a_turn_without_it(sandbox):
    trial, _ = await walk(
        sandbox, [say(done=True), say("ls\n"), say(done=True), "what?", say(done=True), say(done=True)]
    )
    assert trial.stop is StopReason.COMPLETED and len(trial.turns) == 6


async def test_what_the_terminal_shows_is_marked_as_observed(sandbox):
    _, model = await walk(sandbox, [say("ls\n"), say(done=True), say(done=True)])
    last = model.requests[-1].messages
    assert [(m.role, m.observed) for m in last] == [
        ("user", False),
        ("assistant", False),
        ("user", True),
        ("assistant", False),
        ("user", True),
    ]
    assert INSTRUCTION.text in last[0].content and "agent@task:/app$" in last[0].content
    assert "once more" in " ".join(last[-1].content.split())


async def test_a_turn_says_what_the_model_saw_and_wrote(sandbox):
    trial, model = await walk(sandbox, ["gibberish", say(done=True), say(done=True)])
    first, second = trial.turns[0], trial.turns[1]
    assert first.parse_error is not None and first.raw == "gibberish" and first.commands == ()
    assert second.prompt == first.observation and "no key was sent" in first.observation
    assert json.loads(second.raw) == say(done=True)
    assert first.prompt == model.requests[0].messages[0].content


async def test_the_last_turn_is_the_turn_limit(sandbox):
    trial, _ = await walk(sandbox, [say("ls\n")] * 5, turns=2)
    assert trial.stop is StopReason.TURN_LIMIT and len(trial.turns) == 2 and trial.reward == 1.0


async def test_the_token_limit_ends_the_work(sandbox):
    trial, _ = await walk(sandbox, [say("ls\n")] * 9, tokens=1)
    assert trial.stop is StopReason.TOKEN_LIMIT and len(trial.turns) == 1


async def test_the_time_limit_ends_the_work_and_bounds_the_waits(sandbox, container):
    time = [0.0]

    commands = [{"keystrokes": "sleep 100\n", "duration": 1.5}, {"keystrokes": "ls\n", "duration": 100}]
    model = Slow(time, {**say(), "commands": commands}, seconds=8.0, queued=100.0)
    trial = await run_trial(
        begin("org/one", "seed-1", "b" * 64, 0, model="m", run_id="run"), INSTRUCTION, ENVIRONMENT, model=model,
        sandbox=sandbox, limits=Limits(), settings=TrialLimits(seconds=10), grade=passed, clock=lambda: time[0],
    )  # fmt: skip
    assert trial.stop is StopReason.TIME_LIMIT and len(trial.turns) == 2
    assert container.waits == [1.5, 0.5] and trial.seconds == 16.0


async def test_the_money_limit_ends_the_work(sandbox):
    trial, _ = await walk(sandbox, [say("ls\n")] * 9, usd=0.5, cost_of=lambda c: 0.25)
    assert trial.stop is StopReason.COST_LIMIT and len(trial.turns) == 2 and trial.cost_usd == 0.5


async def test_a_wait_is_capped(sandbox, container):
    long = say("make\n", done=True)
    long["commands"][0]["duration"] = 10_000
    await walk(sandbox, [long, say(done=True)], wait_cap_s=5)
    assert container.waits == [5.0]


async def test_leaving_the_shell_ends_the_work_and_is_graded(sandbox, container):
    def leave(request):
        container.alive = False
        return say("exit\n")

    trial, _ = await walk(sandbox, leave)
    assert trial.stop is StopReason.TERMINAL_DIED and trial.reward == 1.0
    assert len(trial.turns) == 1 and "gone" in trial.turns[0].observation


async def test_a_container_that_was_started_again_is_no_verdict(sandbox, container):
    def restart(request):
        container.alive, container.born = False, container.born + 1
        return say("ls\n")

    trial, _ = await walk(sandbox, restart)
    assert trial.stop is StopReason.INFRASTRUCTURE and trial.reward is None and "stopped" in trial.trouble
    assert len(trial.turns) == 1 and container.frozen == 0


async def test_trouble_of_the_model_keeps_the_turns_and_gives_no_grade(sandbox, container):
    trial, _ = await walk(sandbox, [say("ls\n"), ModelUnavailable("down")])
    assert trial.stop is StopReason.MODEL_TROUBLE and trial.reward is None and trial.grade is None
    assert len(trial.turns) == 1 and container.frozen == 0


@pytest.mark.parametrize(
    "answers", [[NoRecording("none")], [BudgetSpent("spent")], [say("ls\n"), BudgetSpent("spent")]]
)
async def test_what_ends_the_run_is_passed_on(sandbox, answers):
    with pytest.raises(type(answers[-1])):
        await walk(sandbox, answers)
    assert sandbox.open_now == 0


async def test_a_replayed_trial_ends_where_its_recording_does_and_is_graded(sandbox):
    trial, _ = await walk(sandbox, [say("ls\n"), NoRecording("no further turn was recorded")])
    assert trial.stop is StopReason.RECORDING_ENDED
    assert len(trial.turns) == 1 and trial.reward == 1.0


async def test_trouble_of_the_engine_is_no_verdict(sandbox, container):
    def fail(request):
        container.broken = True
        return say("ls\n")

    trial, _ = await walk(sandbox, fail)
    assert trial.stop is StopReason.INFRASTRUCTURE and trial.reward is None
    assert len(trial.turns) == 1 and trial.turns[0].observation == ""


async def test_trouble_while_grading_discards_the_image(sandbox):
    async def broken(image):
        raise InfrastructureError("the disk is full")

    trial, _ = await walk(sandbox, [say(done=True), say(done=True)], grade=broken)
    assert trial.stop is StopReason.INFRASTRUCTURE and trial.reward is None
    assert sandbox.discarded == ["frozen:1"]


async def test_a_grade_without_reward_stays_without(sandbox):
    async def open_end(image):
        return GradeReport(reward=None, tests=(), executed=0, seconds=0, output="", trouble="tests did not run")

    trial, _ = await walk(sandbox, [say(done=True), say(done=True)], grade=open_end)
    assert trial.stop is StopReason.COMPLETED and trial.reward is None and not trial.success


@pytest.mark.parametrize(("ready", "stop"), [(True, StopReason.COMPLETED), (False, StopReason.INFRASTRUCTURE)])
async def test_services_are_waited_for(sandbox, container, ready, stop):
    service = Service(name="web", command="serve", health="true")
    materials = ENVIRONMENT.materials.model_copy(update={"services": [service]})
    container.ready = ready
    environment = ENVIRONMENT.model_copy(update={"materials": materials})
    trial, _ = await walk(sandbox, [say(done=True), say(done=True)], environment=environment)
    assert trial.stop is stop and container.users == {"root"} and len(container.streams) == ready


async def test_recorded_answers_are_marked(sandbox):
    class Recorded:
        async def complete(self, request):
            text = json.dumps(say(done=True))
            return Completion(text=text, model="m", prompt_tokens=1, completion_tokens=1, recorded=True)

    trial = await run_trial(
        begin("org/one", "seed-1", "b" * 64, 0, model="m", run_id="run"), INSTRUCTION, ENVIRONMENT, model=Recorded(),
        sandbox=sandbox, limits=Limits(), settings=TrialLimits(), grade=passed,
    )  # fmt: skip
    assert trial.recorded and len(trial.turns) == 2


async def test_a_disk_that_takes_no_turn_is_trouble_and_keeps_what_there_is(sandbox):
    async def full(done):
        raise InfrastructureError("cannot keep x: No space left on device; is the disk full or read-only?")

    model = ScriptedModel({"rollout.teacher": [say("ls\n")] * 3})
    trial = await run_trial(
        begin("org/one", "seed-1", "b" * 64, 0, model="m", run_id="run"), INSTRUCTION, ENVIRONMENT, model=model,
        sandbox=sandbox, limits=Limits(), settings=TrialLimits(), grade=passed, keep=full,
    )  # fmt: skip
    assert trial.stop is StopReason.INFRASTRUCTURE and trial.reward is None and "disk full" in trial.trouble
    assert len(trial.turns) == 1 and len(model.requests) == 1 and sandbox.open_now == 0


async def test_replies_in_xml_have_a_prompt_of_their_own(sandbox, container):
    def reply(keys, done):
        typed = f'<keystrokes duration="0.1">{keys}</keystrokes>' if keys else ""
        word = str(done).lower()
        return (
            f"<response><analysis>a</analysis><plan>p</plan><commands>{typed}</commands>"
            f"<task_complete>{word}</task_complete></response>"
        )

    answers = [reply("ls &amp;\n", False), "no", reply("", True), reply("", True)]
    trial, _ = await walk(sandbox, answers, replies="xml")
    assert trial.stop is StopReason.COMPLETED and container.typed == ["ls &amp;\n"]
    assert "<keystrokes duration=" in trial.turns[0].prompt and "one <response>" in trial.turns[1].observation
    assert "JSON" not in trial.turns[0].prompt and "JSON" not in trial.turns[1].observation


async def test_token_details_are_asked_for_and_kept(sandbox):
    class Detailed:
        async def complete(self, request):
            assert request.token_details
            return Completion(
                text=json.dumps(say(done=True)), model="m", prompt_tokens=1, completion_tokens=1,
                prompt_token_ids=(1, 2), completion_token_ids=(3,), logprobs=(-0.5,),
            )  # fmt: skip

    trial = await run_trial(
        begin("org/one", "seed-1", "b" * 64, 0, model="m", run_id="run"), INSTRUCTION, ENVIRONMENT, model=Detailed(),
        sandbox=sandbox, limits=Limits(), settings=TrialLimits(token_details=True), grade=passed,
    )  # fmt: skip
    turn = trial.turns[0]
    assert (turn.prompt_token_ids, turn.completion_token_ids, turn.logprobs) == ((1, 2), (3,), (-0.5,))


async def test_a_slow_start_takes_nothing_of_the_teachers_time(sandbox, container, monkeypatch):
    time = [0.0]
    start = Terminal.start

    async def slowly(self):
        time[0] += 100.0
        return await start(self)

    monkeypatch.setattr(Terminal, "start", slowly)
    trial, _ = await walk(sandbox, [say("ls\n"), say(done=True), say(done=True)], clock=lambda: time[0], seconds=10)
    assert trial.stop is StopReason.COMPLETED
