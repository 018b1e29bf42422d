"""A `harbor` that was killed with its run leaves containers without a label of ours; the next command removes them."""

from pathlib import Path

import pytest
from docker import DockerClient

from facet_dagster.adapters.harbor_leftovers import held, left_jobs, put_aside, remove_containers

pytestmark = pytest.mark.docker

TRIAL = "My.Task__Ab12cde"


@pytest.fixture
def job(engine: DockerClient, base_image: str, tmp_path: Path) -> Path:
    (tmp_path / "jobs" / "one" / TRIAL / "agent").mkdir(parents=True)
    return tmp_path / "jobs" / "one"


def start(engine: DockerClient, image: str, project: str) -> str:
    labels = {"com.docker.compose.project": project}
    return str(engine.containers.run(image, ["sleep", "600"], detach=True, labels=labels, network_mode="none").id)


async def test_what_is_left_is_found_and_removed_and_nothing_else(
    engine: DockerClient, base_image: str, job: Path
) -> None:
    async with held(job):
        assert left_jobs(job.parent) == [], "somebody works on it"
    assert left_jobs(job.parent) == [job]
    ours = start(engine, base_image, "my-task__ab12cde__env")
    other = start(engine, base_image, "my-task__zz99zzz__env")
    try:
        assert remove_containers(engine, [job]) == 1
        assert {ours, other} & {container.id for container in engine.containers.list(all=True)} == {other}
        put_aside(job)
        assert not job.exists() and (job.parent / "one.cut-0" / TRIAL / "agent").is_dir()
        (job / TRIAL).mkdir(parents=True)
        (job / TRIAL / "result.json").write_text("{}")
        assert left_jobs(job.parent) == [], "it ended"
    finally:
        engine.api.remove_container(other, force=True)
