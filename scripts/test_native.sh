#!/usr/bin/env bash
# Runs the native engine's own tests. They are programs with an embedded interpreter, so the linker and
# the loader must find its library; the release profile reuses what `make native` compiled.
set -euo pipefail

"$(dirname "$0")/native_toolchain.sh" || exit 0
export PYO3_PYTHON=$PWD/$1
library=$("$PYO3_PYTHON" "$(dirname "$0")/python_library.py")
export LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LIBRARY_PATH=$library${LIBRARY_PATH:+:$LIBRARY_PATH}
exec cargo test --locked --release --manifest-path native/Cargo.toml
