"""Harbor as it is installed beside us, and what its builds need on this host: for tests and benchmarks that run it."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from docker import DockerClient

from facet_dagster.adapters.base_image import host_bundle
from facet_dagster.adapters.docker_build_args import CA_BUNDLE, build_args
from facet_dagster.adapters.docker_debian import PUBLIC, debian_root
from facet_dagster.adapters.docker_files import pack
from facet_dagster.records.container import FileEntry

INSTALL = Path(__file__).parents[2] / "tests" / "harbor" / "install.sh"


def harbor_environment() -> dict[str, str]:
    """The environment in which Harbor runs, HARBOR naming the folder of its programs; installed where it is missing.

    FACET_HARBOR_HOME says where (default ~/.cache/facet/harbor). Raises RuntimeError where that fails.
    """
    home = Path(os.environ.get("FACET_HARBOR_HOME") or Path.home() / ".cache/facet/harbor")
    done = subprocess.run([INSTALL, home], capture_output=True, text=True, timeout=1800)
    if done.returncode:
        raise RuntimeError(f"Harbor cannot be installed: {done.stderr[-1500:]}")
    return {
        **os.environ,
        "HARBOR": str(home / "venv" / "bin"),
        "DOCKER_CONFIG": str(home / "docker"),
        "HARBOR_TELEMETRY": "off",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


@contextmanager
def public_stand_in(engine: DockerClient, folder: Path) -> Iterator[list[str]]:
    """Options for Harbor's builds. Exported tasks start from a public image; where no registry can be reached, a local
    Debian takes its name meanwhile, with the host's CA bundle for what is downloaded. `folder` takes a file."""
    root = debian_root(engine, print)
    if root == PUBLIC:
        yield []
        return
    bundle = host_bundle(os.environ).read_bytes()
    dockerfile = f"FROM {root}\nCOPY ca.crt {CA_BUNDLE}\n"
    files = [FileEntry.of("Dockerfile", dockerfile.encode()), FileEntry.of("ca.crt", bundle)]
    engine.images.build(fileobj=BytesIO(pack(files)), custom_context=True, tag=PUBLIC, rm=True)
    declared = "".join(f"ARG {name}\n" for name in ("PIP_CERT", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"))
    arguments = build_args(declared, os.environ, base_image=root) | {"SSL_CERT_FILE": CA_BUNDLE}
    overlay = folder / "build.yaml"
    overlay.write_text(json.dumps({"services": {"main": {"build": {"args": arguments}}}}), encoding="utf-8")
    try:
        yield ["--extra-docker-compose", str(overlay)]
    finally:
        engine.images.remove(PUBLIC)
