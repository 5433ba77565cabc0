#!/usr/bin/env bash
# Tests the GPU kernels on a machine that has a GPU: tools/gpu_check.sh [FOLDER OF WHEELS]
#
# Makes a virtual environment and installs TensorFlow with GPU support and this checkout into it.
# With a folder of wheels, it installs from that folder only and needs no network. Then it runs the
# C++ tests of the device code, the same tests under compute-sanitizer if that is found, the Python
# tests on the GPU, and the benchmarks. It prints every result and ends with an error if one failed.
#
# Requires python3 with venv and Python.h, g++, nvcc, and GoogleTest for the C++ tests. The folder
# of wheels must hold tensorflow (the release that _version.py names) with all its requirements,
# cmake, ninja, setuptools>=77, packaging, pybind11, pytest, hypothesis and pytest-timeout.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
wheels=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TF_CPP_MIN_LOG_LEVEL=2 TENSOR_ARRAY_GRAD_GPU=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export TF_FORCE_GPU_ALLOW_GROWTH=true
failed=()

step() {
  local name=$1 start=$SECONDS
  shift
  printf '\n==== %s\n' "$name"
  "$@" || failed+=("$name")
  printf '==== %s: %d s\n' "$name" $((SECONDS - start))
}

get() {
  if [ -n "$wheels" ]; then pip install -q --no-index --find-links "$wheels" "$@"; else pip install -q "$@"; fi
}

install() {
  python3 -m venv "$work/venv" && source "$work/venv/bin/activate" || return 1
  local version
  version=$(sed -n 's/^TENSORFLOW_DEFAULT = "\(.*\)"/\1/p' python/tensor_array_grad/_version.py)
  local with_cuda=
  [ -n "$wheels" ] || with_cuda='[and-cuda]'
  get "tensorflow$with_cuda==$version.*" || return 1
  get cmake ninja 'setuptools>=77' packaging pybind11 pytest hypothesis pytest-timeout || return 1
  CMAKE_ARGS="${CMAKE_ARGS:-} -DTAG_CUDA=ON" pip install -q --no-deps --no-build-isolation .
}

# If TensorFlow did not see the GPU, the tests below would be skipped and so pass.
active() {
  (cd / && python - << 'PY'
import tensorflow as tf, tensor_array_grad
assert tf.config.list_physical_devices("GPU"), "TensorFlow sees no GPU"
tensor_array_grad.enable()
print(tensor_array_grad.status())
assert tensor_array_grad.is_enabled()
PY
  )
}

device_tests() {
  cmake -G Ninja -B "$work/build" -DPython_EXECUTABLE="$VIRTUAL_ENV/bin/python" -DTAG_CUDA=ON &&
    cmake --build "$work/build" --target functors_gpu_test device_code_benchmark &&
    TENSOR_ARRAY_GRAD_GPU_REQUIRED=1 "$work/build/functors_gpu_test"
}

memory_check() {
  compute-sanitizer --tool memcheck --error-exitcode 1 "$work/build/functors_gpu_test"
}

step "install" install
step "kernels active on the GPU" active
step "device code against the CPU's" device_tests
if command -v compute-sanitizer > /dev/null; then
  step "compute-sanitizer memcheck" memory_check
else
  printf '\n==== compute-sanitizer: not found, skipped\n'
fi
step "Python tests on the GPU" pytest -q tests/gpu/gpu_{,programs_}test.py \
  tests/v3/{lifecycle,access,bulk,grad,gradient}_test.py tests/lists/list_gradient_test.py \
  tests/loops/{pass,loop_pass}_test.py
step "benchmark of the device code alone" "$work/build/device_code_benchmark"
step "benchmark" python -m benchmarks.gpu

if [ ${#failed[@]} != 0 ]; then
  printf '\nFAILED: %s\n' "${failed[@]}"
  exit 1
fi
printf '\nAll passed on %s\n' "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | head -1)"
