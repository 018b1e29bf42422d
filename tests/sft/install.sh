#!/bin/bash
# Installs trainers for CPU, each into a virtual environment of its own: TRL with `datasets`, and LLaMA-Factory, which
# pins older versions of the same libraries. Usage: install.sh DIRECTORY sft|llamafactory. Does nothing twice.
# PyTorch's CPU build is taken where pip finds one (FACET_TORCH_INDEX: an index that has it), else what pip's index has:
# on Linux that is built for CUDA, runs on a CPU as well, and makes 1 GB per environment 5 to 6.
set -euo pipefail

HERE=${1:?usage: install.sh DIRECTORY sft|llamafactory}
case ${2:?usage: install.sh DIRECTORY sft|llamafactory} in
  sft) packages=('trl>=1.16,<2' 'transformers>=5.24,<6' 'datasets>=5.2,<6' 'accelerate>=1.15,<2') ;;
  llamafactory) packages=('llamafactory>=0.9.5,<0.10') ;;
  *) echo "unknown: $2" >&2; exit 2 ;;
esac
TORCH=${FACET_TORCH:-2.13.0}

if [ -e "$HERE/venv/.facet-installed" ]; then
  exit 0
fi
"${FACET_SFT_PYTHON:-python3}" -m venv --clear "$HERE/venv"
pip=("$HERE/venv/bin/pip" install --quiet --disable-pip-version-check ${FACET_TORCH_INDEX:+--extra-index-url "$FACET_TORCH_INDEX"})
if ! said=$("${pip[@]}" "torch==$TORCH+cpu" 2>&1); then
  echo "no torch $TORCH for CPU here ($(tail -n 1 <<<"$said")): taking the index's own, several GB" >&2
  "${pip[@]}" "torch==$TORCH"
fi
"${pip[@]}" "${packages[@]}"
# Built for CUDA, these do not load beside PyTorch for CPU; text needs neither.
"$HERE/venv/bin/pip" uninstall --quiet --yes torchvision torchaudio 2>/dev/null
touch "$HERE/venv/.facet-installed"
