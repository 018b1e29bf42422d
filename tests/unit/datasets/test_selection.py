"""Each rule refuses what it should, with evidence, and prefers what it says."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from facet_dagster.datasets.benchmarks import BenchmarkText
from facet_dagster.datasets.contamination import Contamination
from facet_dagster.datasets.selection import Candidate, select
from facet_dagster.datasets.tokens import TokenCounter
from facet_dagster.errors import SettingsError
from facet_dagster.records.rollout import Keystrokes, StopReason, Trial, Turn
from facet_dagster.records.sft import Rule
from facet_dagster.records.terms import SftTerms

AT = datetime(2026, 1, 1, tzinfo=UTC)
SAID = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"


def candidate(seed, attempt=0, *, reward=1.0, raw=None, error=None, skills=(), lineage=None, stop=StopReason.COMPLETED):
    turn = Turn(
        number=1, prompt="saw", raw=raw or f"wrote {seed} {attempt} and nothing else", analysis="", plan="",
        commands=(), task_complete=True, parse_error=error, observation="", prompt_tokens=1, completion_tokens=1,
        cost_usd=0, at=AT,
    )  # fmt: skip
    made = Trial(
        seed=seed, task=f"org/{seed}", bundle="b" * 64, attempt=attempt, model="m", recorded=False, stop=stop,
        reward=reward, grade=None, turns=(turn,), seconds=1, started_at=AT, run_id="r",
    )  # fmt: skip
    return Candidate(made, tuple(skills), lineage or seed)


def chosen(candidates, benchmarks=None, **terms):
    """(seed, attempt) of the rows, and what refused the others."""
    selection = select(candidates, SftTerms(**terms), TokenCounter(None), benchmarks)
    names = {c.name: (c.trial.seed, c.trial.attempt) for c in candidates}
    refused = {names[name]: why for name, why in selection.refused.items()}
    assert len(selection.chosen) + len(refused) == len(candidates)
    assert [step.rule for step in selection.funnel] == list(Rule)
    assert sum(step.removed for step in selection.funnel) == len(refused)
    return [(c.trial.seed, c.trial.attempt) for c in selection.chosen], refused


def test_trouble_is_no_failure():
    trials = [candidate("a", reward=None), candidate("b", stop=StopReason.INFRASTRUCTURE), candidate("c", reward=0.0)]
    _, refused = chosen(trials)
    assert [refused[seed, 0][0] for seed in "abc"] == [Rule.TROUBLE, Rule.TROUBLE, Rule.FAILURE]


@pytest.mark.parametrize(("clean_only", "seeds"), [(False, ["a", "b"]), (True, ["a"])])
def test_clean_trials_only_where_that_is_asked_for(clean_only, seeds):
    rows, refused = chosen([candidate("a"), candidate("b", error="no object")], parse_clean_only=clean_only)
    assert [seed for seed, _ in rows] == seeds
    assert refused == ({("b", 0): (Rule.PARSE_ERROR, "turn 1: no object")} if clean_only else {})


def test_what_is_too_long_for_the_student_is_left_out_with_its_length():
    rows, refused = chosen([candidate("a"), candidate("b", raw="x" * 400)], max_tokens=50)
    assert rows == [("a", 0)] and refused == {("b", 0): (Rule.TOO_LONG, "111 tokens")}


@pytest.mark.parametrize(("share", "failures"), [(0.0, 0), (0.2, 0), (0.25, 1), (0.5, 3), (0.7, 4)])
def test_failures_are_at_most_the_share_asked_for(share, failures):
    trials = [candidate(f"s{n}") for n in range(3)] + [candidate(f"f{n}", reward=0.0) for n in range(4)]
    rows, refused = chosen(trials, failure_share=share)
    assert sum(seed.startswith("f") for seed, _ in rows) == failures
    assert {rule for rule, _ in refused.values()} <= {Rule.FAILURE, Rule.MIXTURE}


def test_a_cap_per_task_prefers_successes_then_first_attempts():
    trials = [candidate("a", 0, reward=0.0), candidate("a", 1), candidate("a", 2), candidate("b", 0)]
    rows, refused = chosen(trials, rows_per_task=1, failure_share=0.5)
    assert rows == [("a", 1), ("b", 0)]
    assert refused["a", 2] == (Rule.TASK_CAP, "task org/a has its 1")


def test_caps_per_skill_and_lineage():
    trials = [candidate(seed, n, skills=("csv", seed), lineage="a") for seed in "abc" for n in (0, 1)]
    rows, refused = chosen(trials, rows_per_skill=3)
    # First attempts of every task come before second ones.
    assert [n for _, n in rows] == [0, 0, 0] and {rule for rule, _ in refused.values()} == {Rule.SKILL_CAP}
    rows, refused = chosen(trials, rows_per_lineage=2)
    assert len(rows) == 2 and {rule for rule, _ in refused.values()} == {Rule.LINEAGE_CAP}


def test_near_copies_are_found_by_what_the_model_wrote():
    trials = [candidate("a", raw=SAID), candidate("b", raw=SAID + " fifteen"), candidate("c", raw=SAID[::-1])]
    rows, refused = chosen(trials, near_duplicate=0.8)
    assert len(rows) == 2 and ("c", 0) in rows
    ((rule, evidence),) = refused.values()
    assert rule is Rule.NEAR_DUPLICATE and evidence.startswith("Jaccard similarity 0.91 with ")


def test_an_overlap_with_a_benchmark_is_quoted_with_both_places():
    benchmark = Contamination([BenchmarkText("hello", "hello/instruction.md", f"Do this:\n{SAID}")], common=10)
    rows, refused = chosen([candidate("a", raw=f"so I say {SAID.upper()}!"), candidate("b")], benchmark)
    assert rows == [("b", 0)]
    rule, evidence = refused["a", 0]
    assert rule is Rule.CONTAMINATED
    assert evidence == (
        "“one two three four five six seven eight nine ten eleven twelve thirteen” in message 2 (assistant) from "
        "word 4, and in hello/instruction.md of hello, line 2; 2 run(s) in all"
    )


def test_what_was_typed_is_compared_as_the_terminal_got_it():
    """Lines of a benchmark in the commands of a reply: escaped there, in pieces, or in a reply that was not read."""
    lines = ['cat > a.py << "EOF"', "import json, sys", 'print("one two three")', "four(five, six)", "seven eight"]
    benchmark = Contamination([BenchmarkText("t", "t/solve.sh", "\n".join(lines))], common=10)
    whole, pieces = ["\n".join(lines) + "\n"], [line + "\n" for line in lines]
    trials = [typing("a", whole), typing("b", pieces), typing("c", whole, error="no object"), typing("d", pieces[::2])]
    rows, refused = chosen(trials, benchmark)
    assert rows == [("d", 0)] and {rule for rule, _ in refused.values()} == {Rule.CONTAMINATED}
    run = "cat a py eof import json sys print one two three four five"
    places = {seed: why.partition(f"“{run}” in ")[2].partition(",")[0] for (seed, _), (_, why) in refused.items()}
    assert places == {
        "a": "message 2 (assistant) from word 7",
        "b": "the keys of turn 1 from word 1",
        "c": "message 2 (assistant) from word 7",
    }


@pytest.mark.parametrize("field", ["analysis", "plan"])
def test_what_was_thought_is_compared_too(field):
    benchmark = Contamination([BenchmarkText("t", "t/instruction.md", SAID)], common=10)
    said = json.dumps({"analysis": "", "plan": "", "commands": [], field: SAID.replace(" ", "\n")})
    _, refused = chosen([candidate("a", raw=said)], benchmark)
    assert refused["a", 0][0] is Rule.CONTAMINATED


def typing(seed, keys, error=None):
    """A candidate whose reply types these keys, in JSON; one that was not understood has no commands."""
    reply = {"analysis": "x", "plan": "y", "commands": [{"keystrokes": each} for each in keys]}
    made = candidate(seed, raw=json.dumps(reply), error=error)
    commands = () if error else tuple(Keystrokes(keystrokes=each) for each in keys)
    turn = made.turns[0].model_copy(update={"commands": commands})
    return Candidate(made.trial.model_copy(update={"turns": (turn,)}), (), seed)


seeds_and_attempts = st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0, None]))


@settings(deadline=None)
@given(st.lists(seeds_and_attempts, max_size=9))
def test_every_trial_is_a_row_or_refused_once_whatever_is_asked(drawn):
    trials = {(seed, n): candidate(seed, n, reward=reward, skills=("k",), lineage="l") for seed, n, reward in drawn}
    terms = {"failure_share": 0.3, "rows_per_task": 2, "rows_per_skill": 4, "near_duplicate": 0.9, "max_tokens": 1000}
    rows, refused = chosen(list(trials.values()), **terms)
    assert (rows, refused) == chosen(list(trials.values())[::-1], **terms)
    failures = sum(trials[row].trial.reward != 1.0 for row in rows)
    assert failures <= 0.3 * len(rows) + 1e-9


def test_a_tokenizer_is_used_named_and_not_cut_short(tmp_path):
    inner = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.enable_truncation(2)
    inner.save(str(tmp_path / "tokenizer.json"))
    for given_path in (tmp_path, tmp_path / "tokenizer.json"):
        counter = TokenCounter(given_path)
        assert counter.count([{"role": "user", "content": "a a a b"}, {"role": "assistant", "content": "a"}]) == 5 + 10
        assert f"{tmp_path.name}/tokenizer.json, 2 tokens" in counter.name
    assert "estimate" in TokenCounter(None).name


@pytest.mark.parametrize("text", [None, "no json", "[]", "{}", b"\xff"])
def test_what_is_no_tokenizer_is_one_clear_line(tmp_path, text):
    file = tmp_path / "tokenizer.json"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SettingsError, match=r"tokenizer\.json"):
        TokenCounter(file)
