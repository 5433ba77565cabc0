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
    """The loss of both libraries epoch by epoch, some epochs of them.

    Args:
      pairs: What was run.

    Returns:
      A table with two columns a pair; the shorter trainings leave the last rows empty.
    """
    table = rich.table.Table(title="Loss of each epoch (all compared, some shown)")
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
    """Time and memory of both libraries.

    Args:
      pairs: What was run.
      title: Printed above.

    Returns:
      A table with one row a pair.
    """
    table = rich.table.Table(title=title)
    table.add_column("model", no_wrap=True)
    for heading in ("units", "rows", "stock\nms", "ours\nms", "ratio", "stock\nMB", "ours\nMB"):
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
    """Draws the forecasts beside the record, the time of each step, and time over length.

    Args:
      record: What `main` was trained on.
      main: The trainings; the first one's forecasts are drawn.
      curves: Short trainings of the TF2 models, at growing lengths.
      path: Where the `.png` goes.
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
    """The last quarter of the record, and what was forecast for each week."""
    outputs = np.asarray(run.outputs, np.float32)
    known = len(record.ppm) - HORIZON
    dates, start = record.dates[HORIZON:], int(known * 0.75)
    axes.plot(dates[start:], record.ppm[HORIZON:][start:], "k", lw=1, label="measured")
    forecast = record.forecast(outputs)[:known]
    axes.plot(dates[start:], forecast[start:], lw=1, label=f"forecast {HORIZON} weeks before")
    unseen = int(record.trained.sum())
    axes.axvspan(dates[unseen], dates[-1], alpha=0.1, label="not trained on")
    axes.set_ylabel("CO2, parts per million")
    axes.set_title(
        f"Mauna Loa: error where not trained {record.error(outputs):.2f} ppm; "
        f"of last year's changes taken again {record.error(record.as_last_year()):.2f} ppm"
    )
    axes.legend(loc="lower right")


def _draw_times(axes: Axes, pairs: Sequence[Pair]) -> None:
    """Each step's time, a dot a step."""
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
    axes.set_ylabel("seconds a step")
    axes.set_title("Forward and back, a dot a step")
    axes.legend()


def _draw_growth(axes: Axes, pairs: Sequence[Pair]) -> None:
    """Time of a step over the length of the series."""
    rows = [pair.stock.config.rows for pair in pairs]
    for name in (STOCK, OURS):
        runs = [pair.stock if name == STOCK else pair.ours for pair in pairs]
        seconds = [run.step_seconds for run in runs]
        axes.plot(rows, seconds, "o-", color=_COLOURS[name], label=_NAMES[name])
    axes.set_ylim(0, axes.get_ylim()[1])
    axes.set_xlabel("rows of the series")
    axes.set_ylabel("seconds a step")
    axes.set_title(f"{_MODELS[pairs[0].stock.config.model]}, growing series")
    axes.legend()


def _short(count: int) -> str:
    """A large count in few characters."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)
