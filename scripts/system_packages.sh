#!/usr/bin/env bash
# Finds the system packages that the tests need, and installs the missing ones.
set -euo pipefail
here=$(dirname "$0")

missing=()
has() { command -v "$1" >/dev/null; }

compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || has initdb || missing+=(postgresql)
has redis-server || missing+=(redis-server)
has chromium || missing+=(chromium)
has npm || missing+=(nodejs npm)
# For the load generator of benchmarks/, which is compiled on the machine where it runs.
has cc || missing+=(gcc libc6-dev)
# For promtool, which checks metrics, rules and alerts.
has promtool || missing+=(prometheus)
# For systemd-analyze, which checks the units; no service of it has to run.
has systemd-analyze || missing+=(systemd)
# For the examples in deploy/proxies.
has nginx || missing+=(nginx-light)
has caddy || missing+=(caddy)
has setpriv || missing+=(util-linux)
# The native engine's own tests are programs that link the interpreter.
if "$here/native_toolchain.sh" >/dev/null && ! .venv/bin/python "$here/python_library.py" >/dev/null; then
  missing+=("$(.venv/bin/python -c 'import sys; print("libpython%d.%d-dev" % sys.version_info[:2])')")
fi

if [ ${#missing[@]} -gt 0 ]; then
  exec "$here/install_packages.sh" "${missing[@]}"
fi
