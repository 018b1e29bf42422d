"""Whether packages can be had at all: the control beside a build that failed.

A mirror that is away fails every build that wants a package, and no author can repair that. What the failed build
itself printed is its own word; so the same is asked of a Dockerfile that is known to be right. Belongs here: that
Dockerfile, and what its log says. Building it is docker_builder.py's.
"""

import re
from collections.abc import Iterable
from uuid import uuid4

from facet_dagster.records.container import BuildRequest, BuildResult

CONTROL_S = 180.0
_OURS = re.compile(r"^FROM \$\{BASE_IMAGE\}", re.MULTILINE)  # others have mirrors of their own
_NAMED = {"apt": re.compile(r"\bapt(-get)?\b"), "pip": re.compile(r"\bpip3?\b")}
_HEAD = """ARG BASE_IMAGE
FROM ${BASE_IMAGE}
ARG PIP_INDEX_URL
ARG PIP_TRUSTED_HOST
ARG PIP_CERT
"""
# A cache is asked for nothing that it keeps; an index may lack pip, but it must say so.
_ASKS = {
    "apt": """RUN apt-get -eany -o Acquire::Retries=1 -o Acquire::http::No-Cache=true -o Acquire::Languages=none \\
      update
""",
    "pip": """RUN usual=$(python3 -c 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)') \\
 && code=$(curl -sSL -m 60 --retry 2 -H 'Cache-Control: no-cache' -o /dev/null -w '%{http_code}' \\
      ${PIP_CERT:+--cacert "$PIP_CERT"} ${PIP_TRUSTED_HOST:+-k} "${PIP_INDEX_URL:-$usual}/pip/") \\
 && echo "pip: the index answers $code" && case $code in 200|404) ;; *) exit 1 ;; esac
""",
}
_TELLING = ("E: Failed to fetch", "E: ", "curl: ", "pip: ")  # the more telling first


def control_of(failed: BuildRequest) -> BuildRequest | None:
    """The control of a build that failed; None where that wanted no packages, or is not on the common base."""
    named = [name for name, pattern in _NAMED.items() if pattern.search(failed.dockerfile)]
    return control(named, failed.seed) if named and _OURS.search(failed.dockerfile) else None


def control(names: Iterable[str], seed: str) -> BuildRequest:
    """A build that succeeds where the sources of apt, the index of pip, or both can be reached, and only there."""
    dockerfile = _HEAD + "".join(_ASKS[name] for name in names)
    return BuildRequest(seed=seed, dockerfile=dockerfile, context=(), timeout_s=CONTROL_S, fresh=uuid4().hex)


def outage(failed: BuildResult) -> str:
    """What a control that failed says, in a line."""
    lines = [line.strip()[:300] for line in failed.log.splitlines() if line.strip()]
    telling = [line for start in _TELLING for line in lines if line.startswith(start)]
    return next(iter([*telling, *lines[-1:]]), "no reason was given")
