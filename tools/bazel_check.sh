#!/usr/bin/env bash
# Builds and tests everything with Bazel, against what is installed: Debian's bazel-bootstrap (4.2),
# GoogleTest, and the TensorFlow and pybind11 of PYTHON_BIN_PATH or of python3. Most of an hour on two
# cores. Arguments are passed to bazel.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v bazel > /dev/null || apt-get install -y -qq bazel-bootstrap
export PYTHON_BIN_PATH="${PYTHON_BIN_PATH:-$(command -v python3)}"
output=${BAZEL_OUTPUT:-$(mktemp -d)}

# This Bazel would download rules_cc and rules_java, which only give its own rules other names.
# stand_in NAME FOLDER RULE...: makes one that does no more.
overrides=()
stand_in() {
  local folder="$output/$1"
  mkdir -p "$folder/$2"
  touch "$folder/WORKSPACE" "$folder/$2/BUILD"
  printf '%s\n' "${@:3}" | sed 's/.*/& = native.&/' > "$folder/$2/defs.bzl"
  overrides+=("--override_repository=$1=$folder")
}
stand_in rules_cc cc cc_binary cc_library cc_test cc_toolchain cc_toolchain_suite
stand_in rules_java java java_binary java_import java_library java_plugin java_runtime java_toolchain
# Coverage is not asked for.
stand_in remote_coverage_tools .
echo 'filegroup(name = "coverage_report_generator", visibility = ["//visibility:public"])' \
  > "$output/remote_coverage_tools/BUILD"

bazel --output_user_root="$output" test --test_output=errors "${overrides[@]}" "$@" //:all
bazel --output_user_root="$output" shutdown
