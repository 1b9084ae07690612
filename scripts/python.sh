#!/usr/bin/env bash
# The Python package in a virtual environment of its own; with --tests, what its tests need too.
#   scripts/python.sh [--tests] [--profile NAME] VENV
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${PYTHON:-python3} extras='' profile=release
while [[ $# -gt 1 ]]; do
    case $1 in
        --tests) extras='[test]' ;;
        --profile) profile=$2; shift ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
    shift
done
venv=$1

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "SKIPPED: the Python package ($python is missing, or has no venv module; on Debian: apt install python3-venv)"
    exit 0
fi

[[ -x $venv/bin/python ]] || "$python" -m venv "$venv"
export MATURIN_PEP517_ARGS="--profile $profile"
"$venv/bin/pip" install --quiet ".$extras"
echo "the package is in $venv: $venv/bin/python -c 'import outercore'"
