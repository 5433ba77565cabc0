"""The demonstration's picture: the time of a training step, and, smaller, the forecast."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tensor_array_grad.demo import curves
from tensor_array_grad.demo.curves import OURS_COLOUR, STOCK_COLOUR, Curve
from tensor_array_grad.demo.data import HORIZON, Record
from tensor_array_grad.demo.runner import Pair, Run

MODELS = {
    "v1": "TF1 graph",
    "function": "tf.function",
    "indexed": "indexing",
    "keras": "Keras model",
}
# In inches. The text can still be read when the picture is shown at half its size.
_WIDTH, _UPPER_HEIGHT, _LOWER_HEIGHT = 10.0, 4.1, 2.4
_STYLE: Any = {
    "font.size": 14,
    "axes.titlesize": 14,
    "lines.linewidth": 2.5,
    "lines.markersize": 6,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
}
_TITLES = MODELS | {"function": "tf.function, array", "indexed": "tf.function, x[i]"}
_SHOWN_SHARE = 0.75  # the forecast is drawn from this share of the record on


def save(
    record: Record, trained: Sequence[Pair], growing: Sequence[Pair], path: pathlib.Path
) -> None:
    """Draws what one waits for, on stock and with the library, and the forecast.

    The upper row has the time of a training step over the length of the series, one panel per
    model. The lower row has the forecast, and the time of a step of the main trainings.

    Args:
      record: The series that `trained` was trained on.
      trained: The main trainings. The forecasts of the first one are drawn.
      growing: Short trainings, on series of increasing length; without any, there is no upper row.
      path: The `.png` file to write.
    """
    height = _LOWER_HEIGHT + (_UPPER_HEIGHT if growing else 0.0)
    with matplotlib.rc_context(_STYLE):
        figure: Any = Figure(figsize=(_WIDTH, height), layout="constrained")
        top = lower = figure
        if growing:
            top, lower = figure.subfigures(2, 1, height_ratios=(_UPPER_HEIGHT, _LOWER_HEIGHT))
            _draw_growth(top, growing)
        forecast, steps = lower.subplots(1, 2, width_ratios=(1.1, 1.0))
        _draw_forecast(forecast, record, trained[0].ours)
        _draw_steps(steps, trained)
        top.suptitle("Time of one training step", x=0.01, ha="left", weight="bold", size=18)
        top.legend(handles=curves.LEGEND, loc="outside upper right", ncols=2, frameon=False)
        figure.savefig(path, dpi=120)


def _draw_growth(figure: Any, pairs: Sequence[Pair]) -> None:
    """Draws the time of a step over the length of the series, one panel per model."""
    models: dict[str, list[Pair]] = {}
    for pair in pairs:
        models.setdefault(pair.stock.config.model, []).append(pair)
    lines = [
        Curve(
            _TITLES[model],
            stock={pair.stock.config.rows: pair.stock.step_seconds for pair in held},
            ours={pair.ours.config.rows: pair.ours.step_seconds for pair in held},
        )
        for model, held in models.items()
    ]
    panels = figure.subplots(1, len(lines), sharey=True, squeeze=False)[0]
    curves.draw(panels, lines)
    figure.supxlabel("rows of the series", size=14)


def _draw_forecast(axes: Axes, record: Record, run: Run) -> None:
    """Draws the last part of the record, and the forecast for each of these weeks."""
    known = len(record.ppm) - HORIZON
    start = int(known * _SHOWN_SHARE)
    dates = record.dates[HORIZON:]
    outputs = np.asarray(run.outputs, np.float32)
    forecast = record.forecast(outputs)[:known]
    axes.plot(dates[start:], record.ppm[HORIZON:][start:], "k", lw=2.5, label="measured")
    axes.plot(dates[start:], forecast[start:], color="tab:orange", lw=1.2, label="forecast")
    first, last = (date.astype("datetime64[D]") for date in (dates[start], dates[-1]))
    axes.set_xticks([dates[start], dates[-1]], [str(first)[:4], str(last)[:4]])
    axes.set_title(f"CO2 in ppm, forecast {HORIZON} weeks ahead")
    axes.legend(loc="upper left", frameon=False)
    curves.lean(axes)


def _draw_steps(axes: Axes, pairs: Sequence[Pair]) -> None:
    """Draws two bars for each of the main trainings: the time of a step on stock and with ours."""
    names = []
    longest = max(max(pair.stock.step_seconds, pair.ours.step_seconds) for pair in pairs)
    for place, pair in enumerate(pairs):
        stock, ours = pair.stock.step_seconds, pair.ours.step_seconds
        names.append(f"{pair.stock.config.units} units")
        for shift, seconds, colour, more in (
            (-0.2, stock, STOCK_COLOUR, ""),
            (0.2, ours, OURS_COLOUR, f"  {curves.ratio(stock, ours)}"),
        ):
            axes.barh(place + shift, seconds, height=0.36, color=colour)
            axes.annotate(
                f"{curves.duration(seconds)}{more}",
                (seconds, place + shift),
                xytext=(0.3, 0.0),
                textcoords="offset fontsize",
                va="center",
                weight="bold" if more else "normal",
            )
    axes.set_yticks(range(len(pairs)), names)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.set_xlim(0.0, 1.9 * longest)
    config = pairs[0].stock.config
    axes.set_title(f"{MODELS[config.model]}, {config.rows:,} rows")
    axes.spines["bottom"].set_visible(False)
    curves.lean(axes)
