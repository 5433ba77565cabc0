"""The demonstration's picture: the time of a training step over the length of the series."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from tensor_array_grad.demo import curves

# In inches. The text can still be read when the picture is shown at half its size.
_WIDTH, _HEIGHT = 10.0, 4.4
_STYLE: Any = {
    "font.size": 14,
    "axes.titlesize": 14,
    "lines.linewidth": 2.5,
    "lines.markersize": 6,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
}


def save(measured: Sequence[curves.Curve], path: pathlib.Path) -> None:
    """Draws what one waits for, on stock and with the library, one panel per curve.

    Args:
      measured: The times of a training step, by the rows of the series. At least one curve.
      path: The `.png` file to write.
    """
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        curves.draw(figure.subplots(1, len(measured), sharey=True, squeeze=False)[0], measured)
        figure.supxlabel("weeks of the series", size=14)
        figure.suptitle("Time of one training step", x=0.01, ha="left", weight="bold", size=18)
        figure.legend(handles=curves.LEGEND, loc="outside upper right", ncols=2, frameon=False)
        figure.savefig(path, dpi=120)
