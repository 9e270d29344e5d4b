#!/usr/bin/env bash
# Installs Debian packages, as root or by sudo; without either it lists the missing packages.
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
# The tests use no service that the installation would start: at runlevel 1 none is started.
environment=(env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1)
"${as_root[@]}" "${environment[@]}" apt-get update -q </dev/null
"${as_root[@]}" "${environment[@]}" apt-get install -q -y --no-install-recommends "$@" </dev/null
