#!/usr/bin/env bash
# Makes the virtual environment with Python 3.11. On Debian the module `venv` may be a package to add.
set -euo pipefail
venv=$1

python=
for candidate in python3.11 python3 python; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo "The node needs Python 3.11, and neither python3.11 nor python3 is one." >&2
  exit 1
fi

if ! "$python" -c 'import ensurepip' 2>/dev/null; then
  "$(dirname "$0")/install_packages.sh" python3.11-venv
fi
"$python" -m venv "$venv"
