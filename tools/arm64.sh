#!/usr/bin/env bash
# Builds the library for Linux on arm64, and tests it there against stock, on an x86 machine.
#
#   tools/arm64.sh FOLDER [PART ...]
#
# FOLDER gets a Debian 12 for arm64 (`debian`, 5 GB), the build (`build`) and a log of each part
# (`PART.log`). A later run uses the Debian again, and compiles what has changed. Without parts, all
# of them run, in this order:
#
#   cpp      all C++ tests                                    20 minutes, most of it to compile
#   status   python -m tensor_array_grad                      20 seconds
#   demo     the demonstration, on two short series           2 minutes
#   passes   tests/loops: small_ops, rewritten_loops, pass    10 minutes
#   random   200 random loops against stock                   30 minutes
#   lists    tests/lists                                      40 minutes
#   v3       tests/v3                                         10 minutes
#
# Prints a line for each part, and exits with 1 if one has failed. The times are those of an AMD EPYC
# of two cores that ran two parts at a time. The compiler runs on this machine, the tests under qemu,
# which is 10 to 30 times slower: an import of TensorFlow takes 10 to 28 s. Times there say nothing
# about a real processor, nor does qemu show faults of memory order. The first run takes 10 minutes
# more, to make FOLDER and to compile the library.
#
# A process that has just been forked may stop for ever, without processor time, because its thread
# waits for a lock of qemu itself, which no thread of the new process holds. Kill such a process: its
# test or program is reported as died, and has to be repeated.
#
# Requires root, for chroot and for binfmt_misc, and a Debian 12 with the packages
#   qemu-user-static binfmt-support debootstrap g++-aarch64-linux-gnu
# and an environment with Python 3.11, cmake, ninja, pybind11 and pip (CONTRIBUTING.md).
set -euo pipefail
[ $# != 0 ] || { sed -n '4,5p' "$0"; exit 1; }
mkdir -p "$1"
folder=$(realpath "$1")
shift
[ $# != 0 ] || set -- cpp status demo passes random lists v3
cd "$(dirname "$0")/.."
debian=$folder/debian
site=$debian/usr/local/lib/python3.11/dist-packages
release=$(sed -n 's/^TENSORFLOW_DEFAULT = "\(.*\)"/\1/p' python/tensor_array_grad/_version.py)
export TF_CPP_MIN_LOG_LEVEL=2 QEMU_LD_PREFIX=$debian

# Makes the kernel run programs for arm64 by qemu.
emulator() {
  local formats=/proc/sys/fs/binfmt_misc
  [ -e $formats/register ] || mount -t binfmt_misc none $formats
  [ -e $formats/qemu-aarch64 ] || update-binfmts --enable qemu-aarch64
}

# The packages of the system for the C++ tests, and wheels for arm64. pip unpacks them here, which
# takes a tenth of the time that it takes there.
debian() {
  [ ! -e "$folder/complete" ] || return 0
  rm -rf "$debian"
  debootstrap --arch=arm64 --variant=minbase \
    --include=python3,python3-dev,python3-venv,ca-certificates,g++,libgtest-dev,libgmock-dev \
    bookworm "$debian" http://deb.debian.org/debian &&
    echo '127.0.0.1 localhost' > "$debian/etc/hosts" &&
    python -m pip install --target "$site" --python-version 3.11 --implementation cp \
      --only-binary=:all: --platform=manylinux{2014,_2_17,_2_27,_2_28}_aarch64 \
      "tensorflow==$release.*" 'pytest>=8.2' 'hypothesis>=6.100' 'pytest-timeout>=2.3' \
      'matplotlib>=3.8' &&
    touch "$folder/complete"
}

build() {
  local version
  version=$(basename "$site"/tensorflow-*.dist-info .dist-info)
  cmake -G Ninja -B "$folder/build" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_SYSROOT="$debian" \
    -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER -DPython_EXECUTABLE="$(command -v python)" \
    -DTAG_TENSORFLOW_DIR="$site/tensorflow" -DTAG_TENSORFLOW_VERSION="${version#tensorflow-}" \
    -DTAG_BINDINGS=ON -DTAG_CUDA=OFF -DCMAKE_UNITY_BUILD=ON &&
    cmake --build "$folder/build" --target tensor_array_grad tag_bind tag_api &&
    # The package with the new library, which the tests import.
    rm -rf "$debian/package" && cp -r python "$debian/package" &&
    cmake --install "$folder/build" --component python --prefix "$debian/package"
}

# there COMMAND...: runs a command in the Debian, in the folder of the checkout.
there() {
  mkdir -p "$debian/checkout"
  unshare --mount bash -c '
    mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --bind . "$0/checkout" &&
    exec chroot "$0" env -i --chdir=/checkout HOME=/root LANG=C.UTF-8 PATH=/usr/bin:/bin \
      PYTHONPATH=/package PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 TF_CPP_MIN_LOG_LEVEL=2 \
      TAG_PATIENCE=30 "$@"' "$debian" "$@"
}

tests() { there python3 -m pytest -q -p no:cacheprovider -o timeout=9000 "$@"; }

cpp() { cmake --build "$folder/build" && ctest --test-dir "$folder/build" --output-on-failure; }
status() { there python3 -m tensor_array_grad; }
demo() { there python3 -m tensor_array_grad.demo --rows 104 285 --picture /tmp/demo.png; }
passes() { tests tests/loops/{small_ops,rewritten_loops,pass}_test.py; }
random() { there python3 -m tests.random_programs.random_loops --programs 200; }
lists() { tests tests/lists; }
v3() { tests tests/v3; }

emulator
debian > "$folder/debian.log" 2>&1 || { tail "$folder/debian.log"; exit 1; }
build > "$folder/build.log" 2>&1 || { tail -n 50 "$folder/build.log"; exit 1; }
failed=()
for part in "$@"; do
  declare -F "$part" > /dev/null || { echo "no part: $part"; exit 1; }
  start=$SECONDS outcome=passed
  "$part" > "$folder/$part.log" 2>&1 || { failed+=("$part") outcome=FAILED; }
  echo "$part: $((SECONDS - start)) s, $outcome"
done
[ ${#failed[@]} = 0 ] || { echo "arm64: FAILED: ${failed[*]}"; exit 1; }
echo "arm64: all passed"
