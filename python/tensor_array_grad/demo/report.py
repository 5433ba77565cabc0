"""The demonstration's tables and picture."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")  # writes files; no display is needed

import matplotlib.pyplot as plt
import numpy as np
import rich.table
from matplotlib.axes import Axes

from tensor_array_grad.demo.data import HORIZON, Record
from tensor_array_grad.demo.runner import Pair, Run
from tensor_array_grad.demo.worker import OURS, STOCK

_MODELS = {
    "v1": "TF1 graph",
    "function": "tf.function",
    "indexed": "indexing",
    "keras": "Keras model",
}
_NAMES = {STOCK: "stock", OURS: "ours"}
_COLOURS = {STOCK: "tab:red", OURS: "tab:blue"}
_SHOWN_EPOCHS = 8


def losses_table(pairs: Sequence[Pair]) -> rich.table.Table:
    """The losses on both libraries, in up to nine epochs.

    Args:
      pairs: The finished trainings.

    Returns:
      A table with two columns per pair. A column is empty after the last epoch of its training.
    """
    table = rich.table.Table(title="Loss per epoch (all are compared, some are shown)")
    table.add_column("epoch", justify="right")
    runs = [run for pair in pairs for run in (pair.stock, pair.ours)]
    for run in runs:
        heading = (
            f"{_MODELS[run.config.model]}\n{run.config.units} units\n{_NAMES[run.config.library]}"
        )
        table.add_column(heading, justify="right")
    last = max(len(run.losses) for run in runs) - 1
    for epoch in sorted({round(last * i / _SHOWN_EPOCHS) for i in range(_SHOWN_EPOCHS + 1)}):
        cells = (f"{run.losses[epoch]:.6f}" if epoch < len(run.losses) else "" for run in runs)
        table.add_row(str(epoch), *cells)
    return table


def costs_table(pairs: Sequence[Pair], title: str) -> rich.table.Table:
    """The time per step and the peak memory on both libraries.

    Args:
      pairs: The finished trainings.
      title: The title of the table.

    Returns:
      A table with one row per pair.
    """
    table = rich.table.Table(title=title)
    table.add_column("model", no_wrap=True)
    for heading in ("units", "rows", "stock\nms", "ours\nms", "speed\nup", "stock\nMB", "ours\nMB"):
        table.add_column(heading, justify="right")
    table.add_column("kernel\ncalls", justify="right")
    for pair in pairs:
        config = pair.stock.config
        table.add_row(
            _MODELS[config.model],
            str(config.units),
            f"{config.rows:,}",
            f"{pair.stock.step_seconds * 1e3:.1f}",
            f"{pair.ours.step_seconds * 1e3:.1f}",
            f"{pair.speed_up:.2f}",
            f"{pair.stock.peak_bytes / 1e6:.0f}",
            f"{pair.ours.peak_bytes / 1e6:.0f}",
            _short(pair.ours.kernel_calls),
        )
    return table


def save_picture(
    record: Record, main: Sequence[Pair], curves: Sequence[Pair], path: pathlib.Path
) -> None:
    """Draws the record with its forecasts, the time of each step, and the time by length of series.

    Args:
      record: The series that `main` was trained on.
      main: The main trainings. The forecasts of the first one are drawn.
      curves: Short trainings of the TF2 models, on series of increasing length.
      path: The `.png` file to write.
    """
    models = list(dict.fromkeys(pair.stock.config.model for pair in curves))
    panels = ["times", *models]
    layout: list[Any] = [["fit"] * len(panels), panels]
    figure, axes = plt.subplot_mosaic(layout, figsize=(12, 9), layout="constrained")
    _draw_fit(axes["fit"], record, main[0].ours)
    _draw_times(axes["times"], main)
    for model in models:
        _draw_growth(axes[model], [pair for pair in curves if pair.stock.config.model == model])
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _draw_fit(axes: Axes, record: Record, run: Run) -> None:
    """Draws the last quarter of the record, and the forecast for each of these weeks."""
    outputs = np.asarray(run.outputs, np.float32)
    known = len(record.ppm) - HORIZON
    dates, start = record.dates[HORIZON:], int(known * 0.75)
    axes.plot(dates[start:], record.ppm[HORIZON:][start:], "k", lw=1, label="measured")
    forecast = record.forecast(outputs)[:known]
    axes.plot(dates[start:], forecast[start:], lw=1, label=f"forecast made {HORIZON} weeks before")
    unseen = int(record.trained.sum())
    axes.axvspan(dates[unseen], dates[-1], alpha=0.1, label="not trained on")
    axes.set_ylabel("CO2, parts per million")
    axes.set_title(
        f"Mauna Loa, weeks not trained on: error of the forecast {record.error(outputs):.2f} ppm, "
        f"of last year's changes {record.error(record.as_last_year()):.2f} ppm"
    )
    axes.legend(loc="lower right")


def _draw_times(axes: Axes, pairs: Sequence[Pair]) -> None:
    """Draws the time of each step, one dot per step."""
    for place, pair in enumerate(pairs):
        for shift, run in ((-0.15, pair.stock), (0.15, pair.ours)):
            seconds = run.seconds[1:] or run.seconds
            spread = np.linspace(-0.1, 0.1, len(seconds))
            library = run.config.library
            label = _NAMES[library] if place == 0 else None
            axes.plot(place + shift + spread, seconds, ".", color=_COLOURS[library], label=label)
    names = [f"{_MODELS[p.stock.config.model]}\n{p.stock.config.units} units" for p in pairs]
    axes.set_xticks(range(len(pairs)), names)
    axes.set_ylim(0, axes.get_ylim()[1])
    axes.set_ylabel("seconds per step")
    axes.set_title("Forward and backward, one dot per step")
    axes.legend()


def _draw_growth(axes: Axes, pairs: Sequence[Pair]) -> None:
    """Draws the time per step by the length of the series."""
    rows = [pair.stock.config.rows for pair in pairs]
    for name in (STOCK, OURS):
        runs = [pair.stock if name == STOCK else pair.ours for pair in pairs]
        seconds = [run.step_seconds for run in runs]
        axes.plot(rows, seconds, "o-", color=_COLOURS[name], label=_NAMES[name])
    axes.set_ylim(0, axes.get_ylim()[1])
    axes.set_xlabel("rows of the series")
    axes.set_ylabel("seconds per step")
    axes.set_title(f"{_MODELS[pairs[0].stock.config.model]}, series of increasing length")
    axes.legend()


def _short(count: int) -> str:
    """`count` in thousands or millions if it is large, such as 1.2M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)
