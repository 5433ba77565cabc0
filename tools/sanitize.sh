#!/usr/bin/env bash
# Runs the library under the sanitizers, from the checkout: tools/sanitize.sh [build folder]
#
#   thread              the core's C++ tests, races among them
#   address,undefined   the C++ tests of core, device (the GPU code on the host too), resources,
#                       lists, slices, graphs and loops; then the whole op library in a Python
#                       process: the tests of bad input, of the graph pass and of slices, and 600
#                       random programs
#
# PYTHON names the interpreter whose TensorFlow is used (default: python3); it needs the test
# requirements. Takes half an hour on two cores, nearly all of it compilation. Ends with "sanitizers:
# nothing found" or at the first report.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${1:-build-sanitize}"
folder=$(realpath "${1:-build-sanitize}")
python=$(command -v "${PYTHON:-python3}")
tests=(array_store_test array_store_race_test array_store_random_test slot_shapes_test
  sparse_vector_test mutable_tensors_test functors_test array_resource_test list_variant_test
  persistent_list_test accumulators_test graph_test functors_gpu_emulated_test slices_test
  pooled_tensor_test loop_test core_out_of_memory_test lists_out_of_memory_test
  resource_out_of_memory_test loop_out_of_memory_test)

# build SANITIZERS TARGETS...
build() {
  local sanitizers=$1 into="$folder/${1//,/-}"
  shift
  cmake -B "$into" -DPython_EXECUTABLE="$python" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DTAG_SANITIZE="$sanitizers" > /dev/null
  cmake --build "$into" --parallel "$(nproc)" --target "$@"
}

export TSAN_OPTIONS="suppressions=$PWD/cmake/tsan.supp halt_on_error=1"
# No leak check: what TensorFlow and Python never free would be reported (tests/leak_test.py is
# about leaks). Allocations that fail are part of the tests.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

# Those of the lists would be reported for their tensors, which TensorFlow's own code counts.
threads=(array_store_test array_store_race_test)
build thread "${threads[@]}"
for test in "${threads[@]}"; do "$folder/thread/$test"; done

build address,undefined "${tests[@]}" tensor_array_grad tag_bind tag_api
for test in "${tests[@]}"; do "$folder/address-undefined/$test"; done

# The package with the sanitized library, in a folder of its own.
site="$folder/site"
cmake --install "$folder/address-undefined" --component python --prefix "$site" > /dev/null
cp python/tensor_array_grad/*.py "$site/tensor_array_grad/"
# The sanitizers' run-time libraries must come before all others; libstdc++ must come with them,
# for they look for its throw function as they start.
preload=$(for name in libasan.so libubsan.so libstdc++.so; do g++ -print-file-name=$name; done)
in_python() {
  LD_PRELOAD="${preload//$'\n'/ }" PYTHONPATH="$site:$PWD" TF_CPP_MIN_LOG_LEVEL=2 "$python" -m "$@"
}
in_python pytest -q -p no:cacheprovider tests/crash_test.py tests/list_crash_test.py \
  tests/hostile_test.py tests/pass_test.py tests/loop_pass_test.py tests/slice_sum_test.py
in_python tests.fuzz --programs 600 --no-stock
echo "sanitizers: nothing found"
