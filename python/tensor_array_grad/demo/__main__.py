"""Runs the demonstration: `python -m tensor_array_grad.demo`."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
from collections.abc import Sequence

from tensor_array_grad import _compare
from tensor_array_grad._comparison import Comparison

try:
    from tensor_array_grad.demo import curves
except ModuleNotFoundError as error:
    missing = str(error.name).partition(".")[0]
    sys.exit(f"the demonstration needs {missing}: pip install 'tensor_array_grad[demo]'")

_PROGRAM = pathlib.Path(__file__).with_name("program.py")
_ROWS = (285, 571, 1142, 2284)  # an eighth, a quarter, half, and all of the record
_LEAST_ROWS = 104  # two years; a forecast looks back one year
# The text can still be read when the picture is shown at half its size.
_STYLE = {
    "figure.figsize": (10.0, 4.4),  # in inches
    "savefig.dpi": 120,
    "font.size": 14,
    "axes.titlesize": 14,
    "figure.labelsize": 14,
    "figure.titlesize": 18,
    "figure.titleweight": "bold",
    "lines.linewidth": 2.5,
    "lines.markersize": 6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
}
_LABELS = "weeks of the series", "Time of one training step"
_INTRODUCTION = """\
The weekly CO2 record of Mauna Loa: four forms of a recurrent forecaster train on its first weeks,
on stock TensorFlow and then with tensor_array_grad. This takes about half a minute."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains on stock and with the library, compares, prints the times and saves the picture.

    `arguments` is the command line; `None` means that of this process. Returns and raises what
    `_compare.main` does; the losses are the output that is compared.
    """
    options = _parse(arguments)
    print(_INTRODUCTION, flush=True)
    _compare.exit_at_signals()
    found = _compare.compare([str(_PROGRAM), *map(str, options.rows)], runs=1)
    measured = _curves(found)
    print(f"\n{_table(measured)}\n\nBoth runs as a whole; the output is the losses:\n{found}")
    curves.save(options.picture, measured, _STYLE, *_LABELS)
    print(f"Picture: {options.picture.resolve()}")
    return found.exit_status


def _curves(found: Comparison) -> list[curves.Curve]:
    """The median times of a training step, from what the program printed on standard error."""
    seconds: dict[str, dict[str, dict[int, float]]] = {}
    for library in ("stock", "ours"):
        for line in found.runs[library][0].errors.splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                held = seconds.setdefault(row["form"], {}).setdefault(library, {})
                held[row["rows"]] = statistics.median(row["seconds"])
    return [curves.Curve(form, **by_library) for form, by_library in seconds.items()]


def _table(measured: Sequence[curves.Curve]) -> str:
    columns = "{:20}{:>8}{:>11}{:>11}{:>14}"
    lines = [columns.format("one training step", "rows", "stock", "ours", "stock / ours")]
    for curve in measured:
        for rows, stock in curve.stock.items():
            times = [curves.duration(seconds) for seconds in (stock, curve.ours[rows])]
            ratio = f"{stock / curve.ours[rows]:.1f}"
            lines.append(columns.format(curve.title, f"{rows:,}", *times, ratio))
    return "\n".join(lines)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tensor_array_grad.demo", description=__doc__)
    parser.add_argument(
        "--rows",
        type=int,
        nargs="+",
        default=_ROWS,
        metavar="N",
        help=f"lengths of the series, in weeks (default: {' '.join(map(str, _ROWS))})",
    )
    parser.add_argument(
        "--picture",
        type=pathlib.Path,
        default=pathlib.Path("tensor_array_grad_demo.png"),
        help="PNG file for the picture (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    # Wrong values are found before the trainings, which take half a minute.
    if min(options.rows) < _LEAST_ROWS:
        parser.error(f"--rows has {min(options.rows)}, need at least {_LEAST_ROWS}")
    if problem := _picture_problem(options.picture):
        parser.error(f"--picture: {problem}")
    return options


def _picture_problem(path: pathlib.Path) -> str:
    """Why the picture cannot be saved as `path`; empty if it can."""
    if path.suffix.lower() != ".png":
        return f"the name must end with .png, got {path}"
    if path.is_dir():
        return f"{path} is a folder"
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"there is no folder {path.parent}"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return f"{path} cannot be written"
    return ""


if __name__ == "__main__":
    # Few messages of TensorFlow, and no GPU: the times are those of a CPU on each machine.
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}
    sys.exit(main())
