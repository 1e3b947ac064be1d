#!/usr/bin/env bash
# Create or update the environment $1 from the lock $2, then write the stamp $1/.complete.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly env=$1 lock=$2
readonly probe='import sys; sys.exit(sys.version_info < (3, 11))'

new_enough() { "$1" -c "$probe" >/dev/null 2>&1; }

find_python() {
  local name
  for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
    if new_enough "$name"; then
      echo "$name"
      return
    fi
  done
  cat >&2 <<-MESSAGE
	error: Python 3.11 or newer was not found (python3 is $(python3 --version 2>&1 | head -n 1)).
	Install it (Debian, Ubuntu: python3.11 python3.11-venv; macOS: brew install python@3.12)
	or name it: make setup PYTHON=/path/to/python3.11
	MESSAGE
  return 1
}

rm -f "$env/.complete"
if ! new_enough "$env/bin/python" || ! "$env/bin/python" -m pip --version >/dev/null 2>&1; then
  python=$(find_python)
  echo "Creating $env with $("$python" --version) ..." >&2
  if ! "$python" -m venv --clear "$env"; then
    echo "error: $python cannot create virtual environments." >&2
    echo "Install its venv module (Debian, Ubuntu: python3-venv) and try again." >&2
    exit 1
  fi
fi

# uv itself comes from the locks too, so that everyone resolves with the same one
uv=$(sed -n 's/^uv==\([0-9.]*\).*/\1/p' "$lock")
echo "Installing what $lock names ..." >&2
"$env/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$uv"
# links fail where the cache lies on another file system; a copy always works
export UV_LINK_MODE=${UV_LINK_MODE:-copy} VIRTUAL_ENV=$PWD/$env
# compiled now, as pip does it, or commands would compile all that they import
"$env/bin/uv" pip sync --quiet --require-hashes --compile-bytecode "$lock"
"$env/bin/uv" pip install --quiet --no-deps -e .
"$env/bin/python" -m compileall -q src
touch "$env/.complete"
