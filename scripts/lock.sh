#!/usr/bin/env bash
# Compiles the lock files. They hold versions and hashes and name no place to download from.
# The tests' versions come first; what the node itself needs is then a part of them.
set -euo pipefail
cd "$(dirname "$0")/.."

compile() {
  .venv/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header \
    --python-version 3.11 --output-file "$@"
}
compile requirements/dev.lock requirements/dev.in
compile requirements/runtime.lock -c requirements/dev.lock requirements/runtime.in

for project in tests/clients benchmarks; do
  npm install --prefix "$project" --package-lock-only --ignore-scripts --no-audit --no-fund \
    --omit-lockfile-registry-resolved
  # Requests for donations are addresses too.
  node -e '
    const [, file] = process.argv, fs = require("fs"), lock = JSON.parse(fs.readFileSync(file));
    for (const entry of Object.values(lock.packages)) delete entry.funding;
    fs.writeFileSync(file, JSON.stringify(lock, null, 2) + "\n");
  ' "$project/package-lock.json"
done
