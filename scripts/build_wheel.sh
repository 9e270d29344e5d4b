#!/usr/bin/env bash
# Builds the wheel of the whole product into a directory, as pip builds it for users, but in the
# environment of a Python that has maturin, and reusing what `make native` has compiled.
# With a target of rustc, zig links the engine for that platform (requirements/wheels.lock).
set -euo pipefail
python=$PWD/$1
directory=$2
target=${3-}

export PATH=$(dirname "$python"):$PATH PYO3_PYTHON=$python
case $target in
  # The tag names the oldest C library that the wheel runs with, so that other machines can install it too.
  "") arguments="--compatibility pypi" ;;
  *-linux-gnu) arguments="--compatibility manylinux_2_28 --zig --target $target" ;;
  *) arguments="--compatibility pypi --zig --target $target" ;;
esac
export MATURIN_PEP517_ARGS=$arguments
exec "$python" -m pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir "$directory" .
