#!/usr/bin/env bash
# Every test: those that need no Spark, then the sessions of all versions of Spark, some at a time.
# Arguments are names of sessions: only these run. The session "core" is the tests without Spark.
set -euo pipefail
cd "$(dirname "$0")/.."

# a session waits for more than half of its time: five keep two cores busy, the longest first
at_once=5
sessions=(core 4.1-files 4.1-folders 4.1-commands 4.1-kinds hudi 3.5)
# each has an environment of its own, which nothing else needs
if [[ ${LAKESIEVE_DEPTH:-test} == soak ]]; then
  sessions+=(4.0 4.2 4.3 oldest)
else
  sessions+=(4.2-statements)
fi
if (($# > 0)); then sessions=("$@"); fi
shopt -s extglob
# so that the four of them take about as long as hudi and 3.5 together
kinds=(tests/spark/many_keys/ tests/spark/test_{distinct,order,some_rows}.py)
commands=(
  tests/spark/{advisor,commands,keys}/ tests/spark/test_{branches,build,contract,restarts}.py
)
folders=(tests/spark/!(hudi|java|advisor|commands|keys|many_keys|__pycache__)/)

run() {
  case $1 in
    4.1-folders) .venv/bin/pytest "${folders[@]}" ;;
    4.1-kinds) .venv/bin/pytest "${kinds[@]}" ;;
    4.1-commands) .venv/bin/pytest "${commands[@]}" ;;
    4.1-files)
      .venv/bin/pytest -m spark tests/{cli,spark}/ "${folders[@]/#/--ignore=}" \
        "${commands[@]/#/--ignore=}" "${kinds[@]/#/--ignore=}"
      ;;
    4.2-statements)
      make --no-print-directory .venv-4.2/.complete
      .venv-4.2/bin/pytest tests/spark/extension/test_{statements,servers}.py
      ;;
    *) make --no-print-directory "test-$1" ;;
  esac
}

# not by the first test that needs it: with Go at hand it takes minutes, once
echo "Fetching the servers of the tests ..." >&2
.venv/bin/python -m tests.storage.s3_servers
.venv/bin/python -m tests.storage.emulators
.venv/bin/python -m tests.storage.hdfs_server
status=0
if [[ ${sessions[0]} == core ]]; then
  sessions=("${sessions[@]:1}")
  .venv/bin/pytest -m "not spark" --ignore tests/spark/ --numprocesses auto || status=1
  # a soak goes on, so that one run shows all that fails
  if ((status > 0)) && [[ ${LAKESIEVE_DEPTH:-test} != soak ]]; then exit "$status"; fi
fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# jobs in the background do not hear of Ctrl-C
trap 'trap - TERM; kill 0' INT TERM
echo "Sessions of Spark, $at_once at a time, each shown when it ends: ${sessions[*]}" >&2
running=0
for session in "${sessions[@]}"; do
  if ((running == at_once)); then
    wait -n || status=1
    running=$((running - 1))
  fi
  (
    ended=0
    run "$session" >"$logs/$session" 2>&1 || ended=1
    printf '\n%s\n' "$session"
    cat "$logs/$session"
    exit "$ended"
  ) &
  running=$((running + 1))
done
while ((running > 0)); do
  wait -n || status=1
  running=$((running - 1))
done
exit "$status"
