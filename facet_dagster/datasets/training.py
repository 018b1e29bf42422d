"""Files for trainers beside a set: LLaMA-Factory's index and settings, DeepSpeed, and a script for TRL.

The files stand in training_files/ as they are written; here is only what depends on the set.
"""

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment as Jinja
from jinja2 import StrictUndefined

HERE = Path(__file__).parent / "training_files"
FOLDER = "training"
STUDENTS = ("Qwen/Qwen3.5-4B", "Qwen/Qwen3.5-9B", "Qwen/Qwen3.5-27B")
AS_THEY_ARE = ("chat_template.jinja", "ds_z3.json", "trl_sft.py")


def training_files(*, validation: bool, cutoff: int) -> dict[str, bytes]:
    """Name below the folder of the set -> content. `cutoff` in tokens.

    `validation`: ShareGPT has rows for it, without which LLaMA-Factory does not start.
    """
    jinja = Jinja(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    template = jinja.from_string((HERE / "llamafactory.yaml.j2").read_text(encoding="utf-8"))
    files = {"dataset_info.json": (json.dumps(_index(validation), indent=2) + "\n").encode()}
    for name in AS_THEY_ARE:
        files[f"{FOLDER}/{name}"] = (HERE / name).read_bytes()
    for model in STUDENTS:
        name = model.rpartition("/")[2].lower()
        text = template.render(model=model, name=name, validation=validation, cutoff=cutoff)
        files[f"{FOLDER}/{name}.yaml"] = text.encode()
    return files


def _index(validation: bool) -> dict[str, Any]:
    """LLaMA-Factory's dataset_info.json: the ShareGPT files, which hold only rows that are wholly trained on."""
    columns = {"messages": "conversations"}
    tags = {"role_tag": "from", "content_tag": "value", "user_tag": "human", "assistant_tag": "gpt"}
    return {
        f"facet_{side}": {
            "file_name": f"{side}_sharegpt.jsonl",
            "formatting": "sharegpt",
            "columns": columns,
            "tags": tags,
        }
        for side in ("train", *(("validation",) if validation else ()))
    }
