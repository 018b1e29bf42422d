"""A worker process for test_two_workers: walks seeds of a shared store on a Dagster instance that others share.

Usage: one_worker.py HOME STORE OUT RUN_ID SEED... Prints, as JSON, how many calls its model answered.
"""

import json
import sys
from pathlib import Path
from typing import Any

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.metered_model import MeteredModel
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.definitions import CONSTRUCTION, Session, materialise, open_instance
from facet_dagster.records.call import Role
from facet_dagster.records.terms import ConstructionTerms
from facet_dagster.settings import Settings
from facet_dagster.testing.hash_embedder import HashEmbedder
from facet_dagster.testing.sandbox import FakeSandbox
from facet_dagster.testing.scripted_model import ScriptedModel
from facet_dagster.testing.toy_tasks import ToyBuilder, answer
from facet_dagster.workshop import Workshop

PROBED = {"id": "P1", "description": "the list is unsorted", "probe": "head -1 /app/in.txt | grep -q b"}
MANIFEST = {
    "directories": [],
    "files": [{"path": "/app/in.txt", "purpose": "the list", "format": "lines", "made_by": "inline"}],
    "apt_packages": [],
    "pip_packages": [],
    "services": [],
    "properties": [PROBED],
}
MATERIALS = {
    "apt_packages": [],
    "pip_packages": [],
    "files": [{"path": "/app/in.txt", "content": "b\na\n", "executable": False}],
    "generators": [],
    "setup_commands": [],
    "services": [],
    "properties": [PROBED],
}
TEXT = (
    "The team's list in `/app/in.txt` has one entry per line and is out of order. Write the sorted list to "
    "`/app/out.txt`, its entries one after the other in alphabetical order, and leave the original as it is."
)
TEST = (
    "# want /app/out.txt ab\ndef test_r1_sorted():\n    from pathlib import Path\n"
    "    text = Path('/app/out.txt').read_text()\n    assert text, 'empty'\n    assert 'a' in text, 'no a'\n"
)
SCRIPT: dict[str, dict[str, Any]] = {
    "environment.manifest": MANIFEST,
    "environment.materials": MATERIALS,
    "authoring.instruction": {"text": TEXT, "clauses": {"R1": "Write the sorted list"}},
    "authoring.solution": {"script": "#!/bin/bash\nset -euo pipefail\nput /app/out.txt ab\n", "workflow": "sort"},
    "authoring.verifier": {"test_file": TEST},
}


def main(home: str, root: str, out: str, run_id: str, *seeds: str) -> None:
    """Walk the seeds to their ends."""
    store = ParquetStore(root)
    model = ScriptedModel({station: lambda _, said=said: said for station, said in SCRIPT.items()})
    names = dict.fromkeys(Role, "scripted")
    ledger = StoreLedger(store, names=names, prices={}, budget_tokens=None, budget_usd=None, run_id=run_id)
    sandbox = FakeSandbox(answer)
    workshop = Workshop(
        model=MeteredModel(model, store=store, ledger=ledger, names=names, in_flight=4),
        embedder=HashEmbedder(),
        builder=ToyBuilder(sandbox),
        sandbox=sandbox,
        store=store,
        ledger=ledger,
        run_id=run_id,
        out=Path(out),
        organisation="org",
        model_names=names,
        construction=ConstructionTerms(repeats=1),
    )
    settings = Settings(store=root, out=Path(out))
    with open_instance(Path(home)) as instance:
        made = materialise(
            CONSTRUCTION,
            instance=instance,
            seeds=seeds,
            overrides={"workshop": Session(settings, workshop), "settings": settings, "store": store},
        )
    store.compact()  # while the other worker may still be reading and writing
    print(json.dumps({"calls": len(model.requests), "said": [failure.message for failure in made.failures]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
