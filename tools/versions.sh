#!/usr/bin/env bash
# Installs one wheel beside each TensorFlow and Python that exist together, runs the test suite
# there, and prints the table of CONTRIBUTING.md: a row per pair with the summary of pytest.
#
#   tools/versions.sh WHEEL [pytest arguments]
#   PAIRS='2.16:3.10 2.21:3.13' tools/versions.sh WHEEL tests/lists
#
# Requires python3.10 to python3.13 on PATH and network access. The whole suite takes about 12
# minutes per pair on two cores. Exits with 1 if a test failed.
set -uo pipefail
wheel=$(readlink -f "$1")
shift
cd "$(dirname "$0")/.." || exit 1
pairs=${PAIRS:-$(
  for tensorflow in 2.16 2.17 2.18 2.19; do echo $tensorflow:3.{10,11,12}; done
  for tensorflow in 2.20 2.21; do echo $tensorflow:3.{10,11,12,13}; done
)}
export TF_CPP_MIN_LOG_LEVEL=2 PIP_DISABLE_PIP_VERSION_CHECK=1
status=0

# Installs into $work and tests there; prints the last line of pytest, or what failed.
check() {
  local tensorflow=$1 python=$2 summary
  "python$python" -m venv "$work" && "$work/bin/pip" install -q "tensorflow-cpu==$tensorflow.*" \
    && "$work/bin/pip" install -q "$wheel[test]" || { echo "cannot be installed"; return 1; }
  summary=$("$work/bin/python" -m pytest -q -n 2 "${@:3}" 2> /dev/null | tee /dev/stderr | tail -n 1)
  echo "$summary"
  [[ $summary == *passed* && $summary != *failed* && $summary != *error* ]]
}

printf 'wheel of commit %s\n\n| TensorFlow | Python | tests |\n|---|---|---|\n' \
  "$(git rev-parse --short HEAD)"
for pair in $pairs; do
  work=$(mktemp -d)
  result=$(check "${pair%:*}" "${pair#*:}" "$@" 2> "${TMPDIR:-/tmp}/versions-$pair.log") || status=1
  printf '| %s | %s | %s |\n' "${pair%:*}" "${pair#*:}" "$result"
  rm -rf "$work"
done
exit $status
