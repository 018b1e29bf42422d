"""How a model works in the terminal: the paper's statistics over trials, of successes and of failures.

Pure: trials in, numbers out. What is a command and what it does: typed.py, observing.py; pictures: behaviour_png.py.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from facet_dagster.records.rollout import Trial
from facet_dagster.yields.observing import Kind, kind_of
from facet_dagster.yields.typed import commands_of

END = "end"
TOP = 10
NAME = 80  # characters of a command's name that are kept: a model may type anything
# FACET (arXiv 2608.18580), of the 1,270 successes among its teacher's 6,066 trials; the checks are of all of them.
PAPER: dict[str, float] = {
    "turns_per_trial": 11.86,
    "commands_per_trial": 30.82,
    "observation_first_turn": 0.956,
    "observation_share": 0.847,
    "act_to_observe": 0.531,
    "act_to_act": 0.287,
    "top_1": 0.464,
    "top_3": 0.695,
    "top_10": 0.884,
    "missed_1_2": 0.540,
    "checks_satisfied": 0.894,
}
PAPER_TOP = ("cat", "python3", "ls")


@dataclass(frozen=True)
class Work:
    """What one trial did: per turn its commands by name and kind, and what the tests said.

    `success` is None without a grade. `missed` of `checks` tests did not pass; both are 0 where single tests are not
    known.
    """

    model: str
    success: bool | None
    turns: tuple[tuple[tuple[str, Kind], ...], ...]
    checks: int
    missed: int

    @property
    def commands(self) -> tuple[tuple[str, Kind], ...]:
        """All commands in order."""
        return tuple(command for turn in self.turns for command in turn)


@dataclass(frozen=True)
class Behaviour:
    """Statistics of a group of trials. Shares are None where there is nothing to share.

    `observation_share` is of the commands that observe or act. `transitions` counts, of neighbours among these, from
    the kind of one to that of the next or to "end". `top` are all commands by name, the most frequent first.
    """

    model: str
    outcome: str  # all, success or failure
    trials: int
    turns: int
    commands: int
    neither: int
    observation_first_turn: float | None
    observation_share: float | None
    transitions: Mapping[tuple[str, str], int]
    top: tuple[tuple[str, int], ...]
    missed_1_2: float | None  # of the trials that failed a check, those that missed one or two
    checks_satisfied: float | None

    def share(self, before: str, after: str) -> float | None:
        """How often `after` follows on `before`."""
        return _share(
            self.transitions.get((before, after), 0), sum(n for (b, _), n in self.transitions.items() if b == before)
        )

    def top_share(self, number: int) -> float | None:
        """The share of the most frequent commands among all."""
        return _share(sum(count for _, count in self.top[:number]), self.commands)

    def figures(self) -> dict[str, float | None]:
        """The figures that the paper gives, by the names of PAPER."""
        return {
            "turns_per_trial": _share(self.turns, self.trials),
            "commands_per_trial": _share(self.commands, self.trials),
            "observation_first_turn": self.observation_first_turn,
            "observation_share": self.observation_share,
            "act_to_observe": self.share(Kind.ACT, Kind.OBSERVE),
            "act_to_act": self.share(Kind.ACT, Kind.ACT),
            "top_1": self.top_share(1),
            "top_3": self.top_share(3),
            "top_10": self.top_share(10),
            "missed_1_2": self.missed_1_2,
            "checks_satisfied": self.checks_satisfied,
        }


def work_of(trial: Trial) -> Work:
    """Read one trial."""
    tests = trial.grade.tests if trial.grade is not None and trial.grade.per_test else ()
    told = [test for test in tests if test.outcome != "skipped"]
    return Work(
        model=trial.model,
        success=None if trial.reward is None else trial.success,
        turns=tuple(tuple((c.name[:NAME], kind_of(c)) for c in turn) for turn in commands_of(trial.turns)),
        checks=len(told),
        missed=sum(test.outcome != "passed" for test in told),
    )


def behaviours(works: Iterable[Work]) -> list[Behaviour]:
    """Statistics per model: of all its trials, of its successes and of its failures, as far as there are any.

    A trial without a grade counts among all only; one in which nothing was done counts nowhere.
    """
    groups: dict[tuple[str, str], list[Work]] = defaultdict(list)
    for work in works:
        if not work.turns:
            continue
        groups[work.model, "all"].append(work)
        if work.success is not None:
            groups[work.model, "success" if work.success else "failure"].append(work)
    order = ("all", "success", "failure")
    return [
        _behaviour(model, outcome, group)
        for (model, outcome), group in sorted(groups.items(), key=lambda each: (each[0][0], order.index(each[0][1])))
    ]


def _behaviour(model: str, outcome: str, works: Sequence[Work]) -> Behaviour:
    commands = [command for work in works for command in work.commands]
    kinds = Counter(kind for _, kind in commands)
    failed = [work for work in works if work.success is False and work.missed]
    checks = sum(work.checks for work in works)
    return Behaviour(
        model=model,
        outcome=outcome,
        trials=len(works),
        turns=sum(len(work.turns) for work in works),
        commands=len(commands),
        neither=kinds[Kind.NEITHER],
        observation_first_turn=_share(sum(_only_observes(work.turns[0]) for work in works), len(works)),
        observation_share=_share(kinds[Kind.OBSERVE], kinds[Kind.OBSERVE] + kinds[Kind.ACT]),
        transitions=_transitions(works),
        top=tuple(sorted(Counter(name for name, _ in commands).items(), key=lambda each: (-each[1], each[0]))),
        missed_1_2=_share(sum(work.missed <= 2 for work in failed), len(failed)),
        checks_satisfied=_share(checks - sum(work.missed for work in works), checks),
    )


def _only_observes(turn: Sequence[tuple[str, Kind]]) -> bool:
    kinds = {kind for _, kind in turn}
    return Kind.OBSERVE in kinds and Kind.ACT not in kinds


def _transitions(works: Iterable[Work]) -> dict[tuple[str, str], int]:
    counted: Counter[tuple[str, str]] = Counter()
    for work in works:
        kinds = [kind.value for _, kind in work.commands if kind is not Kind.NEITHER]
        counted.update(pairwise([*kinds, END] if kinds else []))
    return dict(counted)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def figures_table(found: Sequence[Behaviour]) -> pd.DataFrame:
    """One row per figure: the paper's, then a column for each model and outcome; shares between 0 and 1."""
    rows = {"trials": [1270.0], "commands": [39_136.0], **{name: [value] for name, value in PAPER.items()}}
    for each in found:
        own = {"trials": float(each.trials), "commands": float(each.commands), **each.figures()}
        for name, column in rows.items():
            value = own[name]
            column.append(float("nan") if value is None else value)
    columns = ["paper (successes)", *(f"{each.model} ({each.outcome})" for each in found)]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return frame.rename_axis("figure").reset_index()


def transition_table(found: Sequence[Behaviour]) -> pd.DataFrame:
    """Columns model, outcome, from, to, count, share (of all that follow on `from`)."""
    rows = [
        (each.model, each.outcome, before, after, each.transitions.get((before, after), 0), each.share(before, after))
        for each in found
        for before in (Kind.OBSERVE.value, Kind.ACT.value)
        for after in (Kind.OBSERVE.value, Kind.ACT.value, END)
    ]
    return pd.DataFrame(rows, columns=["model", "outcome", "from", "to", "count", "share"])


def top_table(found: Sequence[Behaviour], number: int = TOP) -> pd.DataFrame:
    """Columns model, outcome, command, count, share of all commands: the most frequent of each."""
    rows = [
        (each.model, each.outcome, name, count, count / each.commands)
        for each in found
        for name, count in each.top[:number]
    ]
    return pd.DataFrame(rows, columns=["model", "outcome", "command", "count", "share"])
