#!/usr/bin/env bash
# Builds the native EVM engine into the environment of a Python, and records that in a stamp file.
# A missing toolchain is no error, because the node also runs on the reference engine.
set -euo pipefail
python=$PWD/$1
stamp=$2

"$(dirname "$0")/native_toolchain.sh" || exit 0
echo "Building the native EVM engine (a few minutes, once)"
environment=$(dirname "$(dirname "$python")")
VIRTUAL_ENV=$environment PYO3_PYTHON=$python \
  "$environment/bin/maturin" develop --release --locked --manifest-path native/Cargo.toml
touch "$stamp"
