#!/usr/bin/env bash
# Builds the wheel of the whole product into a directory, as pip builds it for users, but in the
# environment of a Python that has maturin, and reusing what `make native` has compiled.
set -euo pipefail
python=$PWD/$1
target=$2

export PATH=$(dirname "$python"):$PATH PYO3_PYTHON=$python
# The tag names the oldest C library that the wheel runs with, so that other machines can install it too.
export MATURIN_PEP517_ARGS="--compatibility pypi"
exec "$python" -m pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir "$target" .
