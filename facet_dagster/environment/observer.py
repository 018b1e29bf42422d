"""Prints, as one JSON object, what a container holds beyond the system's own files. Runs inside the container.

Standard library only: it is copied in with sniffer.py (which tells what a file's content looks like) and run as root
by `python3 -I`, see observe.py. Nothing that it finds may stop it: what cannot be read is listed without details.
Contents of a git repository are summarised, never listed; times are not recorded. Arguments: the roots to walk.
"""

import hashlib
import json
import os
import pwd
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

from facet_dagster.environment.sniffer import sniff

ROOTS = (
    *("/app", "/home", "/srv", "/opt", "/etc", "/var/www", "/var/spool", "/var/lib", "/var/log", "/var/backups"),
    *("/usr/local/bin", "/usr/local/sbin", "/usr/local/etc", "/usr/local/share"),
)
# Prefixes of what the system itself writes there, whatever the task is.
_SYSTEM = """
/etc/.pwd.lock /etc/alternatives /etc/apt /etc/ca-certificates.conf /etc/default/locale /etc/dpkg /etc/environment
/etc/fstab /etc/group /etc/gshadow /etc/hostname /etc/hosts /etc/inputrc /etc/ld.so.cache /etc/localtime
/etc/machine-id /etc/motd /etc/mtab /etc/nsswitch.conf /etc/opt /etc/pam.d /etc/passwd /etc/pip.conf /etc/python3
/etc/rc /etc/resolv.conf /etc/security/opasswd /etc/shadow /etc/shells /etc/ssl/certs /etc/subgid /etc/subuid
/etc/systemd /etc/timezone /usr/local/bin/facet- /usr/local/share/ca-certificates /usr/local/share/facet
/usr/local/share/man /var/backups/alternatives /var/backups/apt /var/backups/dpkg /var/lib/apt /var/lib/dpkg
/var/lib/misc /var/lib/pam /var/lib/private /var/lib/python /var/lib/shells.state /var/lib/systemd /var/lib/ucf
/var/log/README /var/log/alternatives.log /var/log/apt /var/log/bootstrap.log /var/log/btmp /var/log/dpkg.log
/var/log/faillog /var/log/fontconfig.log /var/log/journal /var/log/lastlog /var/log/private /var/log/wtmp
/var/spool/mail
"""
SYSTEM = tuple(_SYSTEM.split())
MAX_ENTRIES = 4_000
MAX_HASHED = 20_000_000
BASE_PACKAGES = "/usr/local/share/facet/base-packages.txt"
TOOLS = ("python3", "git", "sqlite3", "jq", "make", "gcc", "node", "perl", "ruby", "go", "psql", "nginx", "openssl")


def main(roots: list[str]) -> dict[str, Any]:
    """Everything that is observed, in the shape of the record ObservedState."""
    files, truncated = walk(roots, owned_by_packages())
    return {
        "files": files,
        "packages": packages()[:500],
        "tools": tools(),
        "users": users(),
        "listening": listening(),
        "truncated": truncated,
    }


def walk(roots: list[str], owned: set[str]) -> tuple[list[dict[str, Any]], bool]:
    """All entries below the roots, sorted by path, at most MAX_ENTRIES (the earlier roots first), without
    those in `owned`."""
    found: list[dict[str, Any]] = []
    truncated = False
    for root in roots:
        pending = [root]
        while pending and not truncated:
            directory = pending.pop(0)
            for path in children(directory):
                if skipped(path):
                    continue
                if path in owned:
                    pending += [path] if Path(path).is_dir() and not Path(path).is_symlink() else []
                    continue
                if len(found) >= MAX_ENTRIES:
                    truncated = True
                    break
                entry = describe(path)
                if entry is None:
                    continue
                found.append(entry)
                if entry["type"] == "dir" and not entry["sniffed"]:
                    pending.append(path)
    return sorted(found, key=lambda entry: str(entry["path"])), truncated


def children(directory: str) -> list[str]:
    """Paths in a directory; none where it cannot be read. Names that are not UTF-8 cannot be told and are left out."""
    try:
        return sorted(str(path) for path in Path(directory).iterdir() if printable(path.name))
    except OSError:
        return []


