#!/bin/bash
# Installs Harbor into a virtual environment of its own, with the docker compose plugin that it calls.
# Usage: install.sh DIRECTORY. Does nothing twice. Needs a Python >= 3.12, pip's package index and,
# where `docker compose` is missing, apt-get on a Debian-like system (nothing is installed system-wide).
set -euo pipefail

HERE=${1:?usage: install.sh DIRECTORY}
SUITE=${FACET_COMPOSE_SUITE:-trixie}
mkdir -p "$HERE"

find_python() {
  local candidate
  for candidate in "${FACET_HARBOR_PYTHON:-}" python3 python3.14 python3.13 python3.12 \
                   "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python; do
    if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "Harbor needs Python 3.12 or later; set FACET_HARBOR_PYTHON" >&2
  return 1
}

if [ ! -x "$HERE/venv/bin/harbor" ]; then
  python=$(find_python)
  "$python" -m venv --clear "$HERE/venv"
  "$HERE/venv/bin/pip" install --quiet 'harbor>=0.26,<0.27'
fi

export DOCKER_CONFIG="$HERE/docker"
mkdir -p "$DOCKER_CONFIG/cli-plugins"
if ! docker compose version >/dev/null 2>&1; then
  # The plugins of a later Debian release need nothing but libc; they are unpacked, not installed.
  apt="$HERE/apt"
  rm -rf "$apt"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/unpacked"
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  # The mirror that this host itself uses, at the next release.
  mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
    grep -v '^#' | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 | tr -d ' ')
  [ -n "$mirror" ] || { echo "no Debian mirror in /etc/apt: the compose plugin cannot be fetched" >&2; exit 1; }
  echo "deb [signed-by=$keyring] $mirror $SUITE main" >"$apt/sources.list"
  options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
           -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=)
  apt-get "${options[@]}" update >/dev/null
  (cd "$apt" && apt-get "${options[@]}" download docker-compose docker-buildx >/dev/null)
  for package in "$apt"/*.deb; do
    dpkg -x "$package" "$apt/unpacked"
  done
  cp "$apt"/unpacked/usr/libexec/docker/cli-plugins/* "$DOCKER_CONFIG/cli-plugins/"
  rm -rf "$apt"
  docker compose version >/dev/null
fi
