"""Trainers themselves read what is exported: `datasets`, a step of TRL on a tiny student, LLaMA-Factory's loader.

They are installed by install.sh below FACET_SFT_HOME (default: ~/.cache/facet), each once, with PyTorch for CPU.
"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from facet_dagster.datasets.sft import export_sft
from facet_dagster.records.rollout import StopReason, Trial, Turn
from facet_dagster.records.terms import SftTerms

pytestmark = pytest.mark.sft

HERE = Path(__file__).parent
AT = datetime(2026, 1, 1, tzinfo=UTC)
NOT_UNDERSTOOD = "not understood"


def trial(seed: str, turns: int, unclean: int | None = None) -> Trial:
    """Text that a template or a careless reader would change: marks, blank ends, thinking tags, other scripts."""
    made = tuple(
        Turn(
            number=n, prompt=f"$ ls {seed} {n}\n<video> ✓ ü 終 <image>\n",
            raw=f'  <think>t</think>{{"n": {n}, "seed": "{seed}", "text": "wrote\\n ✓"}}\n\n',
            analysis="", plan="", commands=(), task_complete=n == turns,
            parse_error=NOT_UNDERSTOOD if n == unclean else None, observation="o", prompt_tokens=10,
            completion_tokens=3, cost_usd=0, at=AT,
        )
        for n in range(1, turns + 1)
    )  # fmt: skip
    return Trial(
        seed=seed, task=f"org/{seed}", bundle="b" * 64, attempt=0, stop=StopReason.COMPLETED, reward=1.0, grade=None,
        seconds=1, started_at=AT, run_id="r", recorded=False, model="m", turns=made,
    )  # fmt: skip


TRIALS = {t.seed: t for t in (trial("alpha", 1), trial("beta", 3), trial("gamma", 3, unclean=2), trial("delta", 2))}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A set with a validation side, and a row of which one turn is masked on the training side."""
    folder = tmp_path_factory.mktemp("set")
    terms = SftTerms(validation_share=0.25, mask_parse_errors=True, split_seed=SPLIT_SEED)
    export_sft(list(TRIALS.values()), folder, skills={}, terms=terms)
    return folder


SPLIT_SEED = 0


def environment(name: str) -> Path:
    home = Path(os.environ.get("FACET_SFT_HOME") or Path.home() / ".cache/facet") / name
    own = {"FACET_SFT_PYTHON": sys.executable, **os.environ}  # not whatever `python3` is found first
    done = subprocess.run([HERE / "install.sh", home, name], env=own, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, f"{name} cannot be installed: {done.stderr[-1500:]}"
    return home / "venv/bin/python"


@pytest.fixture(scope="module")
def trl() -> Path:
    return environment("sft")


@pytest.fixture(scope="module")
def student(trl, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("student")
    run(trl, "student.py", folder)
    return folder


def run(python: Path, check: str, *arguments: Path, cwd: Path | None = None) -> str:
    """The last line that a check prints. Nothing is fetched, and no GPU is looked for."""
    offline = {
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "2",
    }
    # As the settings for LLaMA-Factory say: what looks like a place of a picture is text.
    texts = {f"{kind}_PLACEHOLDER": f"<|no {kind.lower()}|>" for kind in ("IMAGE", "VIDEO", "AUDIO")}
    # A cache of its own: the libraries take files at a path that they have seen for the same files.
    cache = {"HF_HOME": str(arguments[0].parent / "cache")}
    done = subprocess.run(
        [python, HERE / "checks" / check, *arguments],
        env={**os.environ, **offline, **texts, **cache},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip().rpartition("\n")[2]


def training_rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]


def chatml(row: dict) -> str:
    return "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in row["messages"])


def own_text(row: dict) -> str:
    return "".join(m["content"] + "<|im_end|>\n" for m in row["messages"] if m["role"] == "assistant")


def test_datasets_loads_the_folder_by_its_card(trl, made) -> None:
    said = json.loads(run(trl, "load_set.py", made))
    assert said["rows"] == {"train": 3, "validation": 1}
    assert said["same"] and {"messages", "loss_mask"} <= set(said["columns"])
    assert said["messages"] == training_rows(made)[0]["messages"]
    assert [turn["value"] for turn in said["sharegpt"]] == [message["content"] for message in said["messages"]]


def test_trl_takes_steps_with_the_loss_on_the_models_text_alone(trl, made, student, tmp_path) -> None:
    said = json.loads(run(trl, "trl_step.py", made, student, tmp_path / "out"))
    assert said["architecture"] == "Qwen3_5ForCausalLM"
    rows = training_rows(made)
    assert len(said["rows"]) == len(rows)
    for seen, row in zip(said["rows"], rows, strict=True):
        wanted = [
            message["content"] + "<|im_end|>"
            for message, train in zip(row["messages"], row["loss_mask"], strict=True)
            if train
        ]
        assert seen["text"] == chatml(row) and seen["trained"] == wanted and seen["agree"]
    masked = [sum(row["loss_mask"]) < row["turns"] for row in rows]
    assert sum(masked) == 1
    assert said["steps"] == 2 and 0 < said["loss"] < 20
    assert said["changed"] > said["parameters"] / 2


def test_llamafactory_reads_it_with_the_settings_written_beside_it(made, student) -> None:
    said = json.loads(run(environment("llamafactory"), "llamafactory_load.py", made, student, cwd=made))
    assert [each["file"] for each in said] == ["qwen3.5-27b.yaml", "qwen3.5-4b.yaml", "qwen3.5-9b.yaml"]
    rows = [row for row in training_rows(made) if sum(row["loss_mask"]) == row["turns"]]
    for each in said:
        assert (each["epochs"], each["rate"], each["scheduler"], each["cutoff"]) == (3.0, 1e-5, "cosine", 32_768)
        assert each["validation"] == 1
        assert sorted(row["text"] for row in each["rows"]) == sorted(chatml(row) for row in rows)
        assert sorted(row["trained"] for row in each["rows"]) == sorted(own_text(row) for row in rows)
