#!/usr/bin/env bash
# Checks the native engine's style, with those of Rust's tools that are installed.
set -euo pipefail

"$(dirname "$0")/native_toolchain.sh" || exit 0
if cargo fmt --version >/dev/null 2>&1; then
  cargo fmt --manifest-path native/Cargo.toml --check
else
  echo "rustfmt is not installed: the native engine's format is not checked"
fi
if cargo clippy --version >/dev/null 2>&1; then
  PYO3_PYTHON=$PWD/$1 cargo clippy --quiet --locked --release --all-targets \
    --manifest-path native/Cargo.toml -- -D warnings
else
  echo "clippy is not installed: the native engine is not linted"
fi
