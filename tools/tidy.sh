#!/usr/bin/env bash
# Runs clang-tidy on the library's sources with the settings of .clang-tidy:
# tools/tidy.sh BUILD [FILE...]
#
# Also checks the lock annotations (ABSL_GUARDED_BY, ABSL_LOCKS_EXCLUDED, ..), which g++ ignores.
# Without FILE, checks the sources of the library: no tests, no examples, nothing in cc/testing.
# clang-tidy comes from the extra "lint". From version 21 on it does not look into system headers,
# which makes it eight times as fast. BUILD is a folder that CMake has configured. Takes five
# minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
# Checks each file without the precompiled header, because a file must include all that it uses.
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
sed -E 's/-Winvalid-pch|-include [^ "]+cmake_pch.hxx//g' "$build/compile_commands.json" \
  > "$commands/compile_commands.json"
[ $# != 0 ] || set -- $(find cc -name '*.cc' ! -name '*_test.cc' ! -path 'cc/testing/*')
# By default the analyzer visits up to 225,000 states of a function. Where a function has that many,
# the first 100,000 take less than half of the time.
analyzer=(--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang
  --extra-arg=max-nodes=100000)
printf '%s\n' "$@" |
  xargs -P "$(nproc)" -n 1 clang-tidy -p "$commands" --quiet \
    "${analyzer[@]}" --extra-arg=-Wthread-safety --extra-arg=-Wno-unknown-warning-option
