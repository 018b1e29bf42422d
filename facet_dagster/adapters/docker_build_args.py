"""What a build is told of the host: the local base image, proxies, where packages come from, the CA bundle.

Build arguments leave no trace in the image's environment, so none of it reaches a task.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

CA_BUNDLE = "/usr/local/share/facet/ca.crt"  # in the local base image only
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
_INDEXES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")


def build_args(
    dockerfile: str, environ: Mapping[str, str], *, base_image: str, package_cache: str | None = None
) -> dict[str, str]:
    """Arguments for a Dockerfile. Proxies need no ARG line; the others are given where the Dockerfile declares them.

    `package_cache`: address of the server of deploy/package-cache, in place of the environment's own for apt and pip.
    """
    if package_cache is not None:
        environ = {**environ, **_by_cache(package_cache, environ)}
    values = _reachable_indexes(environ) | {"PIP_CERT": CA_BUNDLE, "BASE_IMAGE": base_image}
    if environ.get("PIP_TRUSTED_HOST"):
        values["PIP_TRUSTED_HOST"] = environ["PIP_TRUSTED_HOST"]
    declared = set(re.findall(r"^\s*ARG\s+(\w+)", dockerfile, flags=re.MULTILINE | re.IGNORECASE))
    proxies = {name: environ[name] for low in _PROXIES for name in (low, low.upper()) if environ.get(name)}
    return proxies | {name: value for name, value in values.items() if name in declared}


def _by_cache(cache: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The cache as proxy for apt, which uses plain HTTP, and as index for pip where the environment names none."""
    host = urlsplit(cache).hostname or ""
    direct = [environ.get("no_proxy") or environ.get("NO_PROXY"), "localhost,127.0.0.1,0.0.0.0,::1", host]
    spared = ",".join(filter(None, direct))
    proxy = {"http_proxy": cache, "HTTP_PROXY": cache, "no_proxy": spared, "NO_PROXY": spared}
    own_index = any(environ.get(name) for name in _INDEXES)
    return proxy if own_index else proxy | {"PIP_INDEX_URL": f"{cache}/simple", "PIP_TRUSTED_HOST": host}


def _reachable_indexes(environ: Mapping[str, str]) -> dict[str, str]:
    """Package indexes without those on the host's own disk, which no build can see."""
    kept: dict[str, str] = {}
    for name in _INDEXES:
        urls = [url for url in environ.get(name, "").split() if url.startswith(("http://", "https://"))]
        if urls:
            kept[name] = " ".join(urls)
    return kept
