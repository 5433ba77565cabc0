"""Draws times over lengths: stock against the library, on logarithmic axes.

Each panel has two lines. At their end are the two times, and the ratio of them:

    10 s |             12 s
         |          __/ |
         |      __/     |  600x
    1 ms |  __/_________|
         |             20 ms
           400       6,400
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

STOCK_COLOUR, OURS_COLOUR = "tab:red", "tab:blue"
LEGEND = [
    Patch(color=STOCK_COLOUR, label="stock TensorFlow"),
    Patch(color=OURS_COLOUR, label="tensor_array_grad"),
]
_GREY = "0.45"
_MOST_TICKS = 6
_LEAST_DECADES = 2.0  # of the time axis, so that it has two ticks or more
# Above and below the lines, as a share of their height, with and without the times.
_MARGIN, _LEAST_MARGIN = 0.22, 0.06
_LEAST_SPAN = math.log10(8)  # of the lengths, if there are only one or two
_ROOM = 0.55  # to the right of the lines, for the ratio, as a share of the lines' width
_NEAR = 0.25  # a share of the axis of lengths that has no room for the halves of two labels
# The size of each unit in seconds, and the number from which on the next unit is used.
_UNITS = (
    ("us", 1e-6, 1000.0),
    ("ms", 1e-3, 1000.0),
    ("s", 1.0, 60.0),
    ("min", 60.0, 60.0),
    ("h", 3600.0, math.inf),
)


@dataclasses.dataclass(frozen=True)
class Curve:
    """The times of one program.

    Attributes:
      title: What the program is.
      stock: Seconds on stock TensorFlow, by length. At least one length is also in `ours`.
      ours: Seconds with the library, by length.
    """

    title: str
    stock: Mapping[int, float]
    ours: Mapping[int, float]


def save(
    path: pathlib.Path, curves: Sequence[Curve], style: Any, x_label: str, title: str = ""
) -> None:
    """Saves one panel per curve, as `draw` draws them, as the PNG file `path`.

    `style` has parameters of matplotlib, with the size of the picture and of its texts. The title
    is to the left of the legend.
    """
    with matplotlib.rc_context(style):
        figure = Figure(layout="constrained")
        draw(figure.subplots(1, len(curves), sharey=True, squeeze=False)[0], curves)
        figure.supxlabel(x_label)
        if title:
            figure.suptitle(title, x=0.01, ha="left")
        place: Any = f"outside upper {'right' if title else 'center'}"
        figure.legend(handles=LEGEND, loc=place, ncols=2, frameon=False)
        figure.savefig(path)


def draw(panels: Sequence[Axes], curves: Sequence[Curve], *, times: bool = True) -> None:
    """Draws one curve into each panel. All panels get the same two scales.

    With `times`, the times are written at the ends of the lines, in addition to the ratio.
    """
    both = [line for curve in curves for line in (curve.stock, curve.ours)]
    low, high = _range([s for line in both for s in line.values()], _LEAST_DECADES)
    first, last = _range([n for line in both for n in line], _LEAST_SPAN)
    margin = (_MARGIN if times else _LEAST_MARGIN) * (high - low)
    room = _ROOM * (last - first)
    for axes, curve in zip(panels, curves, strict=True):
        for line, colour in ((curve.stock, STOCK_COLOUR), (curve.ours, OURS_COLOUR)):
            axes.loglog(*zip(*sorted(line.items()), strict=True), "o-", color=colour)
        axes.set_xlim(10 ** (first - 0.1 * (last - first)), 10 ** (last + room))
        axes.set_ylim(10 ** (low - margin), 10 ** (high + margin))
        _draw_ticks(axes, curve, low - margin, high + margin)
        axes.set_title(curve.title, pad=8)
        _draw_end(axes, curve, times)


def duration(seconds: float) -> str:
    """A duration in two digits, or three from 100 on, such as `2.4 s`, `12 min` or `250 ms`.

    Below 1 us it has one digit, and from 1,000 h on more than three. The unit is that of the
    rounded number: 0.9997 s is `1.0 s`, and not `1,000 ms`.
    """
    texts = ((_digits(seconds / size), unit, end) for unit, size, end in _UNITS)
    return next(f"{text} {unit}" for text, unit, end in texts if float(text.replace(",", "")) < end)


def ratio(stock: float, ours: float) -> str:
    """Stock's time divided by ours, such as `3.5x`, with a multiplication sign."""
    return f"{_digits(stock / ours)}\N{MULTIPLICATION SIGN}"


def _digits(value: float) -> str:
    text = f"{value:.1f}"
    return text if float(text) < 10 else f"{value:,.0f}"


def _range(values: Iterable[float], least: float) -> tuple[float, float]:
    """The decimal logarithms of the ends of an axis, which are at least `least` apart."""
    logs = [math.log10(value) for value in values]
    more = max(0.0, least - (max(logs) - min(logs))) / 2
    return min(logs) - more, max(logs) + more


def _draw_ticks(axes: Axes, curve: Curve, low: float, high: float) -> None:
    """Ticks at powers of ten of a second, and at the first and the last length of the curve."""
    powers = list(range(math.ceil(low), math.floor(high) + 1))
    powers = powers[:: -(-len(powers) // _MOST_TICKS)]
    axes.set_yticks([10.0**power for power in powers], [_power(power) for power in powers])
    lengths = sorted({*curve.stock, *curve.ours})
    ends = list(dict.fromkeys((lengths[0], lengths[-1])))
    axes.set_xticks(ends, [f"{n:,}" for n in ends])
    left, right = axes.get_xlim()
    if ends[0] < ends[-1] < ends[0] * (right / left) ** _NEAR:
        axes.get_xticklabels()[-1].set_horizontalalignment("left")
    axes.minorticks_off()
    axes.grid(axis="y", alpha=0.3)


def _power(power: int) -> str:
    """10 to the `power` seconds, in the unit in which it is 1, 10, 100 or more."""
    unit, exponent = ("s", 0) if power >= 0 else ("ms", -3) if power >= -3 else ("us", -6)
    return f"{10.0 ** (power - exponent):,.12g} {unit}"


def _draw_end(axes: Axes, curve: Curve, times: bool) -> None:
    """Writes the ratio, and the times if asked, at the last length that both lines have."""
    n = max(set(curve.stock) & set(curve.ours))
    stock, ours = curve.stock[n], curve.ours[n]
    axes.plot([n, n], [stock, ours], color=_GREY, lw=1, zorder=0)
    axes.annotate(
        ratio(stock, ours),
        (n, math.sqrt(stock * ours)),
        xytext=(0.5, 0.0),
        textcoords="offset fontsize",
        va="center",
        weight="bold",
    )
    if not times:
        return
    for seconds, colour, above in (
        (stock, STOCK_COLOUR, stock >= ours),
        (ours, OURS_COLOUR, stock < ours),
    ):
        axes.annotate(
            duration(seconds),
            (n, seconds),
            xytext=(-0.3, 0.7 if above else -0.7),
            textcoords="offset fontsize",
            va="bottom" if above else "top",
            color=colour,
        )
