"""The local base image: the recipe of every task on a Debian root that can be had here, plus the host's CA bundle.

The recipe (task_template/base.dockerfile) is also the head of every exported task and holds nothing local.
"""

import fcntl
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from io import BytesIO
from pathlib import Path

from docker import DockerClient
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from facet_dagster.adapters.docker_build_args import CA_BUNDLE, build_args
from facet_dagster.adapters.docker_build_log import BuildLog
from facet_dagster.adapters.docker_calls import engine_errors
from facet_dagster.adapters.docker_debian import debian_root, has_image
from facet_dagster.adapters.docker_files import pack
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.base import digest_of
from facet_dagster.records.container import FileEntry

Progress = Callable[[str], None]

_LOCAL_LAYER = f"\nCOPY ca.crt {CA_BUNDLE}\n"
_BUNDLE_SETTINGS = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
_SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


def recipe() -> str:
    """The text of the base Dockerfile, as exported tasks carry it."""
    return (files("facet_dagster") / "task_template" / "base.dockerfile").read_text(encoding="utf-8")


def base_tag() -> str:
    """The local base image's tag: `facet-base:<hash of recipe and CA bundle>`."""
    return f"facet-base:{digest_of(_dockerfile().encode() + host_bundle(os.environ).read_bytes())[:16]}"


def _dockerfile() -> str:
    return recipe() + _LOCAL_LAYER


def ensure_base(client: DockerClient, progress: Progress, package_cache: str | None = None) -> str:
    """The tag of the local base image; built if it is not there, with packages from the cache where there is one.

    Raises SettingsError where no Debian root can be had, InfrastructureError where the build fails.
    """
    tag, dockerfile = base_tag(), _dockerfile()
    with engine_errors("look for the base image"):
        if has_image(client, tag):
            return tag
    with _one_at_a_time(progress), engine_errors("build the base image"):
        if not has_image(client, tag):
            root = debian_root(client, progress)
            progress(f"building the base image {tag} on {root}")
            context = pack(
                [
                    FileEntry.of("Dockerfile", dockerfile.encode()),
                    FileEntry.of("ca.crt", host_bundle(os.environ).read_bytes()),
                ]
            )
            arguments = build_args(dockerfile, os.environ, base_image=root, package_cache=package_cache)
            _build(client, tag, context, arguments)
    return tag


@contextmanager
def _one_at_a_time(progress: Progress) -> Iterator[None]:
    """Several processes that start on a bare machine would each build it, and all but one leave an untagged image."""
    path = Path(tempfile.gettempdir()) / f"facet-base-{os.getuid()}.lock"
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that builds the base image")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield  # closing the file lets go of the lock


def host_bundle(environ: Mapping[str, str]) -> Path:
    """The CA bundle that the host's own tools trust; it matters where TLS is intercepted on the way out."""
    named = [environ.get(setting, "") for setting in _BUNDLE_SETTINGS]
    candidates = [*named, _SYSTEM_BUNDLE, ssl.get_default_verify_paths().cafile or ""]
    return next((Path(p) for p in candidates if p and Path(p).is_file()), Path(DEFAULT_CA_BUNDLE_PATH))


def _build(client: DockerClient, tag: str, context: bytes, arguments: dict[str, str]) -> None:
    log = BuildLog(lambda _: None)
    # No labels: the base image belongs to no run, and what is built on it would inherit them.
    for message in client.api.build(
        fileobj=BytesIO(context),
        custom_context=True,
        tag=tag,
        rm=True,
        forcerm=True,
        decode=True,
        timeout=None,
        buildargs=arguments,
        use_config_proxy=False,
    ):
        log.feed(message)
    if log.error is not None:
        last = " | ".join(log.text().splitlines()[-4:])
        raise InfrastructureError(f"cannot build the base image (is the Debian mirror reachable?): {last}")
