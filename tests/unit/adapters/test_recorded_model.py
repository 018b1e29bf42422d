"""Replay by identity, changed prompts reported, broken folders refused, recordings written stably."""

from pathlib import Path

import pytest

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.recorded_model import RecordedModel
from facet_dagster.adapters.recordings import export_recordings
from facet_dagster.errors import NoRecording, SettingsError
from facet_dagster.records.call import CallId, ChatRequest, Completion, Message, Role
from facet_dagster.testing.memory_store import MemoryStore

NAMES = dict.fromkeys(Role, "big-model")


def request(subject: str = "seed-1", *, turn: int = 0, text: str = "hello", prompt_hash: str = "p") -> ChatRequest:
    return ChatRequest(
        call=CallId(station="scenario.analysis", subject=subject, turn=turn),
        role=Role.AUTHOR,
        messages=(Message(role="user", content=text),),
        prompt_hash=prompt_hash,
    )


def write(store: MemoryStore, asked: ChatRequest, text: str) -> None:
    ledger = StoreLedger(store, names=NAMES, prices={}, budget_tokens=None, budget_usd=None, run_id="r")
    completion = Completion(
        text=text, model="big-model-2026", prompt_tokens=5, completion_tokens=2, finish_reason="length"
    )
    ledger.write(asked, completion)


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    for turn in (10, 2, 0):
        write(store, request(turn=turn), f"answer {turn}")
    write(store, request("seed-2"), "zwei — 2")
    return store


async def test_what_was_recorded_is_replayed(store: MemoryStore, tmp_path: Path) -> None:
    assert export_recordings(store, tmp_path) == 4
    model = RecordedModel(tmp_path)
    completion = await model.complete(request(turn=2))
    assert completion == Completion(
        text="answer 2",
        model="big-model-2026",
        prompt_tokens=5,
        completion_tokens=2,
        finish_reason="length",
        recorded=True,
    )
    assert (await model.complete(request("seed-2"))).text == "zwei — 2"
    assert model.changed == []


async def test_recordings_go_by_the_call_whatever_it_stands_on(store: MemoryStore, tmp_path: Path) -> None:
    export_recordings(store, tmp_path)
    asked = request(turn=2).model_copy(update={"basis": "b" * 64})
    assert asked.fingerprint("m") != request(turn=2).fingerprint("m")
    model = RecordedModel(tmp_path)
    assert (await model.complete(asked)).text == "answer 2" and model.changed == []


async def test_a_changed_prompt_is_replayed_and_reported_once(store: MemoryStore, tmp_path: Path) -> None:
    export_recordings(store, tmp_path)
    model = RecordedModel(tmp_path)
    for changed in (request(prompt_hash="q"), request(prompt_hash="q"), request(turn=2, prompt_hash="q")):
        await model.complete(changed)
    assert model.changed == ["scenario.analysis/seed-1/r0/a0/t0", "scenario.analysis/seed-1/r0/a0/t2"]


async def test_what_an_opening_quotes_of_a_container_may_differ(store: MemoryStore, tmp_path: Path) -> None:
    export_recordings(store, tmp_path)
    model = RecordedModel(tmp_path)
    await model.complete(request(text="a build log with other seconds in it"))
    assert model.changed == []


async def test_no_recording_says_how_to_get_a_model(store: MemoryStore, tmp_path: Path) -> None:
    export_recordings(store, tmp_path)
    with pytest.raises(NoRecording, match=r"seed-3.*FACET_LLM_BASE_URL.*FACET_LLM_API_KEY.*FACET_MODEL") as caught:
        await RecordedModel(tmp_path).complete(request("seed-3"))
    assert "\n" not in str(caught.value)


def test_export_is_stable_sorted_and_by_subject(store: MemoryStore, tmp_path: Path) -> None:
    export_recordings(store, tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    export_recordings(store, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first
    assert sorted(first) == ["seed-1.jsonl", "seed-2.jsonl"]
    turns = [line.split(b'"turn":')[1].split(b"}")[0] for line in first["seed-1.jsonl"].splitlines()]
    assert turns == [b"0", b"2", b"10"]


def test_export_of_named_subjects_leaves_other_files_alone(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "seed-1.jsonl").write_text("untouched")
    assert export_recordings(store, tmp_path, {"seed-2"}) == 1
    assert (tmp_path / "seed-1.jsonl").read_text() == "untouched"


async def test_the_latest_answer_to_a_call_is_exported(store: MemoryStore, tmp_path: Path) -> None:
    write(store, request(text="asked differently"), "newer")
    assert export_recordings(store, tmp_path) == 4
    assert (await RecordedModel(tmp_path).complete(request())).text == "newer"


def test_the_name_follows_the_recordings(store: MemoryStore, tmp_path: Path) -> None:
    export_recordings(store, tmp_path)
    before = RecordedModel(tmp_path).name
    assert RecordedModel(tmp_path).name == before
    (tmp_path / "seed-2.jsonl").unlink()
    assert RecordedModel(tmp_path).name != before


@pytest.mark.parametrize("content", ['{"call": ', '{"unknown": 1}', "\xff"])
def test_a_broken_file_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(content, encoding="latin-1")
    with pytest.raises(SettingsError, match=r"a\.jsonl:1"):
        RecordedModel(tmp_path)


def test_a_call_recorded_twice_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    export_recordings(store, tmp_path)
    text = (tmp_path / "seed-2.jsonl").read_text()
    (tmp_path / "seed-2.jsonl").write_text(text + text.replace("zwei", "drei"))
    with pytest.raises(SettingsError, match="recorded twice"):
        RecordedModel(tmp_path)


def test_a_missing_or_empty_folder_is_a_settings_error(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(SettingsError, match="FACET_RECORDINGS"):
            RecordedModel(folder)
