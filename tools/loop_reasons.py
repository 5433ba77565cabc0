"""Counts where loops ran, from logs: `python tools/loop_reasons.py LOG...`.

A log is the stderr of programs that ran with the library and TENSOR_ARRAY_GRAD_LOG=1. The table has
a line per reason for which loops were left to TensorFlow's executor, with the ops that gave it. A
loop that is compiled again, for another shape or in another process, counts again.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import re
from collections.abc import Iterable

_IN_ONE_KERNEL = re.compile(r"tensor_array_grad: loop (?P<loop>.*): runs in one kernel$")
_LEFT = re.compile(
    r"tensor_array_grad: loop (?P<loop>.*): left to TensorFlow's executor, "
    r"(?P<reason>[^:]+): (?P<detail>.*)$"
)
_OP = re.compile(r"\((?P<op>\w+)\)")

Counts = collections.Counter[str]


def count(lines: Iterable[str]) -> tuple[int, dict[str, Counts]]:
    """Counts the loops of a log.

    Args:
      lines: The lines of the log, which may have other lines, too.

    Returns:
      The number of loops in one kernel; and for each reason, how many loops were left for it by op.
      The op is "" if the reason names none.
    """
    in_one_kernel, left = 0, collections.defaultdict[str, Counts](collections.Counter)
    for line in lines:
        if _IN_ONE_KERNEL.search(line):
            in_one_kernel += 1
        elif found := _LEFT.search(line):
            op = _OP.search(found["detail"])
            left[found["reason"]][op["op"] if op else ""] += 1
    return in_one_kernel, dict(left)


def table(in_one_kernel: int, left: dict[str, Counts]) -> str:
    """The counts as a table in Markdown: the most frequent reason and op first."""
    total = in_one_kernel + sum(ops.total() for ops in left.values())
    rows = [("in one kernel", in_one_kernel, "")]
    for reason, ops in sorted(left.items(), key=lambda item: -item[1].total()):
        names = ", ".join(f"`{op}` {n}" for op, n in ops.most_common() if op)
        rows.append((reason, ops.total(), names))
    lines = [
        "| where the loop ran, or why it was left | loops | share | ops |",
        "|---|---:|---:|---|",
    ]
    for reason, n, names in rows:
        lines.append(f"| {reason} | {n:,} | {n / max(total, 1):.1%} | {names} |")
    return "\n".join(lines)


def main() -> None:
    """Parses the command line and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("logs", nargs="+", type=pathlib.Path, metavar="LOG")
    logs = parser.parse_args().logs
    lines = (line for log in logs for line in log.read_text(errors="replace").splitlines())
    print(table(*count(lines)))


if __name__ == "__main__":
    main()
