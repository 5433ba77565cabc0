"""The demonstration's tables."""

from __future__ import annotations

from collections.abc import Sequence

import rich.table

from tensor_array_grad.demo.picture import MODELS
from tensor_array_grad.demo.runner import Pair
from tensor_array_grad.demo.worker import OURS, STOCK

_NAMES = {STOCK: "stock", OURS: "ours"}
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
            f"{MODELS[run.config.model]}\n{run.config.units} units\n{_NAMES[run.config.library]}"
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
            MODELS[config.model],
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


def _short(count: int) -> str:
    """`count` in thousands or millions if it is large, such as 1.2M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)
