#!/usr/bin/env bash
# Say what to install where there is no JDK, or one that is older than Spark needs.
set -euo pipefail

readonly minimum=17
readonly hint="Install a JDK ${minimum} or newer (Debian, Ubuntu: openjdk-17-jdk-headless;
macOS: brew install temurin@21) and make JAVA_HOME or the PATH point to it."

fail() {
  printf 'error: %s\n%s\n' "$1" "$hint" >&2
  exit 1
}

if [[ -n "${JAVA_HOME:-}" ]]; then
  java="$JAVA_HOME/bin/java"
  [[ -x "$java" ]] || fail "JAVA_HOME is $JAVA_HOME, which holds no bin/java."
  [[ -x "$JAVA_HOME/bin/javac" ]] || fail "JAVA_HOME is $JAVA_HOME, which is a JRE: it holds no bin/javac."
else
  java=$(command -v java) || fail "Java was not found: no java on the PATH, and JAVA_HOME is not set."
  command -v javac >/dev/null || fail "Java's compiler was not found: $java is a JRE, no javac is on the PATH."
fi

output=$("$java" -version 2>&1) || fail "$java -version failed: ${output%%$'\n'*}"
version=$(sed -n 's/.* version "\([^"]*\)".*/\1/p' <<<"$output" | head -n 1)
major=${version#1.} # Java 8 calls itself 1.8
major=${major%%[!0-9]*}
[[ -n "$major" ]] || fail "$java does not say which version it is."
((major >= minimum)) || fail "Java $version at $java is too old."
