"""A Debian bookworm root image: already here, pulled, or bootstrapped from the distribution's mirror."""

import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from docker import DockerClient
from docker.errors import APIError, ImageNotFound

from facet_dagster.adapters.docker_calls import engine_errors
from facet_dagster.adapters.docker_daemon import apt_install, can_install
from facet_dagster.errors import InfrastructureError, SettingsError

Progress = Callable[[str], None]

PUBLIC = "debian:bookworm-slim"
BOOTSTRAPPED = "facet/debian:bookworm"
RELEASE = "bookworm"
_SILENCE_S = 25.0  # of a registry, before it counts as unreachable
_ADVICE = (
    f"no Debian base image: make {PUBLIC} available to the engine (docker pull or docker load), "
    "or install mmdebstrap so that one can be made from the distribution's mirror"
)


def debian_root(client: DockerClient, progress: Progress) -> str:
    """A local reference to a Debian bookworm root. Raises SettingsError where none can be had."""
    with engine_errors("look for a Debian image"):
        for image in (PUBLIC, BOOTSTRAPPED):
            if has_image(client, image):
                return image
    progress(f"pulling {PUBLIC}")
    if _pull(client, PUBLIC):
        return PUBLIC
    if shutil.which("mmdebstrap") is None:
        if not can_install():
            raise SettingsError(_ADVICE)
        progress("no registry answers; installing mmdebstrap")
        apt_install("mmdebstrap", "debian-archive-keyring")
    progress("bootstrapping Debian bookworm from the distribution's mirror (about a minute)")
    bootstrap(client, BOOTSTRAPPED)
    return BOOTSTRAPPED


def has_image(client: DockerClient, image: str) -> bool:
    """Whether the engine has the image."""
    try:
        client.images.get(image)
    except ImageNotFound:
        return False
    return True


def bootstrap(client: DockerClient, image: str, *, apt: Path = Path("/etc/apt")) -> None:
    """Make a minimal Debian root with mmdebstrap and import it under the name `image`."""
    repository, _, tag = image.partition(":")
    with tempfile.TemporaryDirectory(prefix="facet-debian-") as folder:
        archive = Path(folder) / "root.tar"
        command = ["mmdebstrap", "--variant=minbase", RELEASE, str(archive), *_host_sources(apt)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise InfrastructureError(f"mmdebstrap cannot make a Debian root: {last}")
        with archive.open("rb") as stream, engine_errors("import a Debian root"):
            client.api.import_image(src=stream, repository=repository, tag=tag)
            if not has_image(client, image):
                raise InfrastructureError(f"the container engine did not import {image}")


def _host_sources(apt: Path) -> list[str]:
    """One-line sources of the release as the host's own apt uses it; none leaves the mirror to mmdebstrap's default."""
    lines = [line for path in _source_files(apt, "list") for line in _one_line_sources(path.read_text())]
    lines += [line for path in _source_files(apt, "sources") for line in _stanza_sources(path.read_text())]
    return list(dict.fromkeys(lines))


def _source_files(apt: Path, suffix: str) -> list[Path]:
    main = [apt / "sources.list"] if suffix == "list" else []
    return [p for p in [*main, *sorted((apt / "sources.list.d").glob(f"*.{suffix}"))] if p.is_file()]


def _one_line_sources(text: str) -> list[str]:
    entries = re.findall(r"^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.+)$", text, flags=re.MULTILINE)
    return [f"deb {uri} {suite} main" for uri, suite, parts in entries if _is_release(suite, parts.split())]


def _stanza_sources(text: str) -> list[str]:
    found: list[str] = []
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, flags=re.MULTILINE))
        if "deb" not in fields.get("Types", "").split() or fields.get("Enabled", "yes") == "no":
            continue
        suites = [s for s in fields.get("Suites", "").split() if _is_release(s, fields.get("Components", "").split())]
        found += [f"deb {uri} {suite} main" for uri in fields.get("URIs", "").split() for suite in suites]
    return found


def _is_release(suite: str, components: list[str]) -> bool:
    return suite in (RELEASE, f"{RELEASE}-updates", f"{RELEASE}-security") and "main" in components


def _pull(client: DockerClient, image: str) -> bool:
    """Try to pull; False once the registry refuses or stays silent."""
    heard = [time.monotonic()]

    def work() -> None:
        repository, _, tag = image.partition(":")
        try:
            for _message in client.api.pull(repository, tag=tag, stream=True, decode=True):
                heard[0] = time.monotonic()
        except APIError:
            return  # seen below: the image is not there

    thread = threading.Thread(target=work, name="facet-pull", daemon=True)
    thread.start()
    while thread.is_alive() and time.monotonic() - heard[0] < _SILENCE_S:
        thread.join(0.2)
    with engine_errors("look for a Debian image"):
        return has_image(client, image)
