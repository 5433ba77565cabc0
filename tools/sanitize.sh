#!/usr/bin/env bash
# Runs the library under the sanitizers, from the checkout: tools/sanitize.sh [build folder]
#
#   thread              two C++ tests of arrays, those of the pool of blocks and of the nodes of
#                       lists, and the C++ tests of a loop's second thread, of the cache of buffers,
#                       of calls of functions and of the replacement of executables
#   address,undefined   the C++ tests of arrays, device (with the GPU code on the host), resources,
#                       lists, slices, rules and loops; then, with the whole op library in a Python
#                       process, the tests of bad input, of the graph pass, of slices and of called
#                       functions, and 600 random programs
#
# PYTHON names the interpreter whose TensorFlow is used (default: python3). It needs the test
# requirements. Takes half an hour on two cores. Ends with "sanitizers: nothing found", or stops at
# the first report.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${1:-build-sanitize}"
folder=$(realpath "${1:-build-sanitize}")
python=$(command -v "${PYTHON:-python3}")
tests=(array_name_test array_store_test array_store_race_test array_store_random_test
  slot_shapes_test slot_table_test sparse_vector_test release_test block_pool_test
  mutable_tensors_test functors_test resource_test list_variant_test list_codec_test
  list_ops_test persistent_list_test loop_stack_test functors_gpu_emulated_test slices_test
  node_test pooled_tensor_test flow_test rewrite_test small_ops_test compile_test schedule_test
  run_test array_out_of_memory_test lists_out_of_memory_test resource_out_of_memory_test
  run_out_of_memory_test)

# build SANITIZERS TARGETS...
build() {
  local sanitizers=$1 into="$folder/${1//,/-}"
  shift
  cmake -B "$into" -DPython_EXECUTABLE="$python" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DTAG_SANITIZE="$sanitizers" > /dev/null
  cmake --build "$into" --parallel "$(nproc)" --target "$@"
}

export TSAN_OPTIONS="suppressions=$PWD/cmake/tsan.supp halt_on_error=1"
# The leak check is off, because it would report memory that TensorFlow and Python never free;
# tests/robustness/leak_test.py tests for leaks. Allocations may return null, because tests make
# them fail.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

# Under `thread`, the list tests would cause reports about the reference counts of tensors, which
# TensorFlow's own code, built without the sanitizer, changes.
threads=(array_store_test array_store_race_test block_pool_test node_test)
build thread "${threads[@]}" run_test
for test in "${threads[@]}"; do "$folder/thread/$test"; done
in_threads='TrailingThread*:BufferCache*:Lock*:FunctionCall*:CalledFunctions*:NewestExecutable*'
"$folder/thread/run_test" --gtest_filter="$in_threads"

build address,undefined "${tests[@]}" tensor_array_grad tag_bind tag_api
for test in "${tests[@]}"; do "$folder/address-undefined/$test"; done

# The Python package with the sanitized library is installed into a folder of its own.
site="$folder/site"
cmake --install "$folder/address-undefined" --component python --prefix "$site" > /dev/null
cp python/tensor_array_grad/*.py "$site/tensor_array_grad/"
cp python/*.py "$site/"
# The sanitizers' run-time libraries must be loaded before all others. libstdc++ must be loaded with
# them, because they look up its throw function when they start.
preload=$(for name in libasan.so libubsan.so libstdc++.so; do g++ -print-file-name=$name; done)
in_python() {
  LD_PRELOAD="${preload//$'\n'/ }" PYTHONPATH="$site:$PWD" TF_CPP_MIN_LOG_LEVEL=2 "$python" -m "$@"
}
# One test measures memory, of which AddressSanitizer holds back what was freed.
in_python pytest -q -p no:cacheprovider \
  --deselect tests/loops/pass_test.py::test_what_a_loop_keeps_for_its_gradient_is_freed_when_an_iteration_fails \
  tests/robustness/{crash,list_crash,hostile}_test.py \
  tests/loops/{called_functions,pass,rewritten_loops,slice_sum}_test.py
in_python tests.support.fuzz --programs 600 --no-stock
echo "sanitizers: nothing found"