def printable(name: str) -> bool:
    """Whether a name can be written down."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def skipped(path: str) -> bool:
    """The system's own: known places, unchanged copies of the user skeleton."""
    if path.startswith(SYSTEM):
        return True
    parts = Path(path).parts
    if len(parts) == 4 and parts[1] == "home":
        return content(path, 100_000) == content(f"/etc/skel/{parts[3]}", 100_000) != b""
    return False


def describe(path: str) -> dict[str, Any] | None:
    """One entry; None where it has vanished."""
    try:
        info = os.lstat(path)
    except OSError:
        return None
    kind = type_of(info.st_mode)
    entry: dict[str, Any] = {
        "path": path,
        "type": kind,
        "size": info.st_size if kind == "file" else 0,
        "mode": f"{stat.S_IMODE(info.st_mode):04o}",
        "owner": owner(info.st_uid),
        "sha256": None,
        "target": None,
        "sniffed": None,
        "sample": None,
    }
    if kind == "link":
        entry["target"] = link_target(path)
    elif kind == "dir" and is_repository(path):
        entry["sniffed"] = repository(path)
    elif kind == "file":
        entry["sha256"] = digest(path, info.st_size)
        entry["sniffed"], entry["sample"] = sniff(path, info.st_size)
    return entry


def type_of(mode: int) -> str:
    """file, dir, link, or other (FIFO, socket, device)."""
    for name, test in (("link", stat.S_ISLNK), ("dir", stat.S_ISDIR), ("file", stat.S_ISREG)):
        if test(mode):
            return name
    return "other"


def owner(uid: int) -> str:
    """The user's name, or the number of a user that is not known."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def link_target(path: str) -> str | None:
    """Where a link points, made printable."""
    try:
        return os.readlink(path).encode(errors="replace").decode()  # noqa: PTH115  # Path would tidy it
    except OSError:
        return None


def digest(path: str, size: int) -> str | None:
    """SHA-256 of a file up to MAX_HASHED bytes."""
    if size > MAX_HASHED:
        return None
    try:
        found = hashlib.sha256()
        with open(path, "rb") as stream:  # noqa: PTH123  # no Path for each of thousands of files
            while block := stream.read(1 << 20):
                found.update(block)
        return found.hexdigest()
    except OSError:
        return None


def content(path: str, limit: int) -> bytes:
    """First bytes of a regular file; empty where there is none."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return b""
        with open(path, "rb") as stream:  # noqa: PTH123  # no Path for each of thousands of files
            return stream.read(limit)
    except OSError:
        return b""


def is_repository(path: str) -> bool:
    """A .git directory or a bare repository."""
    here = Path(path)
    try:
        return (here / "HEAD").is_file() and (here / "objects").is_dir() and (here / "refs").is_dir()
    except OSError:
        return False


def repository(path: str) -> str:
    """A git repository in one line, with a digest over its refs and one over its index state and configuration too."""
    refs = git(path, "for-each-ref", "--format=%(objectname) %(refname)")
    branches = [line.partition(" refs/heads/")[2] for line in refs.splitlines() if " refs/heads/" in line]
    tags = sum(" refs/tags/" in line for line in refs.splitlines())
    head = content(f"{path}/HEAD", 200).decode(errors="replace").strip().removeprefix("ref: refs/heads/")
    commits = git(path, "rev-list", "--count", "--all").strip() or "?"
    at = git(path, "rev-parse", "--quiet", "--verify", "HEAD^{commit}").strip()[:12] or "none"
    state = "bare"
    status = ""
    if Path(path).name == ".git":
        status = git(path, "--work-tree", str(Path(path).parent), "status", "--porcelain=v1", "--untracked-files=all")
        state = f"{len(status.splitlines())} uncommitted changes" if status else "clean"
    config = content(f"{path}/config", 100_000).decode(errors="replace")
    named = " ".join(branches[:12]) or "none"
    line = f"git repository: HEAD {head}; branches {named}; {tags} tags; {commits} commits; {state}"
    return f"{line}; at {at}; refs {mark(refs, head)}; state {mark(refs, head, status, config)}"


def mark(*said: str) -> str:
    """A short digest of texts."""
    return hashlib.sha256("\0".join(said).encode()).hexdigest()[:12]


