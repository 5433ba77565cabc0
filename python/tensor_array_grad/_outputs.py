"""Compares what two runs of a program printed."""

from __future__ import annotations

import math
import re

# Two floating-point numbers are the same but for rounding if they differ by no more than this part
# of the larger one.
ROUNDING = 1e-5
XLA_ROUNDING = 1e-3  # the same for XLA, which computes some functions in another way
_FLOAT = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?")
_CONTEXT = 40  # characters on each side of the first difference


def rounding(stock: str, ours: str) -> float:
    """The largest relative difference of two floating-point numbers in the same place.

    Returns:
      0 if the texts are equal but for the amount of white space, with which NumPy aligns numbers;
      infinity if they differ in anything but finite floating-point numbers.
    """
    if stock == ours:
        return 0.0
    texts = [[" ".join(part.split()) for part in _FLOAT.split(text)] for text in (stock, ours)]
    if texts[0] != texts[1]:
        return float("inf")
    numbers = [map(float, _FLOAT.findall(text)) for text in (stock, ours)]
    pairs = [(a, b) for a, b in zip(*numbers, strict=True) if a != b or math.isinf(a)]
    if not all(math.isfinite(number) for pair in pairs for number in pair):
        return float("inf")
    return max((abs(a - b) / max(abs(a), abs(b)) for a, b in pairs), default=0.0)


def first_difference(stock: str, ours: str, name: str = "ours") -> str:
    """Names the first line that differs, and shows it in both texts; `name` is that of `ours`."""
    lines = stock.splitlines(), ours.splitlines()
    for number, (mine, theirs) in enumerate(zip(*lines, strict=False), 1):
        if mine != theirs:
            pairs = enumerate(zip(mine, theirs, strict=False))
            column = next((i for i, (a, b) in pairs if a != b), min(len(mine), len(theirs)))
            shown = [_around(line, column) for line in (mine, theirs)]
            return f"line {number} is {shown[0]} on stock and {shown[1]} on {name}"
    if len(lines[0]) == len(lines[1]):
        return "only the ends of lines differ"
    return f"stock printed {len(lines[0])} lines, {name} {len(lines[1])}"


def _around(line: str, column: int) -> str:
    first, last = max(0, column - _CONTEXT), column + _CONTEXT
    return "..." * (first > 0) + repr(line[first:last]) + "..." * (last < len(line))
