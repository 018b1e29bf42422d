"""Which dialogues become rows: every rule is a setting, refuses with evidence, and is counted.

Rules work one after the other on what the earlier ones left, so that each dialogue is refused once. Belongs here: the
rules and their order. Does not belong here: how overlaps, copies or lengths are found, and what a row looks like.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from facet_dagster.datasets.contamination import GRAM, Contamination
from facet_dagster.datasets.dialogue import (
    loss_mask_of,
    messages_of,
    not_as_held,
    own_text,
    parse_clean,
    turns_of,
    typed,
)
from facet_dagster.datasets.near import NearIndex
from facet_dagster.datasets.tokens import TokenCounter
from facet_dagster.records.base import digest_of
from facet_dagster.records.rollout import StopReason, Trial, Turn
from facet_dagster.records.sft import FunnelStep, Rule
from facet_dagster.records.terms import SftTerms

TROUBLE = frozenset({StopReason.MODEL_TROUBLE, StopReason.INFRASTRUCTURE})
OFF = "off"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A dialogue of a trial with what the rules need to know of it. `fallen`: its task does not stand any more."""

    trial: Trial
    skills: tuple[str, ...]
    lineage: str
    fallen: bool = False
    context: int = 0

    @cached_property
    def name(self) -> str:
        """How evidence calls it; its own in a set."""
        return f"{self.trial.seed}/{self.trial.key}" + (f"/context-{self.context}" if self.context else "")

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the dialogue."""
        return turns_of(self.trial, self.context)

    @cached_property
    def messages(self) -> list[dict[str, str]]:
        """The dialogue."""
        return messages_of(self.trial, self.context)

    def mask(self, *, mask_parse_errors: bool) -> list[bool]:
        """For each message, whether it is trained on."""
        return loss_mask_of(self.trial, self.context, mask_parse_errors=mask_parse_errors)


@dataclass(frozen=True)
class Selection:
    """`chosen` in order of seed, bundle, model, attempt, context; by name why others are not, and tokens of these."""

    chosen: tuple[Candidate, ...]
    refused: Mapping[str, tuple[Rule, str]]
    funnel: tuple[FunnelStep, ...]
    tokens: Mapping[str, int]


Refusals = Iterator[tuple[Candidate, str]]
Check = Callable[[Sequence[Candidate]], Refusals]


def select(
    candidates: Sequence[Candidate], terms: SftTerms, counter: TokenCounter, benchmarks: Contamination | None
) -> Selection:
    """Put the candidates to every rule, in the order of `Rule`.

    Where a rule must choose (copies, caps, the share of failures) it prefers successes, then first attempts, then
    trials of which every turn was understood, then an order drawn by hash: never what was given first.
    """
    work = _Work(terms, counter, benchmarks)
    left = sorted(candidates, key=_preference(candidates))
    refused: dict[str, tuple[Rule, str]] = {}
    funnel = []
    for rule, asked, check in work.rules():
        out = {candidate.name: (rule, evidence) for candidate, evidence in (check(left) if check else ())}
        left = [candidate for candidate in left if candidate.name not in out]
        refused |= out
        funnel.append(FunnelStep(rule=rule, asked=asked, removed=len(out), left=len(left)))
    chosen = tuple(sorted(left, key=_place))
    return Selection(chosen, refused, tuple(funnel), {c.name: work.tokens[c.name] for c in chosen})


def _preference(candidates: Sequence[Candidate]) -> Callable[[Candidate], tuple[bool, int, bool, str]]:
    of_task: dict[str, list[str]] = defaultdict(list)
    for candidate in sorted(candidates, key=lambda c: (not c.trial.success, c.trial.attempt, c.context, c.name)):
        of_task[candidate.trial.task].append(candidate.name)
    rank = {name: number for names in of_task.values() for number, name in enumerate(names)}
    return lambda c: (not c.trial.success, rank[c.name], not parse_clean(c.turns), digest_of(c.name))


def _place(candidate: Candidate) -> tuple[str, str, str, int, str, int]:
    trial = candidate.trial
    return trial.seed, trial.bundle, trial.model, trial.attempt, trial.key, candidate.context


class _Work:
    """The rules under given terms."""

    def __init__(self, terms: SftTerms, counter: TokenCounter, benchmarks: Contamination | None) -> None:
        self._terms = terms
        self._counter = counter
        self._benchmarks = benchmarks
        self.tokens: dict[str, int] = {}

    def rules(self) -> Iterator[tuple[Rule, str, Check | None]]:
        """Each rule, what was asked of it, and its check; None where it is off."""
        terms = self._terms
        share = f"at most {terms.failure_share:.0%} of the rows"
        yield Rule.TASK_FALLEN, "tasks that stand", _each(_fallen)
        yield Rule.TROUBLE, "graded, no trouble of model or engine", _each(_trouble)
        yield Rule.NOT_KEPT, "the model's own text after what it saw", _each(_not_kept)
        yield Rule.EMPTY, "at least one turn that is trained on", _each(self._empty)
        yield (
            Rule.FAILURE,
            "complete successes" if not terms.failure_share else share,
            self._if(not terms.failure_share, _each(_failure)),
        )
        yield (
            Rule.PARSE_ERROR,
            _said(terms.parse_clean_only, "every turn understood"),
            self._if(terms.parse_clean_only, _each(_unclean)),
        )
        limit = f"at most {terms.max_tokens:,} tokens" if terms.max_tokens else OFF
        yield Rule.TOO_LONG, f"{limit}, counted by: {self._counter.name}", self._long
        yield Rule.CONTAMINATED, self._benchmark(), self._if(self._benchmarks, self._contaminated)
        near = f"Jaccard similarity below {terms.near_duplicate}" if terms.near_duplicate else OFF
        yield Rule.NEAR_DUPLICATE, near, self._if(terms.near_duplicate, self._copies)
        yield self._cap(Rule.TASK_CAP, terms.rows_per_task, "task", lambda c: (c.trial.task,))
        yield self._cap(Rule.SKILL_CAP, terms.rows_per_skill, "skill", lambda c: c.skills)
        yield self._cap(Rule.LINEAGE_CAP, terms.rows_per_lineage, "lineage", lambda c: (c.lineage,))
        yield Rule.MIXTURE, share if terms.failure_share else OFF, self._if(terms.failure_share, self._mixture)

    @staticmethod
    def _if(asked: object, check: Check) -> Check | None:
        return check if asked else None

    def _long(self, left: Sequence[Candidate]) -> Refusals:
        for candidate in left:
            tokens = self.tokens[candidate.name] = self._counter.count(candidate.messages)
            if self._terms.max_tokens is not None and tokens > self._terms.max_tokens:
                yield candidate, f"{tokens:,} tokens"

    def _empty(self, candidate: Candidate) -> str | None:
        if not any(turn.raw.strip() for turn in candidate.turns):
            return f"{len(candidate.turns)} turn(s), no text"
        mask = candidate.mask(mask_parse_errors=self._terms.mask_parse_errors)
        return None if any(mask) else f"{len(candidate.turns)} turn(s), all masked"

    def _benchmark(self) -> str:
        found = self._benchmarks
        if found is None:
            return f"{OFF}: no benchmark was given"
        return (
            f"no run of {GRAM} words of {found.tasks} benchmark task(s); {found.boilerplate} run(s) that stand in more "
            f"than {self._terms.common_grams} of them do not count"
        )

    def _contaminated(self, left: Sequence[Candidate]) -> Refusals:
        for candidate in left:
            texts, places = zip(*_seen_and_written(candidate), strict=True)
            found = self._benchmarks and self._benchmarks.overlap(texts)
            if found:
                yield (
                    candidate,
                    f"“{found.words}” in {places[found.part]} from word {found.word + 1}, "
                    f"and in {found.file} of {found.task}, line {found.line}; {found.grams} run(s) in all",
                )

    def _copies(self, left: Sequence[Candidate]) -> Refusals:
        index = NearIndex(self._terms.near_duplicate or 1.0)
        for candidate in left:
            sketch = index.sketch(own_text(candidate.turns))
            near = max(index.near(sketch), default=None)
            if near is not None:
                yield candidate, f"Jaccard similarity {near[0]:.2f} with {near[1]}"
            else:
                index.keep(candidate.name, sketch)

    def _cap(
        self, rule: Rule, most: int | None, word: str, groups: Callable[[Candidate], Sequence[str]]
    ) -> tuple[Rule, str, Check | None]:
        def check(left: Sequence[Candidate]) -> Refusals:
            taken = Counter[str]()
            for candidate in left:
                full = [group for group in groups(candidate) if taken[group] >= (most or 0)]
                if full:
                    yield candidate, f"{word} {full[0]} has its {most}"
                else:
                    taken.update(groups(candidate))

        return rule, f"at most {most} per {word}" if most else OFF, self._if(most, check)

    def _mixture(self, left: Sequence[Candidate]) -> Refusals:
        successes = sum(candidate.trial.success for candidate in left)
        share = self._terms.failure_share
        # The largest whole number of failures whose share of all rows is not above what was asked for.
        room = int(successes * share / (1 - share) + 1e-9)
        failures = [candidate for candidate in left if not candidate.trial.success]
        for candidate in failures[room:]:
            yield candidate, f"{room} failure(s) beside {successes} success(es) are enough"


def _seen_and_written(candidate: Candidate) -> Iterator[tuple[str, str]]:
    """Every text that is compared with benchmarks, and where it stands: messages, and keys that several commands sent.

    Commands end words in a reply, not at the terminal, where they are one stream of keys.
    """
    for number, message in enumerate(candidate.messages, start=1):
        yield message["content"], f"message {number} ({message['role']})"
    for turn in candidate.turns:
        if len(turn.commands) > 1:
            yield typed(turn), f"the keys of turn {turn.number}"


def _each(reason: Callable[[Candidate], str | None]) -> Check:
    """A rule that looks at one candidate at a time; a reason refuses it."""

    def check(left: Sequence[Candidate]) -> Refusals:
        for candidate in left:
            why = reason(candidate)
            if why is not None:
                yield candidate, why

    return check


def _said(asked: bool, text: str) -> str:
    return text if asked else OFF


def _fallen(candidate: Candidate) -> str | None:
    return f"bundle {candidate.trial.bundle[:12]} is not the accepted one" if candidate.fallen else None


def _trouble(candidate: Candidate) -> str | None:
    trial = candidate.trial
    return f"ended by {trial.stop.value}" if trial.reward is None or trial.stop in TROUBLE else None


def _not_kept(candidate: Candidate) -> str | None:
    return not_as_held(candidate.trial, candidate.context)


def _failure(candidate: Candidate) -> str | None:
    return (
        None if candidate.trial.success else f"reward {candidate.trial.reward}, ended by {candidate.trial.stop.value}"
    )


def _unclean(candidate: Candidate) -> str | None:
    turn = next((turn for turn in candidate.turns if turn.parse_error is not None), None)
    return f"turn {turn.number}: {turn.parse_error}" if turn else None
