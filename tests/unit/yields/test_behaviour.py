"""From trials to the paper's statistics: what was typed at a shell, what followed on what, which checks were missed."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.records.base import now
from facet_dagster.records.rollout import Keystrokes, StopReason, Trial, Turn
from facet_dagster.records.validation import GradeReport, TestResult
from facet_dagster.yields.behaviour import PAPER, behaviours, figures_table, top_table, transition_table, work_of
from facet_dagster.yields.behaviour_png import details_png, figures_png
from facet_dagster.yields.observing import Kind
from facet_dagster.yields.typed import commands_of

PROMPT = "New terminal output:\nagent@task:/app$"


def a_turn(keys: Sequence[str], shown: str = PROMPT, *, done: bool = False) -> Turn:
    return Turn(
        number=1, prompt="p", raw="r", analysis="", plan="", commands=tuple(Keystrokes(keystrokes=k) for k in keys),
        task_complete=done, parse_error=None, observation=shown, prompt_tokens=1, completion_tokens=1, cost_usd=0.0,
        at=now(),
    )  # fmt: skip


def a_trial(turns: Sequence[Turn], reward: float | None = 1.0, outcomes: str = "p", model: str = "m") -> Trial:
    words = {"p": "passed", "f": "failed", "e": "error", "s": "skipped"}
    tests = tuple(TestResult(name=f"t{n}", outcome=words[letter]) for n, letter in enumerate(outcomes))  # type: ignore[arg-type]
    grade = GradeReport(reward=reward, tests=tests, executed=len(tests), seconds=0.0, output="")
    return Trial(
        seed="s", task="org/s", bundle="b", attempt=0, model=model, recorded=False, stop=StopReason.COMPLETED,
        reward=reward, grade=None if reward is None else grade, turns=tuple(turns), seconds=1.0, started_at=now(),
        run_id="r",
    )  # fmt: skip


def names(*turns: Turn) -> list[list[str]]:
    return [[command.name for command in turn] for turn in commands_of(turns)]


def test_keys_are_no_commands() -> None:
    assert names(a_turn(["C-c", "Enter", "", "\n", "ls\n", "Up", "M-x"])) == [["ls"]]


def test_what_is_not_sent_off_is_run_when_it_is() -> None:
    assert names(a_turn(["ls", " -la"], "agent@task:/app$ ls -la"), a_turn(["\n"])) == [[], ["ls"]]
    assert names(a_turn(["rm x", "C-c", "ls", "Enter"])) == [["ls"]]
    assert names(a_turn(["cat > f << 'E'\n", "rm y\n", "E\nls\n"])) == [["cat", "ls"]]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (["python3\n", "import os\nls\n", "exit()\n", "pwd\n"], ["python3", "pwd"]),
        (["python3\nprint(1)\nexit()\nls\n"], ["python3", "ls"]),
        (["cat > notes.txt\n", "rm everything\n", "exit\n", "C-d", "ls\n"], ["cat", "ls"]),
        (["vim x\n", "irm\n", ":wq\n", "ls\n"], ["vim", "ls"]),
        (["sqlite3 a.db\n", "select 1;\n", ".quit\n", "ls\n"], ["sqlite3", "ls"]),
        (["less f\n", "q", "ls\n"], ["less", "ls"]),
        (["python3 run.py\n", "ls\n"], ["python3", "ls"]),
        (["echo x | cat\n", "ls\n"], ["echo", "cat", "ls"]),
    ],
)
def test_text_for_a_running_program_is_no_command(keys: list[str], told: list[str]) -> None:
    assert names(a_turn(keys)) == [told]


@pytest.mark.parametrize("last", [">>> ", "sqlite> ", "(END)", "Password: ", "postgres=# ", ":"])
def test_what_the_terminal_shows_says_who_reads(last: str) -> None:
    assert names(a_turn(["./start\n"], f"Output:\n{last}"), a_turn(["rm x\n"])) == [["start"], []]


def test_a_prompt_gives_the_keyboard_back_to_the_shell() -> None:
    assert names(a_turn(["python3\n", "1/0\n"]), a_turn(["ls\n"])) == [["python3"], ["ls"]]
    asked = f"{PROMPT}\n\nYou say that the task is done. Are you sure?"
    assert names(a_turn(["python3\n"], asked, done=True), a_turn(["ls\n"])) == [["python3"], ["ls"]]


def test_the_statistics_of_a_small_group() -> None:
    looks, acts = a_turn(["cat a\n", "ls\n"]), a_turn(["echo 1 > x\n", "touch y\n", "cat x\n", "cd /\n"])
    works = [
        work_of(a_trial([looks, acts])),
        work_of(a_trial([acts], 0.0, "ppffs")),
        work_of(a_trial([looks], 0.0, "fffp")),
    ]
    every, success, failure = behaviours([*works, work_of(a_trial([], None))])
    assert [(each.outcome, each.trials) for each in (every, success, failure)] == [
        ("all", 3),
        ("success", 1),
        ("failure", 2),
    ]
    assert every.observation_first_turn == pytest.approx(2 / 3)
    assert success.observation_share == pytest.approx(3 / 5) and success.neither == 1 and success.commands == 6
    assert success.transitions == {
        ("observe", "observe"): 1, ("observe", "act"): 1, ("act", "act"): 1, ("act", "observe"): 1,
        ("observe", "end"): 1,
    }  # fmt: skip
    assert success.share(Kind.ACT, Kind.OBSERVE) == 0.5
    assert success.top[0] == ("cat", 2) and success.top_share(1) == pytest.approx(2 / 6)
    assert failure.missed_1_2 == 0.5 and failure.checks_satisfied == pytest.approx(3 / 8)
    assert success.missed_1_2 is None


def test_a_trial_without_a_grade_counts_among_all_only() -> None:
    (every,) = behaviours([work_of(a_trial([a_turn(["ls\n"])], None))])
    assert (every.outcome, every.trials, every.checks_satisfied) == ("all", 1, None)


def test_a_name_is_cut() -> None:
    (turn,) = work_of(a_trial([a_turn(["x" * 5_000 + "\n"])])).turns
    assert turn == (("x" * 80, Kind.ACT),)


def test_tables_and_pictures_hold_the_papers_figures_too() -> None:
    found = behaviours([work_of(a_trial([a_turn(["ls $x_$y\n", "'$^_\x07' a\n"])], model="a_$b"))])
    table = figures_table(found)
    assert dict(zip(table["figure"], table["paper (successes)"], strict=True)).items() >= PAPER.items()
    assert transition_table(found)["share"].iloc[0] == 0.0
    assert set(top_table(found)["command"]) >= {"ls"}
    for png in (figures_png(found), details_png(found), figures_png([]), details_png([])):
        assert png.startswith(b"\x89PNG")


@given(st.lists(st.lists(st.text(max_size=30), max_size=4), max_size=4), st.lists(st.text(max_size=60), max_size=4))
def test_no_keystrokes_break_the_reader(typed: list[list[str]], shown: list[str]) -> None:
    turns = [a_turn(keys, shown[n % len(shown)] if shown else "") for n, keys in enumerate(typed)]
    work = work_of(a_trial(turns))
    assert len(work.turns) == len(typed)
    for each in behaviours([work]):
        assert sum(count for _, count in each.top) == each.commands
        counted = sum(kind is not Kind.NEITHER for _, kind in work.commands)
        assert sum(each.transitions.values()) == counted
