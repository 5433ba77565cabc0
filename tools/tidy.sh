#!/usr/bin/env bash
# Runs clang-tidy on the library's sources with the settings of .clang-tidy:
# tools/tidy.sh BUILD [FILE...]
#
# Also checks the lock annotations (ABSL_GUARDED_BY, ABSL_LOCKS_EXCLUDED, ..), which g++ ignores.
# Without FILE, checks all sources and the tests that take a lock. clang-tidy comes from the extra
# "lint". From version 21 on it does not look into system headers, which makes it eight times as
# fast. BUILD is a folder that CMake has configured with the tests. Takes five minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
# Checks each file without the precompiled header, because a file must include all that it uses.
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
sed -E 's/-Winvalid-pch|-include [^ "]+cmake_pch.hxx//g' "$build/compile_commands.json" \
  > "$commands/compile_commands.json"
[ $# != 0 ] || set -- $(find cc -name '*.cc' ! -name '*_test.cc' ! -path 'cc/testing/*') \
  $(grep -lE 'Mutex|ABSL_GUARDED_BY' cc/*/*_test.cc)
printf '%s\n' "$@" |
  xargs -P "$(nproc)" -n 1 clang-tidy -p "$commands" --quiet \
    --extra-arg=-Wthread-safety --extra-arg=-Wno-unknown-warning-option
