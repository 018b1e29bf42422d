"""The files of a set: what was chosen, as it was held, split and described; the same files for the same trials."""

import json
import re
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from facet_dagster.datasets.dialogue import contexts_of, loss_mask_of, messages_of
from facet_dagster.datasets.sft import export_sft
from facet_dagster.records.rollout import REBUILT, Handover, StopReason, Trial, Turn
from facet_dagster.records.sft import Rule
from facet_dagster.records.terms import SftTerms

AT = datetime(2026, 1, 1, tzinfo=UTC)


def trial(seed: str, attempt: int = 0, *, reward: float | None = 1.0, error: str | None = None, **more) -> Trial:
    turns = tuple(
        Turn(
            number=n, prompt=f"saw {n} ✓", raw=f"  wrote {n}\n", analysis="", plan="", commands=(),
            task_complete=False, parse_error=error if n == 1 else None, observation="o", prompt_tokens=10,
            completion_tokens=3, cost_usd=0, at=AT,
        )
        for n in (1, 2)
    )  # fmt: skip
    fields = {"recorded": False, "model": "m", "turns": turns, **more}
    return Trial(
        seed=seed, task=f"org/{seed}", bundle="b" * 64, attempt=attempt, stop=StopReason.COMPLETED, reward=reward,
        grade=None, seconds=1, started_at=AT, run_id="r", **fields,
    )  # fmt: skip


def rows_of(folder, side="train"):
    rows = [json.loads(line) for line in (folder / f"{side}.jsonl").read_text().splitlines()]
    assert pq.read_table(folder / f"{side}.parquet").to_pylist() == rows
    return rows


def removed(made):
    return {step.rule: step.removed for step in made.funnel if step.removed}


def test_the_dialogue_stands_as_it_was_held(tmp_path, skills):
    made = export_sft([trial("s")], tmp_path, skills={"s": skills})
    (row,) = rows_of(tmp_path)
    assert row["messages"] == [
        {"role": "user", "content": "saw 1 ✓"},
        {"role": "assistant", "content": "  wrote 1\n"},
        {"role": "user", "content": "saw 2 ✓"},
        {"role": "assistant", "content": "  wrote 2\n"},
    ]
    assert row["loss_mask"] == [False, True, False, True]
    assert (row["turns"], row["prompt_tokens"], row["completion_tokens"], row["reward"]) == (2, 20, 6, 1.0)
    assert row["licences"] == ["MIT", "Apache-2.0"]
    assert made.licences == ("Apache-2.0", "MIT")


def handed_over(**more) -> Trial:
    """Two turns in the first context, none in the second (it was full at once), one in the third."""
    one, two = trial("s").turns
    late = two.model_copy(update={"number": 3, "context": 2, "prompt": "saw 3", "raw": "wrote 3", **more})
    handovers = tuple(Handover(context=n, turn=3, text=f"so far {n}", calls=()) for n in (1, 2))
    return trial("s", turns=(one, two, late), handovers=handovers)


def test_each_context_of_a_trial_that_was_handed_over_is_a_row_of_what_the_model_saw(tmp_path):
    made = export_sft([handed_over(), trial("a")], tmp_path, skills={})
    _, first, last = rows_of(tmp_path)
    assert [message["content"] for message in first["messages"]] == ["saw 1 ✓", "  wrote 1\n", "saw 2 ✓", "  wrote 2\n"]
    assert [message["content"] for message in last["messages"]] == ["saw 1 ✓", "so far 2", "saw 3", "wrote 3"]
    assert (first["loss_mask"], last["loss_mask"]) == ([False, True] * 2, [False, False, False, True])
    assert [(row["context"], row["turns"], row["completion_tokens"]) for row in (first, last)] == [(0, 2, 6), (2, 1, 3)]
    assert (made.trials, made.dialogues, made.rows, made.handed_over) == (2, 3, 3, 1)
    assert (made.turns, made.masked_turns) == (5, 0), "a hand-over is no turn, and no turn is lost"
    card = " ".join((tmp_path / "README.md").read_text().split())
    assert "3 dialogue(s) of 2 trial(s)" in card and "1 row(s) begin with a hand-over" in card
    shared = [json.loads(line) for line in (tmp_path / "train_sharegpt.jsonl").read_text().splitlines()]
    assert [row["id"].count("context") for row in shared] == [0, 0], "ShareGPT cannot mask a hand-over"
    assert "1 row(s) that are trained on only in part are left out" in card


