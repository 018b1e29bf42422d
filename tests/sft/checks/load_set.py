"""Prints what `datasets` makes of a set, as JSON. Usage: load_set.py FOLDER."""

import json
import sys

from datasets import load_dataset

folder = sys.argv[1]
by_card = load_dataset(folder)
shared = load_dataset("json", data_files=f"{folder}/train_sharegpt.jsonl", split="train")
lines = load_dataset("json", data_files=f"{folder}/train.jsonl", split="train")
print(
    json.dumps(
        {
            "rows": {side: part.num_rows for side, part in by_card.items()},
            "columns": by_card["train"].column_names,
            "messages": by_card["train"][0]["messages"],
            "sharegpt": shared["conversations"][0],
            "same": lines.to_list() == by_card["train"].to_list(),
        }
    )
)
