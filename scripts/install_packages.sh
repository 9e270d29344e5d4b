#!/usr/bin/env bash
# Installs Debian packages, as root or by sudo; without either it says which ones are missing.
set -euo pipefail

if ! command -v apt-get >/dev/null; then
  echo "Please install what corresponds to these Debian packages: $*" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then
  as_root=()
elif sudo -n true 2>/dev/null; then
  as_root=(sudo -n)
else
  echo "Missing: $*. Please say: sudo apt-get install $*" >&2
  exit 1
fi

echo "Installing Debian packages: $*"
# A service that would start by itself is none that the tests use: runlevel 1 starts none.
environment=(env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1)
"${as_root[@]}" "${environment[@]}" apt-get update -q </dev/null
"${as_root[@]}" "${environment[@]}" apt-get install -q -y --no-install-recommends "$@" </dev/null
