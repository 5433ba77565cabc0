#!/usr/bin/env bash
# Builds and tests everything with Bazel, against installed packages: Debian's bazel-bootstrap
# (4.2), GoogleTest, and the TensorFlow and pybind11 of PYTHON_BIN_PATH or of python3. Installs
# bazel-bootstrap if there is no bazel. Takes most of an hour on two cores. Passes its arguments to
# bazel.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v bazel > /dev/null || apt-get install -y -qq bazel-bootstrap
export PYTHON_BIN_PATH="${PYTHON_BIN_PATH:-$(command -v python3)}"
output=${BAZEL_OUTPUT:-$(mktemp -d)}

# This Bazel would download rules_cc and rules_java, which only rename its native rules.
# stand_in NAME FOLDER RULE...: creates a local repository NAME whose FOLDER/defs.bzl defines each
# RULE as the native rule, and overrides the download with it.
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
# Replaces the coverage tools, which are not used here.
stand_in remote_coverage_tools .
echo 'filegroup(name = "coverage_report_generator", visibility = ["//visibility:public"])' \
  > "$output/remote_coverage_tools/BUILD"

bazel --output_user_root="$output" test --test_output=errors "${overrides[@]}" "$@" //:all
bazel --output_user_root="$output" shutdown
