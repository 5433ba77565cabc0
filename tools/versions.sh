#!/usr/bin/env bash
# Installs one wheel beside each TensorFlow and Python that exist together, runs the test suite
# there, and prints a table: a row per pair with the summary of pytest and the commit of the tests.
#
#   tools/versions.sh WHEEL [pytest arguments]
#   PAIRS='2.16:3.10 2.21:3.13' tools/versions.sh WHEEL tests/lists
#
# Requires python3.10 to python3.13 on PATH and network access. The whole suite takes about 10
# minutes per pair on two cores, over three hours for all pairs. So each row that passed is kept
# beside the wheel, in WHEEL.HASH.rows, and a later run with the same wheel and arguments continues
# with the pairs that are missing there. Exits with 1 if a test failed.
set -uo pipefail
wheel=$(readlink -e "$1") || { echo "no wheel: $1"; exit 1; }
shift
cd "$(dirname "$0")/.." || exit 1
pairs=${PAIRS:-$(
  for tensorflow in 2.16 2.17 2.18 2.19; do echo $tensorflow:3.{10,11,12}; done
  for tensorflow in 2.20 2.21; do echo $tensorflow:3.{10,11,12,13}; done
)}
export TF_CPP_MIN_LOG_LEVEL=2 PIP_DISABLE_PIP_VERSION_CHECK=1
# There is no tensorflow-cpu for other processors.
distribution=tensorflow
[ "$(uname -m)" != x86_64 ] || distribution=tensorflow-cpu
unset PYTHONPATH  # it could name another copy of the package
status=0
# The hash is that of the wheel and the arguments.
rows=$wheel.$({ cat "$wheel"; echo "$*"; } | sha256sum | cut -c 1-12).rows
touch "$rows"
work=
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# Installs into $work and tests there; prints the last line of pytest, or what failed.
check() {
  local tensorflow=$1 python=$2 summary code
  # In one command: the wheel requires no TensorFlow, so pip would otherwise install a NumPy that is
  # too new for TensorFlow 2.16. The other packages are what tests of the wheel and of the examples
  # need; with its dependences, tf-keras would install a second TensorFlow.
  "python$python" -m venv "$work" &&
    "$work/bin/pip" install -q "$distribution==$tensorflow.*" "$wheel[test,examples]" \
      'setuptools>=77' wheel 'pybind11>=2.13' packaging &&
    "$work/bin/pip" install -q --no-deps "tf-keras==$tensorflow.*" ||
    { echo "cannot be installed"; return 1; }
  # Three processes, because some tests wait for other processes and use no core.
  summary=$("$work/bin/python" -m pytest -q -n 3 --sweep "${@:3}" | tee -a /dev/stderr | tail -n 1)
  code=$?  # of pytest, because of pipefail
  echo "$summary"
  return $code
}

printf '| TensorFlow | Python | tests | commit |\n|---|---|---|---|\n'
for pair in $pairs; do
  start="| ${pair%:*} | ${pair#*:} |"
  if grep -F "$start" "$rows"; then continue; fi  # prints the row
  work=$(mktemp -d)
  commit=$(git describe --always --dirty)
  passed=1
  result=$(check "${pair%:*}" "${pair#*:}" "$@" 2> "${TMPDIR:-/tmp}/versions-$pair.log") || passed=0
  rm -rf "$work"
  row="$start $result | $commit |"
  echo "$row"
  if [ $passed = 1 ]; then echo "$row" >> "$rows"; else status=1; fi
done
exit $status
