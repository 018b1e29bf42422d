"""The files of deploy/: they can be read, know the settings, hold no secret, and open nothing but the loopback."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster._core.instance.ref import InstanceRef

from facet_dagster.settings import _ENGINES, _EVALUATED, _MODEL_PRICES, _PRICES, _VARIABLES, load

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
SETTINGS = {*_VARIABLES, *_PRICES, _MODEL_PRICES, _EVALUATED, _ENGINES, "FACET_PROFILE"}
OF_THE_IMAGE = {"FACET_DAGSTER_HOME"}  # DAGSTER_HOME is what the services read
OF_COMPOSE = {"FACET_IMAGE"}


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


@pytest.mark.parametrize("name", ["compose.yaml", "dagster.yaml", "env.example", "kubernetes/values.yaml"])
def test_every_variable_is_a_setting(name: str) -> None:
    named = set(re.findall(r"\bFACET_[A-Z_]*[A-Z]\b(?!_)", (DEPLOY / name).read_text()))
    assert named and named <= SETTINGS | OF_COMPOSE


def test_every_setting_reaches_the_services_and_their_runs() -> None:
    """A budget that only the shell knows would stop nobody."""
    has = {name for name in read("compose.yaml")["x-facet"]["environment"] if name.startswith("FACET_")}
    assert has == SETTINGS - OF_THE_IMAGE
    values = read("kubernetes/values.yaml")
    (deployment,) = values["dagster-user-deployments"]["deployments"]
    for place in (deployment, values["runLauncher"]["config"]["k8sRunLauncher"]):
        assert place["envConfigMaps"] == [{"name": "facet-settings"}]


def test_a_run_is_given_what_the_services_have() -> None:
    given = set(read("dagster.yaml")["run_launcher"]["config"]["env_vars"])
    has = set(read("compose.yaml")["x-facet"]["environment"]) - {"DAGSTER_CURRENT_IMAGE"}
    assert given == has


def test_runs_find_certificates_where_the_services_do() -> None:
    """A client of the engine that is told of TLS reads them before anything else, whichever engine it is for."""
    compose, mount = read("compose.yaml"), "/etc/facet/tls:ro"
    assert f"facet_tls:{mount}" in read("dagster.yaml")["run_launcher"]["config"]["container_kwargs"]["volumes"]
    assert compose["volumes"]["tls"]["name"] == "facet_tls"
    with_engine = [s for s in compose["services"].values() if any("docker.sock" in v for v in s.get("volumes", []))]
    assert len(with_engine) == 2 and all(f"tls:{mount}" in service["volumes"] for service in with_engine)
    assert "facet_tls" in (DEPLOY.parent / "docs" / "scaling.md").read_text()


def test_unset_variables_are_no_settings() -> None:
    """Compose hands on what is not set as empty text."""
    assert load(dict.fromkeys(read("compose.yaml")["x-facet"]["environment"], "")) == load({})


def test_ports_are_open_on_the_loopback_only() -> None:
    services = read("compose.yaml")["services"]
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert len(ports) == 1 and all(port.startswith("127.0.0.1:") for port in ports)
    assert read("kubernetes/values.yaml")["dagsterWebserver"]["service"]["type"] == "ClusterIP"


def test_the_package_cache_is_open_on_dockers_bridge_only() -> None:
    (service,) = read("package-cache/compose.yaml")["services"].values()
    assert service["ports"] == ["${PACKAGE_CACHE_ADDRESS:-172.17.0.1}:3142:3142"]
    assert service["image"].startswith("${PACKAGE_CACHE_IMAGE:-")


def test_passwords_are_asked_for_and_have_no_default() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    for secret in ("POSTGRES_PASSWORD", "S3_KEY", "S3_SECRET"):
        assert set(re.findall(rf"\$\{{{secret}(..)", text)) == {":?"}
    lines = (DEPLOY / "env.example").read_text().splitlines()
    assert [line for line in lines if re.match(r"(POSTGRES_PASSWORD|S3_\w+|FACET_LLM_API_KEY)=.", line)] == []


def test_images_are_variables() -> None:
    images = re.findall(r"^\s+image: (\S+)", (DEPLOY / "compose.yaml").read_text(), flags=re.MULTILINE)
    assert len(images) >= 3 and all(image.startswith("${") for image in images)


def test_dagster_reads_its_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", "postgresql+psycopg2://a@b/c")
    instance = InstanceRef.from_dir(str(DEPLOY))
    assert instance.run_launcher_data is not None and instance.run_launcher_data.class_name == "DockerRunLauncher"
    assert instance.event_storage_data is not None and "postgres" in instance.event_storage_data.module_name
