#!/usr/bin/env bash
# Builds all wheels into a directory: one for each platform whose Rust target is installed, and one
# without the native engine. A target that is missing is named, with the command that installs it.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
directory=$2
targets=(x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu aarch64-apple-darwin)

scripts/native_toolchain.sh
missing=()
for target in "${targets[@]}"; do
  if [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
    echo "Building the wheel for $target"
    scripts/build_wheel.sh "$python" "$directory" "$target"
  else
    missing+=("$target")
  fi
done
wheels=("$directory"/nunatak-*-abi3-*.whl)
"$python" scripts/pure_wheel.py "${wheels[0]}" "$directory"
ls -l "$directory"/*.whl
if [ ${#missing[@]} -gt 0 ]; then
  echo "Not built: ${missing[*]}. Install with: rustup target add ${missing[*]}"
fi
