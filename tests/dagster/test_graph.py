"""The graph as it is promised: keys, dependencies, groups; and that loading it needs nothing from outside."""

import subprocess
import sys

import dagster as dg

from facet_dagster.definitions import CONSTRUCTION, build_defs

GRAPH = {
    "skills": ("skills", set()),
    "skill_rejects": ("skills", set()),
    "scenario_hypotheses": ("seeds", {"skills"}),
    "scenario_seeds": ("seeds", {"scenario_hypotheses"}),
    "scenario": ("construction", {"scenario_seeds"}),
    "environment": ("construction", {"scenario"}),
    "instruction": ("construction", {"scenario", "environment"}),
    "solution": ("construction", {"scenario", "environment", "instruction"}),
    "verifier": ("construction", {"environment", "instruction", "solution"}),
    "validation": ("construction", {"scenario", "environment", "instruction", "solution", "verifier"}),
    "task": ("construction", {"scenario", "environment", "instruction", "solution", "verifier", "validation"}),
    "trajectories": ("rollouts", {"task"}),
    "task_dataset": ("datasets", {"task"}),
    "sft_dataset": ("datasets", {"trajectories", "task_dataset"}),
    "evaluation": ("datasets", {"task_dataset"}),
    "behaviour_report": ("reports", {"trajectories", "evaluation"}),
    "yield_report": ("reports", {"task", "skills", "skill_rejects", "scenario_seeds", "trajectories"}),
    "cost_report": ("reports", {"task", "trajectories"}),
    "scheme_report": ("reports", {"task"}),
}


def test_keys_groups_and_dependencies() -> None:
    nodes = build_defs().resolve_asset_graph().asset_nodes
    found = {
        node.key.to_user_string(): (node.group_name, {key.to_user_string() for key in node.parent_keys})
        for node in nodes
    }
    assert found == GRAPH


def test_every_asset_says_what_it_is_whose_it_is_and_what_it_costs() -> None:
    lacking = {}
    for node in build_defs().resolve_asset_graph().asset_nodes:
        said = {
            "description": node.description,
            "group": node.group_name != "default",
            "kinds": node.kinds,
            "owners": node.owners,
            "tags": {"facet/cost", "facet/per"} <= set(node.tags),
            "code version": node.code_version,
            # A report's columns are those of its answer: test_catalogue looks at what was made.
            "columns": node.group_name == "reports" or "dagster/column_schema" in node.metadata,
        }
        lacking[node.key.to_user_string()] = [name for name, there in said.items() if not there]
    assert lacking == {name: [] for name in GRAPH}


def test_construction_and_rollouts_are_partitioned_by_seed_in_batches() -> None:
    nodes = {node.key.to_user_string(): node for node in build_defs().resolve_asset_graph().asset_nodes}
    partitioned = {name for name, node in nodes.items() if node.partitions_def is not None}
    assert partitioned == {*CONSTRUCTION, "trajectories"}
    policies = [nodes[name].backfill_policy for name in sorted(partitioned)]
    assert [policy.max_partitions_per_run for policy in policies if policy] == [25] * 8


def test_jobs_resolve_and_are_described() -> None:
    defs = build_defs()
    repository = defs.get_repository_def()
    jobs = {job.name: job for job in repository.get_all_jobs() if not job.name.startswith("__")}
    assert set(jobs) == {
        "read_skills", "plan_seeds", "construct_all", "rollouts", "datasets", "evaluate", "reports",
        "repair_seeds", "roll_out_listed_seeds", "sweep_leftovers", "compact_store", "revalidate_tasks", "hold_queue",
        "prune_run_logs",
    }  # fmt: skip
    assert all(job.description for job in jobs.values())


def test_sensors_and_schedules_are_off_until_a_person_turns_them_on() -> None:
    repository = build_defs().get_repository_def()
    assert {sensor.default_status for sensor in repository.sensor_defs} == {dg.DefaultSensorStatus.STOPPED}
    assert {schedule.default_status for schedule in repository.schedule_defs} == {dg.DefaultScheduleStatus.STOPPED}


def test_definitions_load_without_any_environment_variable() -> None:
    code = "from facet_dagster.definitions import defs; print(len(list(defs.resolve_asset_graph().asset_nodes)))"
    done = subprocess.run([sys.executable, "-c", code], env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, str(len(GRAPH))), done.stderr
