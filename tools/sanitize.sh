#!/usr/bin/env bash
# Builds the C++ tests that need no kernel under AddressSanitizer + UndefinedBehaviorSanitizer, then
# under ThreadSanitizer, and runs them. From the checkout: tools/sanitize.sh [build folder]
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

# TensorFlow's wheel leaks at exit and passes null for empty spans; neither is ours to see here.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
run address,undefined "${tests[@]}"
export TSAN_OPTIONS="suppressions=$PWD/cmake/tsan.supp halt_on_error=1"
run thread array_store_test array_store_race_test
echo "sanitizers: nothing found"
