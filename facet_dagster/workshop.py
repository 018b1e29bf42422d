"""The tools that work on seeds: ports and terms in one value, made once per run and handed down.

Adapters are put in by adapters/wiring.py, fakes by tests. No work is done here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from facet_dagster.ports import ChatModel, Embedder, ImageBuilder, Ledger, Sandbox, Store, TrialEngine
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.call import Role
from facet_dagster.records.terms import ConstructionTerms, RolloutTerms, SeedingTerms, SftTerms

CODE_VERSION = "1"  # of the construction stations; raised when their records or order change


@dataclass(frozen=True)
class Workshop:
    """Everything a station may need from outside. Tasks, trajectories and sets are written below `out`."""

    model: ChatModel
    embedder: Embedder
    builder: ImageBuilder
    sandbox: Sandbox
    store: Store
    ledger: Ledger
    run_id: str
    out: Path
    organisation: str
    model_names: Mapping[Role, str]
    harbor: TrialEngine | None = None  # where the terms of the rollouts ask for it
    changed_prompts: Sequence[str] = ()  # recorded calls whose prompt has changed since; grows while a run replays
    seeding: SeedingTerms = field(default_factory=SeedingTerms)
    construction: ConstructionTerms = field(default_factory=ConstructionTerms)
    rollouts: RolloutTerms = field(default_factory=RolloutTerms)
    sft: SftTerms = field(default_factory=SftTerms)

    @property
    def tasks(self) -> Path:
        """Folder of the accepted tasks: a Harbor dataset as it is."""
        return self.out / "tasks"

    @property
    def asker(self) -> Asker:
        """The one way to ask the model for structured answers."""
        return Asker(self.model)
