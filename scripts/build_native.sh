#!/usr/bin/env bash
# Builds the native EVM engine into the environment of the given Python. The crate names the oldest
# compiler that it takes; an older one is no failure, for the node runs on the reference engine too.
set -euo pipefail
python=$PWD/$1

wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' native/Cargo.toml)
found=$(cargo --version | cut -d' ' -f2)
if [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -1)" != "$wanted" ]; then
  echo "cargo is $found, the native engine needs $wanted: the node will run on the reference" \
    "engine, a thousand times slower. Update Rust and say \`make native\`."
  exit 0
fi

echo "Building the native EVM engine (a few minutes, once)"
environment=$(dirname "$(dirname "$python")")
VIRTUAL_ENV=$environment PYO3_PYTHON=$python \
  "$environment/bin/maturin" develop --release --locked --manifest-path native/Cargo.toml
