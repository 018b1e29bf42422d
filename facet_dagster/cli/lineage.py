"""`facet lineage ROW|TASK|SEED`: a tree from there back to the skills and their licences."""

import json
from pathlib import Path

from rich.console import Console
from rich.tree import Tree

from facet_dagster.cli.files import check_target, write_file
from facet_dagster.cli.plain import plain
from facet_dagster.lineage import Origin, trace
from facet_dagster.ports import Store


def show_lineage(store: Store, name: str, console: Console, json_file: Path | None) -> None:
    """Print the tree, and write it where a file is named. Raises SettingsError for what the store does not know."""
    check_target(json_file)
    found = trace(store, name)
    console.print(_tree(found), highlight=False)
    if json_file is not None:
        write_file(json_file, json.dumps(found.as_json(), indent=2, ensure_ascii=False).encode() + b"\n")


def _tree(origin: Origin, above: Tree | None = None) -> Tree:
    label = f"[bold]{plain(origin.kind)}[/] {plain(origin.label().removeprefix(origin.kind).strip())}"
    here = Tree(label) if above is None else above.add(label)
    for each in origin.made_from:
        _tree(each, here)
    return here