def git(path: str, *arguments: str) -> str:
    """Output of a git command that changes nothing and starts nothing that the repository configures."""
    fixed = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    return run("git", "--no-optional-locks", *fixed, "--git-dir", path, *arguments)


def run(*argv: str) -> str:
    """Standard output of a command; empty where it fails, hangs or does not exist."""
    try:
        done = subprocess.run(argv, capture_output=True, timeout=15, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def base_packages() -> set[str] | None:
    """Names of the packages of the base image, where it tells them (one per line, `name` or `name=version`)."""
    names = {line.partition("=")[0].strip() for line in content(BASE_PACKAGES, 1_000_000).decode().splitlines()}
    return {name for name in names if name} or None


def packages() -> list[str]:
    """Installed Debian and Python packages beyond the base, as name=version."""
    base = base_packages() or set()
    debian = run("dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Package}=${Version}\n").splitlines()
    installed = [line.partition("\t")[2] for line in debian if line.startswith("ii")]
    found = sorted(line for line in installed if line.partition("=")[0] not in base)
    local = Path("/usr/local/lib").glob("python3*/dist-packages/*.dist-info")
    python = sorted("=".join(p.name.removesuffix(".dist-info").rsplit("-", 1)) for p in local)
    return [*(f"pip:{name}" for name in python), *found]


def owned_by_packages() -> set[str]:
    """Paths that Debian packages brought; configuration that has been changed since is not among them, and
    neither is that of packages beyond the base."""
    base = base_packages()
    owned: set[str] = set()
    for listing in sorted(Path("/var/lib/dpkg/info").glob("*.list")):
        lines = content(str(listing), 5_000_000).decode(errors="replace").splitlines()
        package = listing.name.removesuffix(".list").partition(":")[0]
        beyond = base is not None and package not in base
        owned.update(line for line in lines if not (beyond and line.startswith("/etc/") and Path(line).is_file()))
    changed = [path for path, md5 in conffiles() if path in owned and md5_of(path) != md5]
    return owned.difference(changed)


def conffiles() -> list[tuple[str, str]]:
    """Path and MD5 of the configuration files as the packages brought them."""
    status = content("/var/lib/dpkg/status", 50_000_000).decode(errors="replace")
    lines = (line.split() for line in status.splitlines() if line.startswith(" /etc/"))
    return [(words[0], words[1]) for words in lines if len(words) == 2]


def md5_of(path: str) -> str:
    """MD5, as dpkg keeps it."""
    return hashlib.md5(content(path, MAX_HASHED), usedforsecurity=False).hexdigest()


def tools() -> dict[str, str]:
    """First line of `tool --version` for the tools that are there."""
    said = {name: run(name, "--version").strip() for name in TOOLS}
    return {name: text.splitlines()[0][:60] for name, text in said.items() if text}


def users() -> list[str]:
    """People's accounts, as name:uid:home:shell."""
    people = [p for p in pwd.getpwall() if 1000 <= p.pw_uid < 60_000]
    return sorted(f"{p.pw_name}:{p.pw_uid}:{p.pw_dir}:{p.pw_shell}" for p in people)


def listening() -> list[str]:
    """Listening TCP sockets, as `tcp address:port`."""
    found = set()
    for table in ("tcp", "tcp6"):
        for line in content_of_proc(f"/proc/net/{table}").splitlines()[1:]:
            words = line.split()
            if len(words) > 3 and words[3] == "0A":
                address, _, port = words[1].partition(":")
                found.add(f"{table} {readable(address)}:{int(port, 16)}")
    return sorted(found)


def content_of_proc(path: str) -> str:
    """A file of /proc, whose size is told as 0."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def readable(address: str) -> str:
    """An address of /proc/net/tcp in dotted form; the common ones of IPv6 by name."""
    if len(address) == 8:
        return ".".join(str(byte) for byte in reversed(bytes.fromhex(address)))
    return {"0" * 32: "[::]", "0" * 24 + "01000000": "[::1]"}.get(address, f"[{address.lower()}]")


if __name__ == "__main__":
    json.dump(main(sys.argv[1:] or list(ROOTS)), sys.stdout)
