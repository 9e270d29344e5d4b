#!/usr/bin/env bash
# Generates the Python classes of the network messages from network_app/wire/*.proto, beside these files
# or in the same layout below the given directory.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:-.}
exec .venv/bin/python -m grpc_tools.protoc --proto_path=. --python_out="$target" \
  --pyi_out="$target" network_app/wire/*.proto
