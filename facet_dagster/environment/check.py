"""What a manifest and its materials must obey before anything is built; each problem is one line for the author."""

import re
from collections import Counter
from collections.abc import Iterable

from facet_dagster.prompts.views import as_json
from facet_dagster.records.environment import ExpectedProperty, Manifest, Materials, Service

ALLOWED_ROOTS = ("/app", "/home/agent", "/etc", "/var", "/opt", "/srv", "/usr/local")
# The grader's and the builder's own places, and names under which an answer would lie about.
FORBIDDEN = re.compile(
    r"^/(tests|solution|logs|verifier)(/|$)|^/opt/facet-build(/|$)|^/usr/local/(bin/facet-|lib/facet(/|$))"
    r"|^/var/tmp(/|$)|/(solve\.sh|test_outputs\.py)$"
)
PACKAGE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9.+\-_\[\]]*([=<>!~]{1,2}[A-Za-z0-9.+\-_*~:]+)?$")
PLAIN_PATH = re.compile(r"^/[^\x00-\x1f*?\[\]{}<>\\\"'`$]+$")
INLINE_BYTES = 256 * 1024
PLAN_CHARACTERS = 12_000  # a plan that tries to be the files costs as much as they do, and is paid for twice
EMPTY_PROBES = frozenset({"", "true", ":", "exit 0", "/bin/true"})


def manifest_problems(manifest: Manifest) -> list[str]:
    """What is wrong with a plan; empty when nothing is."""
    problems = [p for file in manifest.files for p in path_problems(file.path)]
    problems += [p for directory in manifest.directories for p in path_problems(directory)]
    problems += _duplicates("planned file", (file.path for file in manifest.files))
    problems += _package_problems(manifest.apt_packages, manifest.pip_packages)
    problems += _service_problems(manifest.services)
    length = len(as_json(manifest))
    if length > PLAN_CHARACTERS:
        problems.append(
            f"the plan has {length} characters, more than {PLAN_CHARACTERS}: shorten purposes, formats and probes"
        )
    return problems + _property_problems(manifest.properties)


def materials_problems(materials: Materials, manifest: Manifest) -> list[str]:
    """What is wrong with materials that are to make `manifest` real; empty when nothing is."""
    problems = [p for file in materials.files for p in path_problems(file.path)]
    problems += _duplicates("file", (file.path for file in materials.files))
    problems += _duplicates("generator", (generator.name for generator in materials.generators))
    problems += _package_problems(materials.apt_packages, materials.pip_packages)
    problems += _service_problems(materials.services)
    problems += _probe_problems(materials.properties)
    size = sum(len(file.content.encode()) for file in materials.files)
    if size > INLINE_BYTES:
        problems.append(f"inline files hold {size} bytes, at most {INLINE_BYTES} are allowed: use a generator")
    unplanned = {p.id for p in materials.properties} - {p.id for p in manifest.properties}
    problems += [f"property {name} is not planned" for name in sorted(unplanned)]
    missing = {s.name for s in manifest.services} - {s.name for s in materials.services}
    problems += [f"planned service {name} is missing" for name in sorted(missing)]
    return problems + [f"{g.name}: {p}" for g in materials.generators for p in _program_problems(g.program)]


def path_problems(path: str) -> list[str]:
    """Why a path may not be part of an environment."""
    parts = path.rstrip("/").split("/")
    if not PLAIN_PATH.match(path) or "." in parts or ".." in parts or "" in parts[1:]:
        return [f"{path!r} is not one plain absolute path (no patterns, no '..')"]
    if not any(path.rstrip("/") == root or path.startswith(f"{root}/") for root in ALLOWED_ROOTS):
        return [f"{path} lies outside {', '.join(ALLOWED_ROOTS)}"]
    if FORBIDDEN.search(path):
        return [f"{path} is reserved"]
    return []


def _duplicates(kind: str, names: Iterable[str]) -> list[str]:
    return [f"{kind} {name} appears {count} times" for name, count in Counter(names).items() if count > 1]


def _package_problems(apt: Iterable[str], pip: Iterable[str]) -> list[str]:
    return [f"{name!r} is not a package name" for name in (*apt, *pip) if not PACKAGE.match(name)]


def _service_problems(services: Iterable[Service]) -> list[str]:
    services = list(services)
    empty = [s.name for s in services if not s.command.strip() or s.health.strip() in EMPTY_PROBES]
    return _duplicates("service", (s.name for s in services)) + [
        f"service {name} needs a command and a health check that can fail" for name in empty
    ]


def _property_problems(properties: list[ExpectedProperty]) -> list[str]:
    if not properties:
        return ["there is no expected property: say what must hold in the container"]
    return _probe_problems(properties)


def _probe_problems(properties: list[ExpectedProperty]) -> list[str]:
    problems = _duplicates("property", (p.id for p in properties))
    return problems + [f"probe of {p.id} checks nothing" for p in properties if p.probe.strip() in EMPTY_PROBES]


def _program_problems(program: str) -> list[str]:
    try:
        compile(program, "generator", "exec")
    except (SyntaxError, ValueError) as error:
        return [f"the program is not valid Python: {error}"]
    return []
