#!/usr/bin/env bash
# Succeeds if the native engine can be built: cargo is installed, and not older than the crate requires.
# Otherwise prints what is missing.
set -euo pipefail

wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' native/Cargo.toml)
hint="the node will run on the reference engine, a thousand times slower. Install Rust $wanted or newer and say \`make native\`."
if ! command -v cargo >/dev/null; then
  echo "No cargo here: $hint"
  exit 1
fi
found=$(cargo --version | cut -d' ' -f2)
if [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -1)" != "$wanted" ]; then
  echo "cargo is $found: $hint"
  exit 1
fi
