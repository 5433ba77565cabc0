#!/usr/bin/env bash
# Builds the C++ tests that need no kernel under ThreadSanitizer, then under
# UndefinedBehaviorSanitizer, and runs them. Not under AddressSanitizer: Abseil's hash maps have
# another layout there than in the code that TensorFlow's wheel brings along. From the checkout: tools/sanitize.sh [build folder]
# PYTHON names the interpreter whose TensorFlow is used (default: python3).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build-sanitize}
tests=(array_store_test array_store_race_test array_store_random_test slot_shapes_test
  sparse_vector_test functors_test array_resource_test persistent_list_test)

# run SANITIZERS TESTS...: one build, then its tests.
run() {
  local sanitizers=$1 build="$folder/${1//,/-}"
  shift
  cmake -B "$build" -DPython_EXECUTABLE="$(command -v "${PYTHON:-python3}")" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTAG_SANITIZE="$sanitizers" > /dev/null
  cmake --build "$build" --parallel "$(nproc)" --target "$@"
  for test in "$@"; do "$build/$test"; done
}

export TSAN_OPTIONS="suppressions=$PWD/cmake/tsan.supp halt_on_error=1"
run thread array_store_test array_store_race_test
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
run undefined "${tests[@]}"
echo "sanitizers: nothing found"
