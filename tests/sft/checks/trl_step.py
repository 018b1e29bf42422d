"""Takes two steps with the set's own TRL script (the first of a warm-up has rate 0); prints what happened, as JSON.

Usage: trl_step.py SET STUDENT OUTPUT.
"""

import importlib.util
import json
import sys
from pathlib import Path

import torch

data, student, output = (Path(argument) for argument in sys.argv[1:4])
spec = importlib.util.spec_from_file_location("trl_sft", data / "training" / "trl_sft.py")
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

options = script.options_of(
    ["--model", str(student), "--output", str(output), "--no-bf16", "--max-steps", "2", "--accumulate", "1"]
)
trainer = script.trainer_of(options)
trainer.args.use_cpu = True
before = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}

rows = []
for row in trainer.train_dataset:
    batch = trainer.data_collator([row])
    ids, labels = batch["input_ids"][0].tolist(), batch["labels"][0].tolist()
    decode = trainer.processing_class.decode
    trained, run = [], []
    for label in [*labels, -100]:
        if label != -100:
            run.append(label)
        elif run:
            trained.append(decode(run))
            run = []
    rows.append(
        {
            "text": decode(ids),
            "trained": trained,
            "agree": all(label in (-100, token) for token, label in zip(ids, labels, strict=True)),
        }
    )

trainer.train()
changed = [name for name, weight in trainer.model.named_parameters() if not torch.equal(before[name], weight)]
print(
    json.dumps(
        {
            "rows": rows,
            "architecture": type(trainer.model).__name__,
            "steps": trainer.state.global_step,
            "loss": trainer.state.log_history[0]["loss"],
            "changed": len(changed),
            "parameters": len(before),
        }
    )
)
