#!/usr/bin/env bash
# Every test: those that need no JVM, then those of both lines of Spark side by side.
set -euo pipefail
cd "$(dirname "$0")/.."

# not by the first test that needs it: with Go at hand it takes minutes, once
echo "Building the S3 server of the tests ..." >&2
.venv/bin/python -m tests.storage.s3_servers
.venv/bin/pytest -m "not spark" --numprocesses auto

# one line after the other would leave half of two cores idle
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Spark 3.5 runs meanwhile; its output follows that of Spark 4.1." >&2
make --no-print-directory test-3.5 >"$log" 2>&1 &
older=$!
status=0
.venv/bin/pytest -m spark || status=1
wait "$older" || status=1
cat "$log"
exit "$status"