def test_a_dialogue_without_a_trained_word_is_no_row(tmp_path):
    trials = [handed_over(parse_error="bad"), trial("b", turns=()), trial("c", turns=blank(trial("c")))]
    made = export_sft(trials, tmp_path, skills={}, terms=SftTerms(mask_parse_errors=True))
    assert [(row["seed"], row["context"]) for row in rows_of(tmp_path)] == [("s", 0)]
    assert removed(made) == {Rule.EMPTY: 3} and made.masked_turns == 0
    assert {(d.seed, d.context): d.evidence for d in made.decisions if d.rule} == {
        ("b", 0): "0 turn(s), no text",
        ("c", 0): "2 turn(s), no text",
        ("s", 2): "1 turn(s), all masked",
    }


def blank(of: Trial) -> tuple[Turn, ...]:
    return tuple(turn.model_copy(update={"raw": " \n"}) for turn in of.turns)


def test_a_reply_cut_off_at_the_length_limit_is_not_trained_on(tmp_path):
    first, second = trial("s").turns
    cut = first.model_copy(update={"finish_reason": "length"})
    made = export_sft([trial("s", turns=(cut, second))], tmp_path, skills={})
    assert rows_of(tmp_path)[0]["loss_mask"] == [False, False, False, True] and made.masked_turns == 1


def test_what_was_not_kept_as_it_was_held_is_no_row(tmp_path):
    first, second = trial("s").turns
    rebuilt = trial("r", turns=(first, second.model_copy(update={"warnings": (REBUILT,)})), engine="harbor")
    imported = handed_over().model_copy(update={"engine": "harbor"})
    made = export_sft([rebuilt, imported], tmp_path, skills={})
    assert [(row["seed"], row["context"]) for row in rows_of(tmp_path)] == [("s", 0)]
    assert removed(made) == {Rule.NOT_KEPT: 2}
    assert [d.evidence[:6] for d in made.decisions if d.rule] == ["turn 2", "of the"]


turn_marks = st.tuples(st.integers(0, 2), st.booleans(), st.booleans(), st.booleans())


@settings(deadline=None)
@given(st.lists(turn_marks, max_size=7), st.booleans())
def test_every_turn_stands_once_after_all_that_the_model_saw_and_nothing_else(marks, masked):
    """Against the agent's own rule: a context starts with the opening, what was handed over, and the last screen."""
    first, context, seen, turns, handovers, held = trial("s").turns[0], 0, ["saw 0"], [], [], []
    for number, (more, unclean, cut, _) in enumerate(sorted(marks, key=lambda mark: mark[3])):
        for _ in range(more if number else 0):
            context += 1
            handovers.append(Handover(context=context, turn=number + 1, text=f"handed {context}", calls=()))
            seen = ["saw 0", f"handed {context}", f"saw {number}"]
        held.append((tuple(seen), f"wrote {number}", not cut and not (masked and unclean)))
        said = {"number": number + 1, "prompt": f"saw {number}", "raw": f"wrote {number}", "context": context}
        said |= {"parse_error": "bad" if unclean else None, "finish_reason": "length" if cut else "stop"}
        turns.append(first.model_copy(update=said))
        seen = [*seen, f"wrote {number}", f"saw {number + 1}"]
    made = trial("s", turns=tuple(turns), handovers=tuple(handovers))
    found = []
    for each in contexts_of(made):
        said = [message["content"] for message in messages_of(made, each)]
        mask = loss_mask_of(made, each, mask_parse_errors=masked)
        assert len(said) == len(mask)
        found += [
            (tuple(said[:at]), text, mask[at])
            for at, text in enumerate(said)
            if at % 2 and not text.startswith("handed")
        ]
    assert found == held


def test_only_successes_become_rows_and_every_trial_is_counted(tmp_path):
    trials = [trial("a"), trial("b", reward=0.0), trial("c", reward=None), trial("d", reward=0.5), trial("e", turns=())]
    made = export_sft(trials, tmp_path, skills={}, standing={(seed, "b" * 64) for seed in "abcde"})
    assert [row["seed"] for row in rows_of(tmp_path)] == ["a"]
    assert removed(made) == {Rule.FAILURE: 2, Rule.TROUBLE: 1, Rule.EMPTY: 1}
    assert made.trials == made.rows + sum(step.removed for step in made.funnel) == 5
    assert made.funnel[-1].left == made.rows


def test_trials_on_tasks_that_fell_are_counted_as_removed(tmp_path):
    made = export_sft([trial("a"), trial("b")], tmp_path, skills={}, standing={("a", "b" * 64)})
    assert removed(made) == {Rule.TASK_FALLEN: 1} and [row["seed"] for row in rows_of(tmp_path)] == ["a"]


