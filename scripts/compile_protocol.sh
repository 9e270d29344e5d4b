#!/usr/bin/env bash
# Makes the Python classes of the wire's messages out of network_app/wire/*.proto, beside them or,
# below the directory that is named, in a tree of the same shape.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:-.}
exec .venv/bin/python -m grpc_tools.protoc --proto_path=. --python_out="$target" \
  --pyi_out="$target" network_app/wire/*.proto
