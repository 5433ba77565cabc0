#!/usr/bin/env bash
# Tests the GPU kernels on a machine that has a GPU: tools/gpu_check.sh [FOLDER OF WHEELS]
#
# Makes a virtual environment, installs TensorFlow with GPU support into it, and builds the library
# into this checkout. Then it runs the C++ tests of the device code, the same tests under
# compute-sanitizer if that is found, the Python tests on the GPU, and the benchmarks. It prints
# every result and ends with an error if one failed. With a folder of wheels, it installs from that
# folder only and needs no network; the folder must then hold the CUDA libraries too (the
# requirements of tensorflow[and-cuda]), because TensorFlow sees no GPU without them.
#
# These variables change what it does:
#   PYTHON   an interpreter that has TensorFlow and the packages named below. Nothing is installed.
#   STEPS    the steps to run, by name (default: all of them), to spread them over several commands
#   WORK     a folder that is kept, so that later steps find the build of earlier ones
#   LIMIT    seconds that a step may take (default: 900)
#   CMAKE_ARGS   more arguments of CMake, such as -DCMAKE_PREFIX_PATH=<GoogleTest>
#
# Requires python3 with venv (unless PYTHON is set), Python.h or TensorFlow's copy of it, g++, nvcc,
# and GoogleTest. The folder of wheels must also hold cmake, ninja, pybind11, pytest, hypothesis,
# pytest-timeout and pytest-xdist.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
wheels=${1:-}
if [ -n "${WORK:-}" ]; then
  work=$WORK && mkdir -p "$work"
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
python=${PYTHON:-$work/venv/bin/python}
export TF_CPP_MIN_LOG_LEVEL=2 PIP_DISABLE_PIP_VERSION_CHECK=1
export TF_FORCE_GPU_ALLOW_GROWTH=true PYTHONPATH=$PWD/python
failed=()

# step NAME FUNCTION: runs a function of this script in a process of its own, which can be ended.
step() {
  local name=$1 start=$SECONDS
  [ -z "${STEPS:-}" ] || [[ " $STEPS " == *" $name "* ]] || return
  printf '\n==== %s\n' "$name"
  timeout -k 10 "${LIMIT:-900}" bash -uo pipefail -c "$2" || failed+=("$name")
  printf '==== %s: %d s\n' "$name" $((SECONDS - start))
}

get() {
  if [ -n "$wheels" ]; then
    "$python" -m pip install -q --no-index --find-links "$wheels" "$@"
  else
    "$python" -m pip install -q "$@"
  fi
}

packages() {
  local version
  version=$(sed -n 's/^TENSORFLOW_DEFAULT = "\(.*\)"/\1/p' python/tensor_array_grad/_version.py)
  python3 -m venv "$work/venv" && get "tensorflow[and-cuda]==$version.*" &&
    get cmake ninja pybind11 pytest hypothesis pytest-timeout pytest-xdist
}

# One build for all steps, with the library and the bindings in the checkout.
build() {
  PATH=$(dirname "$python"):$PATH
  cmake -G Ninja -B "$work/build" -DPython_EXECUTABLE="$python" -DTAG_CUDA=ON -DTAG_BINDINGS=ON \
    -DTAG_INPLACE=ON ${CMAKE_ARGS:-} &&
    cmake --build "$work/build" --target tensor_array_grad tag_bind functors_gpu_test \
      device_code_benchmark
}

device() { TENSOR_ARRAY_GRAD_GPU_REQUIRED=1 "$work/build/functors_gpu_test"; }

sanitize() {
  local tool failed=0
  if ! command -v compute-sanitizer > /dev/null; then
    echo "compute-sanitizer: not found, skipped"
    return
  fi
  for tool in memcheck racecheck initcheck synccheck; do
    TENSOR_ARRAY_GRAD_GPU_REQUIRED=1 compute-sanitizer --tool $tool --error-exitcode 1 \
      "$work/build/functors_gpu_test" --gtest_brief=1 || failed=1
  done
  return $failed
}

# What the library says of the GPU, before the long steps.
active() {
  (cd / && "$python" - << 'PY'
import tensorflow as tf, tensor_array_grad
assert tf.config.list_physical_devices("GPU"), "TensorFlow sees no GPU"
tensor_array_grad.enable()
print(tensor_array_grad.status())
assert tensor_array_grad.is_enabled()
PY
  )
}

tests() {
  TENSOR_ARRAY_GRAD_GPU_REQUIRED=1 "$python" -m pytest -q -n 4 \
    tests/gpu/device_code_test.py @tests/gpu/device_tests.txt
}

bandwidth() { "$work/build/device_code_benchmark"; }
benchmark() { "$python" -m benchmarks.gpu; }

export work python wheels
export -f get packages build device sanitize active tests bandwidth benchmark
[ -n "${PYTHON:-}" ] || step packages packages
step build build
step device device
step bandwidth bandwidth
step sanitize sanitize
step active active
step tests tests
step benchmark benchmark

if [ ${#failed[@]} != 0 ]; then
  printf '\nFAILED: %s\n' "${failed[@]}"
  exit 1
fi
printf '\nAll passed on %s\n' \
  "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | head -1)"