def test_the_order_does_not_depend_on_the_order_given(tmp_path, skills):
    trials = [trial("b", 1), trial("a"), trial("b", 0), trial("c")]
    terms = SftTerms(validation_share=0.3, rows_per_task=1, near_duplicate=0.99)
    one = export_sft(trials, tmp_path / "1", skills={"a": skills}, terms=terms)
    two = export_sft(trials[::-1], tmp_path / "2", skills={"a": skills}, terms=terms)
    assert one.set_id == two.set_id
    files = sorted(path.relative_to(tmp_path / "1") for path in (tmp_path / "1").rglob("*") if path.is_file())
    assert len(files) > 8
    assert all((tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes() for name in files)


def test_a_turn_that_was_not_understood_is_masked_where_that_is_asked_for(tmp_path):
    trials = [trial("a"), trial("b", error="bad")]
    made = export_sft(trials, tmp_path, skills={}, terms=SftTerms(mask_parse_errors=True))
    assert [row["loss_mask"] for row in rows_of(tmp_path)] == [[False, True] * 2, [False, False, False, True]]
    shared = [json.loads(line) for line in (tmp_path / "train_sharegpt.jsonl").read_text().splitlines()]
    assert [row["id"].split("/")[0] for row in shared] == ["a"] and made.masked_turns == 1
    assert "1 row(s) that\nare trained on only in part are left out" in (tmp_path / "README.md").read_text()


def test_sharegpt_holds_the_same_dialogue(tmp_path):
    export_sft([trial("a")], tmp_path, skills={})
    (shared,) = [json.loads(line) for line in (tmp_path / "train_sharegpt.jsonl").read_text().splitlines()]
    (row,) = rows_of(tmp_path)
    assert [turn["from"] for turn in shared["conversations"]] == ["human", "gpt"] * 2
    assert [turn["value"] for turn in shared["conversations"]] == [m["content"] for m in row["messages"]]


def test_both_sides_of_a_split_are_written_and_taken_away_again(tmp_path):
    trials = [trial(seed, attempt) for seed in "abcd" for attempt in (0, 1)]
    made = export_sft(trials, tmp_path, skills={}, terms=SftTerms(validation_share=0.25))
    sides = {side: {row["seed"] for row in rows_of(tmp_path, side)} for side in ("train", "validation")}
    assert (made.train, made.validation) == (6, 2) and not sides["train"] & sides["validation"]
    assert {d.split for d in made.decisions if d.seed in sides["validation"]} == {"validation"}
    assert set(json.loads((tmp_path / "dataset_info.json").read_text())) == {"facet_train", "facet_validation"}
    export_sft(trials, tmp_path, skills={})
    assert not list(tmp_path.glob("validation*"))
    assert set(json.loads((tmp_path / "dataset_info.json").read_text())) == {"facet_train"}


def test_every_decision_is_in_the_set_with_its_evidence(tmp_path):
    export_sft([trial("a"), trial("b", reward=0.5)], tmp_path, skills={})
    lines = pq.read_table(tmp_path / "selection.parquet").to_pylist()
    assert [(line["seed"], line["split"], line["rule"], line["evidence"]) for line in lines] == [
        ("a", "train", None, ""),
        ("b", None, "failure", "reward 0.5, ended by completed"),
    ]


def test_training_files_carry_the_settings_of_the_paper(tmp_path):
    export_sft([trial("a")], tmp_path, skills={}, terms=SftTerms(cutoff=16_384))
    for name in ("qwen3.5-4b", "qwen3.5-9b", "qwen3.5-27b"):
        said = yaml.safe_load((tmp_path / "training" / f"{name}.yaml").read_text())
        assert said["model_name_or_path"].lower() == f"qwen/{name}" and said["cutoff_len"] == 16_384
        assert (said["num_train_epochs"], said["learning_rate"], said["warmup_ratio"]) == (3.0, 1e-5, 0.1)
        assert said["per_device_train_batch_size"] * said["gradient_accumulation_steps"] * 8 == 64
        assert (said["finetuning_type"], said["lr_scheduler_type"], said["bf16"]) == ("full", "cosine", True)
        assert json.loads((tmp_path / said["deepspeed"]).read_text())["zero_optimization"]["stage"] == 3
        assert said["dataset"] in json.loads((tmp_path / "dataset_info.json").read_text())


def test_without_a_success_the_set_is_valid_and_says_that_it_is_empty(tmp_path):
    made = export_sft([trial("a", reward=0.0)], tmp_path, skills={})
    assert rows_of(tmp_path) == [] and pq.read_schema(tmp_path / "train.parquet").names[0] == "messages"
    assert "This set is empty" in (tmp_path / "README.md").read_text() and made.rows == 0


def test_the_card_names_sources_licences_and_recordings(tmp_path, skills):
    export_sft([trial("s", recorded=True)], tmp_path, skills={"s": skills})
    readme = (tmp_path / "README.md").read_text()
    assert "Recorded answers" in readme and "| csv-tools-1 | samples | csv-tools/SKILL.md | MIT |" in readme
    assert "| org/s | train | 1 |" in readme and "| failure | complete successes | 0 | 1 |" in readme
    assert "Not decontaminated" in readme and "an estimate: no tokenizer was given" in readme
    export_sft([trial("s")], tmp_path, skills={"s": skills})
    readme = (tmp_path / "README.md").read_text()
    assert "Recorded answers" not in readme and "All trials were live" in readme


def test_the_card_is_read_by_dataset_hubs(tmp_path):
    export_sft([trial("s")], tmp_path, skills={})
    said = yaml.safe_load((tmp_path / "README.md").read_text().split("---\n")[1])
    files = [entry["path"] for config in said["configs"] for entry in config["data_files"]]
    assert files == ["train.parquet"] and all((tmp_path / name).exists() for name in files)


def test_sharegpt_without_a_row_for_validation_is_not_named_to_a_trainer(tmp_path):
    """LLaMA-Factory ends at a file without rows."""
    trials = [trial("a", error="bad"), trial("b"), trial("c"), trial("d")]
    sides = {}
    for split_seed in range(20):
        terms = SftTerms(validation_share=0.25, mask_parse_errors=True, split_seed=split_seed)
        export_sft(trials, tmp_path, skills={}, terms=terms)
        (row,) = rows_of(tmp_path, "validation")
        named = "facet_validation" in json.loads((tmp_path / "dataset_info.json").read_text())
        said = yaml.safe_load((tmp_path / "training/qwen3.5-4b.yaml").read_text())
        assert named == ("eval_dataset" in said)
        sides[row["seed"]] = named
    assert sides["a"] is False and True in sides.values()


def test_where_no_row_is_left_for_sharegpt_the_card_says_so(tmp_path):
    export_sft([trial("a", error="bad")], tmp_path, skills={}, terms=SftTerms(mask_parse_errors=True))
    assert "**No row is left in it**" in (tmp_path / "README.md").read_text()


def test_what_cannot_be_divided_is_told(tmp_path, skills):
    """Two tasks that share a skill are one lineage."""
    terms = SftTerms(validation_share=0.25, split_by="lineage")
    made = export_sft([trial("a"), trial("b")], tmp_path, skills={"a": skills, "b": skills}, terms=terms)
    card = (tmp_path / "README.md").read_text()
    assert (made.train, made.validation) == (2, 0) and not list(tmp_path.glob("validation*"))
    assert "None: 25% of the rows were asked for, but all rows are of one lineage" in card


@pytest.mark.parametrize(
    "text", ["終わり \u2028 ü\u0301 \x00 \x1b[31m 😀 \r\n \ufeff", "\\ud800 \\n", "| `x` | </b> {{ y }}"]
)
def test_any_text_comes_back_as_it_was(tmp_path, text, skills):
    hostile = [skills[0].model_copy(update={"licence": text.replace("\x00", ""), "path": f"a|b\n{text}"})]
    one = trial("a").turns[0].model_copy(update={"prompt": text, "raw": text})
    made = export_sft([trial("a", turns=(one,), model=text)], tmp_path, skills={"a": hostile})
    lines = (tmp_path / "train.jsonl").read_bytes().decode().split("\n")
    assert lines[1:] == [""] and pq.read_table(tmp_path / "train.parquet").to_pylist() == [json.loads(lines[0])]
    assert [message["content"] for message in json.loads(lines[0])["messages"]] == [text, text] and made.rows == 1
    tables = [line for line in (tmp_path / "README.md").read_text().split("\n") if line.startswith("| csv-tools-1 ")]
    assert len(tables) == 1 and len(re.split(r"(?<!\\)\|", tables[0])) == 6


def test_unknown_licences_and_sources_are_counted(tmp_path, skills):
    unknown = [skills[0], skills[1].model_copy(update={"licence": "unknown"})]
    export_sft([trial("a"), trial("b"), trial("c")], tmp_path, skills={"a": unknown, "b": skills})
    card = (tmp_path / "README.md").read_text()
    assert "**Unknown licence**: 1 row(s)" in card and "**Unknown sources**: of 1 row(s)" in card
    assert "- n<1K\n" in card and "Held: 2026-01-01." in card
