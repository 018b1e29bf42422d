"""What a build is told of the host: the local base image, proxies, the package index, the CA bundle.

Build arguments leave no trace in the image's environment, so none of it reaches a task.
"""

import re
from collections.abc import Mapping

CA_BUNDLE = "/usr/local/share/facet/ca.crt"  # in the local base image only
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
_INDEXES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")


def build_args(dockerfile: str, environ: Mapping[str, str], *, base_image: str) -> dict[str, str]:
    """Arguments for a Dockerfile. Proxies need no ARG line; the others are given where the Dockerfile declares them."""
    values = _reachable_indexes(environ) | {"PIP_CERT": CA_BUNDLE, "BASE_IMAGE": base_image}
    if environ.get("PIP_TRUSTED_HOST"):
        values["PIP_TRUSTED_HOST"] = environ["PIP_TRUSTED_HOST"]
    declared = set(re.findall(r"^\s*ARG\s+(\w+)", dockerfile, flags=re.MULTILINE | re.IGNORECASE))
    proxies = {name: environ[name] for low in _PROXIES for name in (low, low.upper()) if environ.get(name)}
    return proxies | {name: value for name, value in values.items() if name in declared}


def _reachable_indexes(environ: Mapping[str, str]) -> dict[str, str]:
    """Package indexes without those on the host's own disk, which no build can see."""
    kept: dict[str, str] = {}
    for name in _INDEXES:
        urls = [url for url in environ.get(name, "").split() if url.startswith(("http://", "https://"))]
        if urls:
            kept[name] = " ".join(urls)
    return kept
