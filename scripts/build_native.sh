#!/usr/bin/env bash
# Builds the native EVM engine into the environment of a Python, and marks that by a stamp file.
# Without a toolchain that is no failure: the node runs on the reference engine too.
set -euo pipefail
python=$PWD/$1
stamp=$2

"$(dirname "$0")/native_toolchain.sh" || exit 0
echo "Building the native EVM engine (a few minutes, once)"
environment=$(dirname "$(dirname "$python")")
VIRTUAL_ENV=$environment PYO3_PYTHON=$python \
  "$environment/bin/maturin" develop --release --locked --manifest-path native/Cargo.toml
touch "$stamp"
