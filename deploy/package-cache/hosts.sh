#!/bin/sh
# Where packages come from, as variables of compose.yaml: the hosts of apt's sources, of pip's index and of its files.
# Asks the system it runs on; run it in the base image: docker run --rm -i facet-base:TAG sh < hosts.sh > .env
set -eu
hosts=$(find /etc/apt -name '*.list' -o -name '*.sources' | xargs sed 's/#.*//' | grep -oE 'http://[^/ ]+' | sort -u)
echo "PACKAGE_CACHE_APT=$(echo "$hosts" | sed 's|http://||' | xargs)"
python3 -c 'from pip._internal.models.index import PyPI as of
print(f"PACKAGE_CACHE_INDEX={of.netloc}\nPACKAGE_CACHE_FILES={of.file_storage_domain}")'
