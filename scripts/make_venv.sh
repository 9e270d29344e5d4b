#!/usr/bin/env bash
# Creates the virtual environment with a Python that pyproject.toml allows: the machine's own python3 if
# it is allowed, otherwise the latest. On Debian the module `venv` may need a separate package.
set -euo pipefail
venv=$1

read -r oldest beyond < <(
  sed -n 's/^requires-python = ">=3\.\([0-9]*\),<3\.\([0-9]*\)"$/\1 \2/p' pyproject.toml
)
candidates=(python3)
for ((minor = beyond - 1; minor >= oldest; minor--)); do
  candidates+=("python3.$minor")
done

# Packages with compiled code are built for CPython with the GIL.
probe='
import platform, sys, sysconfig
free = " free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print("%s 3.%d%s" % (platform.python_implementation(), sys.version_info[1], free))
'
python='' found=''
for candidate in "${candidates[@]}"; do
  kind=$("$candidate" -c "$probe" 2>/dev/null) || continue
  minor=${kind#CPython 3.}
  if [[ $minor =~ ^[0-9]+$ ]] && ((minor >= oldest && minor < beyond)); then
    python=$candidate
    break
  fi
  found+=", $candidate is $kind"
done
if [ -z "$python" ]; then
  range="3.$oldest to 3.$((beyond - 1))"
  echo "No Python for the node here: it needs CPython $range, as python3 or python3.$oldest and so on${found}." >&2
  exit 1
fi

if ! "$python" -c 'import ensurepip' 2>/dev/null; then
  "$(dirname "$0")/install_packages.sh" "python3.$minor-venv"
fi
"$python" -m venv "$venv"
