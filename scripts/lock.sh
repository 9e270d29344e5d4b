#!/usr/bin/env bash
# Compiles the lock files, each for all Python versions that pyproject.toml allows. They contain versions
# and hashes, but no download locations.
# The node's versions come first and constrain those of the development tools: a tool that requires an older
# version of a dependency fails here instead of holding the node back.
set -euo pipefail
cd "$(dirname "$0")/.."

compile() {
  .venv/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header \
    --universal --python-version 3.11 --output-file "$@" pyproject.toml
}
compile requirements/runtime.lock requirements/runtime.in
.venv/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --universal --python-version 3.11 \
  --output-file requirements/wheels.lock requirements/wheels.in
compile requirements/dev.lock -c requirements/runtime.lock requirements/dev.in

# On Debian's platform no Python version may need a compiler.
for version in 3.11 3.12 3.13; do
  for names in runtime dev; do
    .venv/bin/uv pip compile --quiet --no-deps --only-binary :all: --python-version "$version" \
      --python-platform x86_64-unknown-linux-gnu --no-header "requirements/$names.lock" >/dev/null
  done
done

for project in tests/clients tests/clients/projects/hardhat{2,3} benchmarks; do
  npm install --prefix "$project" --package-lock-only --ignore-scripts --no-audit --no-fund \
    --omit-lockfile-registry-resolved
  # Donation links are addresses too.
  node -e '
    const [, file] = process.argv, fs = require("fs"), lock = JSON.parse(fs.readFileSync(file));
    for (const entry of Object.values(lock.packages)) delete entry.funding;
    fs.writeFileSync(file, JSON.stringify(lock, null, 2) + "\n");
  ' "$project/package-lock.json"
done
