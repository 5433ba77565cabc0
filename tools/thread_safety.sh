#!/usr/bin/env bash
# Checks the lock annotations of every file that takes a lock: tools/thread_safety.sh BUILD
#
# g++ ignores the annotations (ABSL_GUARDED_BY, ABSL_LOCKS_EXCLUDED, ..), so clang's analysis checks
# them, run by clang-tidy from the extra "lint". BUILD is a folder that CMake has configured with
# the tests. A minute on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rlE 'Mutex|ABSL_GUARDED_BY' cc --include='*.cc' |
  xargs -P "$(nproc)" -n 1 clang-tidy -p "$1" --quiet --warnings-as-errors='*' \
    --checks='-*,misc-unused-using-decls,clang-diagnostic-thread-safety*' \
    --extra-arg=-Wthread-safety --extra-arg=-Wno-unknown-warning-option
