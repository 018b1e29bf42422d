"""The layout and the declarations of an exported task (Harbor itself: tests/harbor)."""

import tomllib

import pytest
import yaml

from facet_dagster.audit.load import load_task
from facet_dagster.datasets.harbor import TaskTerms, export_task
from facet_dagster.records.container import FileEntry, Limits
from facet_dagster.records.environment import Service, wait_for_services


def test_everything_is_where_harbor_looks(tmp_path, bundle):
    task = export_task(tmp_path / "tasks", **vars(bundle))
    assert task == tmp_path / "tasks" / "csv-totals"
    paths = {p.relative_to(task).as_posix() for p in task.rglob("*") if p.is_file()}
    assert paths >= {
        "task.toml",
        "instruction.md",
        "README.md",
        "environment/Dockerfile",
        "environment/docker-compose.yaml",
        "environment/files/app/in.csv",
        "environment/build/x",
        "solution/solve.sh",
        "tests/test.sh",
        "tests/test_outputs.py",
        "tests/e0/app/in.csv",
    }
    assert (task / "tests/e0/app/in.csv").read_bytes() == b"\x00\x01\xff"
    for script in ("solution/solve.sh", "tests/test.sh", "environment/build/x"):
        assert (task / script).stat().st_mode & 0o111
    assert (task / "instruction.md").read_text() == "Write /app/out.json.\n"
    assert (task / "environment/Dockerfile").read_text() == bundle.dockerfile


def test_task_toml_says_what_was_given(tmp_path, bundle):
    terms = TaskTerms(limits=Limits(cpus=2, memory_mb=300), agent_timeout_s=50, grade_timeout_s=40, build_timeout_s=30)
    task = export_task(tmp_path, **vars(bundle), terms=terms)
    toml = tomllib.loads((task / "task.toml").read_text())
    assert toml["schema_version"] == "1.4"
    assert toml["task"]["name"] == "org/csv-totals"
    assert toml["task"]["description"] == bundle.scenario.title
    assert toml["environment"] == {"build_timeout_sec": 30, "cpus": 2, "memory_mb": 300, "network_mode": "public"}
    assert toml["agent"] == {"timeout_sec": 50, "user": "agent"}
    # Harbor waits longer than the tests themselves, which end without a reward.
    assert toml["verifier"] == {"timeout_sec": 100, "user": "root", "env": {"FACET_GRADE_TIMEOUT": "40.0"}}


def test_services_are_waited_for(tmp_path, bundle):
    service = Service(name="web", command="serve", health="curl -f localhost")
    materials = bundle.environment.materials.model_copy(update={"services": [service]})
    bundle.environment = bundle.environment.model_copy(update={"materials": materials})
    toml = tomllib.loads((export_task(tmp_path, **vars(bundle)) / "task.toml").read_text())
    check = toml["environment"]["healthcheck"]
    assert check["command"] == wait_for_services().script and check["timeout_sec"] >= 20


def test_provenance_is_complete(tmp_path, bundle):
    metadata = tomllib.loads((export_task(tmp_path, **vars(bundle)) / "task.toml").read_text())["metadata"]
    assert metadata["difficulty"] == "unmeasured" and metadata["seed"] == "csv-totals"
    assert metadata["bundle"] == "b" * 64 and len(metadata["content_hash"]) == 64
    assert [(s["name"], s["licence"], s["content_hash"]) for s in metadata["skills"]] == [
        ("csv-tools", "MIT", "c" * 64),
        ('od|d "name"', "Apache-2.0", "o" * 64),
    ]
    assert metadata["requirements"] == {
        "R1": {
            "text": "totals | per region",
            "observable": "o",
            "clause": "x",
            "tests": ["test_r1_totals", "test_r1_r2_both"],
        },
        "R2": {"text": "input untouched", "observable": "o", "tests": ["test_r1_r2_both"]},
    }
    assert metadata["tests"] == {name: list(ids) for name, ids in bundle.verifier.requirement_table().items()}
    assert {k: metadata[k] for k in bundle.provenance} == bundle.provenance


def test_an_audit_reads_the_contract_back(tmp_path, bundle):
    task = load_task(export_task(tmp_path, **vars(bundle)))
    candidate = task.candidate
    assert candidate is not None and not task.obstacles, (task.faults, task.obstacles)
    assert candidate.contract.requirements == bundle.scenario.requirements
    assert candidate.contract.clauses == bundle.instruction.clauses
    assert candidate.contract.tests == bundle.verifier.requirement_table()
    assert candidate.user == "agent" and candidate.grade_timeout_s == 300
    assert "/tests/e0/app/in.csv" in {file.path for file in candidate.tests}


def test_provenance_does_not_replace_what_the_export_knows(tmp_path, bundle):
    bundle.provenance = {"bundle": "forged", "rounds": {"verifier": None}}
    metadata = tomllib.loads((export_task(tmp_path, **vars(bundle)) / "task.toml").read_text())["metadata"]
    assert metadata["bundle"] == "b" * 64 and metadata["rounds"] == {}


def test_compose_has_an_init_and_no_network(tmp_path, bundle):
    task = export_task(tmp_path, **vars(bundle))
    compose = yaml.safe_load((task / "environment/docker-compose.yaml").read_text())
    assert compose == {"services": {"main": {"init": True, "network_mode": "none"}}}


def test_the_same_bundle_gives_the_same_task(tmp_path, bundle):
    first = export_task(tmp_path, **vars(bundle))
    inode = first.stat().st_ino
    assert export_task(tmp_path, **vars(bundle)).stat().st_ino == inode
    bundle.instruction = bundle.instruction.model_copy(update={"text": "Other."})
    before = tomllib.loads((first / "task.toml").read_text())["metadata"]["content_hash"]
    export_task(tmp_path, **vars(bundle))
    assert (first / "instruction.md").read_text() == "Other.\n"
    assert tomllib.loads((first / "task.toml").read_text())["metadata"]["content_hash"] != before
    assert [p.name for p in tmp_path.iterdir()] == ["csv-totals"]


def test_the_readme_is_a_table_that_no_cell_breaks(tmp_path, bundle):
    readme = (export_task(tmp_path, **vars(bundle)) / "README.md").read_text()
    assert "| R1 | totals \\| per region | test_r1_totals, test_r1_r2_both |" in readme
    assert 'od\\|d "name"' in readme and "recordings" in readme


@pytest.mark.parametrize("org", ["", "Org", "a/b", "../x"])
def test_a_name_that_harbor_does_not_take_is_refused(tmp_path, bundle, org):
    bundle.org = org
    with pytest.raises(ValueError, match="not a task name"):
        export_task(tmp_path, **vars(bundle))


def test_a_file_outside_the_task_is_refused(tmp_path, bundle):
    bundle.context = (FileEntry(path="../../x", content=""),)
    with pytest.raises(ValueError, match="leaves the folder"):
        export_task(tmp_path, **vars(bundle))
    assert not (tmp_path / "csv-totals").exists()
