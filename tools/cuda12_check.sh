#!/usr/bin/env bash
# Builds the GPU kernels with CUDA 12 and tests them without a GPU: tools/cuda12_check.sh [NVCC]
#
# NVCC is the nvcc of a CUDA 12 toolkit. If it is not given, the script downloads the Debian 13
# packages of CUDA 12.4 (1 GB) and unpacks them into a temporary folder; it installs nothing. (PyPI
# has the nvcc of CUDA 13 only, which continuous integration uses.)
#
# The script compiles the whole library for all architectures that this nvcc knows and loads it into
# TensorFlow, inspects the code that nvcc generates for the device, and runs the GPU tests that need
# no GPU.
#
# PYTHON names the interpreter whose TensorFlow is used (default: python3). It needs cmake, ninja,
# pybind11 and the test requirements. Without NVCC, the script also needs apt-get and
# debian-archive-keyring.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TF_CPP_MIN_LOG_LEVEL=2
python=$(command -v "${PYTHON:-python3}")

# Downloads and unpacks the packages, with package lists in a folder of its own: the packages of the
# machine do not change.
fetch() {
  local key=/usr/share/keyrings/debian-archive-keyring.gpg package
  mkdir -p "$work"/{lists/partial,packages,root}
  echo "deb [arch=amd64 signed-by=$key] http://deb.debian.org/debian trixie main non-free" \
    > "$work/sources"
  local apt=(apt-get -qq -oDir::State::Lists="$work/lists" -oDir::Etc::SourceList="$work/sources"
    -oDir::Etc::SourceParts=/dev/null -oDir::Cache::pkgcache= -oDir::Cache::srcpkgcache=
    -oAPT::Sandbox::User=root)
  "${apt[@]}" update
  (cd "$work/packages" && "${apt[@]}" download nvidia-cuda-toolkit nvidia-cuda-dev libcu++-dev)
  for package in "$work"/packages/*.deb; do
    # Leaves out the mathematics libraries, which are most of the size.
    dpkg --fsys-tarfile "$package" |
      tar -x -C "$work/root" --exclude='*/libcu[!d]*' --exclude='*/libn*' --exclude='./usr/share'
    rm "$package"
  done
}

# Arranges the files as in a toolkit that was not installed from packages. Its nvcc.profile gives
# all paths relative to nvcc.
assemble() {
  local from=$work/root/usr into=$work/cuda
  mkdir -p "$into"/{bin,nvvm,lib64}
  mv "$from"/include "$into"/
  mv "$from"/lib/x86_64-linux-gnu/*.a "$into"/lib64/
  mv "$from"/lib/nvidia-cuda-toolkit/libdevice "$into"/nvvm/
  mv "$from"/lib/nvidia-cuda-toolkit/bin/{nvcc,cicc,crt} "$into"/bin/
  mv "$from"/bin/{ptxas,fatbinary,nvlink,cudafe++,cuobjdump} "$into"/bin/
  cat > "$into"/bin/nvcc.profile << 'PROFILE'
TOP = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64"
PROFILE
}

nvcc=${1:-}
if [ -z "$nvcc" ]; then
  fetch
  assemble
  nvcc=$work/cuda/bin/nvcc
fi
"$nvcc" --version | grep release
cmake -G Ninja -B "$work/build" -DPython_EXECUTABLE="$python" -DTAG_CUDA=ON \
  -DTAG_CUDA_NVCC="$nvcc" | grep -E "CUDA|TensorFlow"
cmake --build "$work/build"
ctest --test-dir "$work/build" --output-on-failure -R 'gpu|device_code|api_test|array_gradient'
PATH="$(dirname "$nvcc"):$PATH" "$python" -m pytest -q --noconftest tests/gpu/device_code_test.py
echo "CUDA 12: compiled and loaded into TensorFlow; all tests that need no GPU passed"
