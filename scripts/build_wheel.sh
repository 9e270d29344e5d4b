#!/usr/bin/env bash
# Builds the wheel of the whole product into a directory, the way pip builds it for everybody, but in the
# environment of a Python that has maturin, and with what `make native` has compiled already.
set -euo pipefail
python=$PWD/$1
target=$2

export PATH=$(dirname "$python"):$PATH PYO3_PYTHON=$python
# The tag names the oldest C library that it runs with, so that other machines may have it too.
export MATURIN_PEP517_ARGS="--compatibility pypi"
exec "$python" -m pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir "$target" .
