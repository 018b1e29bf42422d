"""Runs of 13 words against brute force, and which texts of a benchmark are read."""

import json
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from facet_dagster.datasets.benchmarks import BenchmarkText, read_benchmarks
from facet_dagster.datasets.contamination import GRAM, Contamination, words_of
from facet_dagster.errors import SettingsError

LONG = " ".join(f"w{n}" for n in range(40))
words = st.lists(st.sampled_from(["a", "B", "c"]), max_size=40).map(" ".join)


def grams(text):
    parts = text.lower().split()
    return [tuple(parts[at : at + GRAM]) for at in range(len(parts) - GRAM + 1)]


@settings(deadline=None)
@given(st.lists(words, min_size=1, max_size=3), words)
def test_agrees_with_brute_force(benchmark, text):
    texts = [BenchmarkText(f"t{n}", f"f{n}", each) for n, each in enumerate(benchmark)]
    known = {gram for each in benchmark for gram in grams(each)}
    matches = [at for at, gram in enumerate(grams(text)) if gram in known]
    different = {grams(text)[at] for at in matches}
    found = Contamination(texts, common=10).overlap([text])
    if not matches:
        assert found is None
    else:
        assert found is not None
        assert (found.word, found.grams, tuple(found.words.split())) == (
            matches[0], len(different), grams(text)[matches[0]],
        )  # fmt: skip
        assert tuple(found.words.split()) in grams(benchmark[int(found.task[1:])])


@settings(deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_can_be_compared(one, other):
    index = Contamination([BenchmarkText("t", "f", one)], common=1)
    enough = len(re.findall(r"\w+", one)) >= GRAM
    assert (index.overlap([other, one]) is not None) == enough


def test_runs_do_not_go_through_the_border_of_two_texts():
    index = Contamination([BenchmarkText("t", "f", LONG)], common=10)
    half = LONG.split()
    assert index.overlap([" ".join(half[:12]), " ".join(half[12:20])]) is None
    found = index.overlap(["", " ".join(half[5:18])])
    assert found is not None and (found.part, found.word, found.grams) == (1, 0, 1)


def test_what_stands_in_many_tasks_is_boilerplate():
    texts = [BenchmarkText(f"t{n}", part, LONG) for n in range(3) for part in ("tests/test.sh", "solution/solve.sh")]
    assert Contamination(texts, common=3).overlap([LONG]) is not None
    index = Contamination(texts, common=2)
    assert index.overlap([LONG]) is None and index.boilerplate == 40 - GRAM + 1


def test_harbor_tasks_are_read_without_their_environment(tmp_path):
    task = tmp_path / "group" / "hello"
    for name in ("task.toml", "instruction.md", "solution/solve.sh", "tests/test_state.py", "environment/Dockerfile"):
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(f"text of {name}")
    (task / "tests" / "data.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "notes.md").write_text("loose")
    old = tmp_path / "old"
    old.mkdir()
    (old / "task.yaml").write_text("instruction: |\n  do it")
    found = [(text.task, text.file) for text in read_benchmarks([tmp_path])]
    assert found == [
        ("group/hello", "group/hello/instruction.md"),
        ("group/hello", "group/hello/solution/solve.sh"),
        ("group/hello", "group/hello/tests/test_state.py"),
        ("old", "old/task.yaml"),
        ("notes.md", "notes.md"),
    ]
    assert read_benchmarks([task])[0].task == "hello"


def test_steps_and_old_encodings_of_a_task_are_read(tmp_path):
    (tmp_path / "task.toml").touch()
    for name in ("steps/one/instruction.md", "steps/one/tests/check.py", "steps/one/workdir/data.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(f"größer {name}".encode("latin-1"))
    found = {text.file: text.text for text in read_benchmarks([tmp_path])}
    assert found.keys() == {"steps/one/instruction.md", "steps/one/tests/check.py"}
    assert found["steps/one/instruction.md"].endswith("er steps/one/instruction.md")


def test_each_row_of_a_jsonl_file_is_a_task(tmp_path):
    file = tmp_path / "bench.jsonl"
    file.write_text(json.dumps({"q": "line\nbreak", "deep": [{"a": "x"}, 3]}) + "\n\n" + json.dumps({"q": "y"}) + "\n")
    assert [(text.task, text.text) for text in read_benchmarks([file])] == [
        ("bench.jsonl row 1", "line\nbreak\nx"),
        ("bench.jsonl row 3", "y"),
    ]


@pytest.mark.parametrize("name", ["missing", "empty", "bad.jsonl", "bad.txt"])
def test_a_benchmark_that_cannot_be_read_never_passes_for_clean(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.jsonl").write_text("{")
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=name):
        read_benchmarks([tmp_path / name])


SHOWN = 'say "é" to all\n\tof the\r\n“files”, then\nnot \\d+ more: see C:\\new\\table, quoted\n'


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_what_stands_escaped_in_a_reply_is_compared_as_it_was_meant(ascii_only, times):
    index = Contamination([BenchmarkText("t", "t/solution.sh", f"first\n{SHOWN}")], common=10)
    said = SHOWN
    for _ in range(times):
        said = json.dumps({"keystrokes": said}, ensure_ascii=ascii_only)
    found = index.overlap([said])
    assert found is not None and found.words == "say é to all of the files then not d more see c" and found.line == 2


@settings(deadline=None)
@given(st.text(st.sampled_from('ab é\n\t\r"\\n/終😀'), max_size=200), st.booleans())
def test_a_text_and_its_json_have_the_same_words(text, ascii_only):
    assume(not re.search(r"\\[^\x00-\x7f]", text))  # `\\\u00e9` may be a backslash and a letter, or an escape escaped
    assert words_of(json.dumps(text, ensure_ascii=ascii_only)) == words_of(text)


def test_letters_written_in_two_ways_are_the_same():
    index = Contamination([BenchmarkText("t", "f", "é " * GRAM)], common=10)
    assert index.overlap(["e\u0301 " * GRAM]) is not None
