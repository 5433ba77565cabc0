"""Trains in child processes, on stock and with the library, and compares their losses."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

import numpy as np

from tensor_array_grad.demo.worker import OURS, STOCK, Config, Finish, Step

_LOSS_TOLERANCE = 1e-3  # relative: both train in float32, and may sum in another order
_SHOWN = 4000  # number of characters of a failed child's stderr that the error shows


class DemoError(RuntimeError):
    """A run failed, or stock and ours disagree."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One finished training run.

    Attributes:
      config: The configuration of the run.
      losses: One per step.
      seconds: The time of each step.
      peak_bytes: How far resident memory rose during training.
      kernel_calls: Number of calls of this library's kernels.
      outputs: The trained model's prediction for each week.
    """

    config: Config
    losses: list[float]
    seconds: list[float]
    peak_bytes: int
    kernel_calls: int
    outputs: list[float]

    @property
    def step_seconds(self) -> float:
        """Median time per step, without the first step, which also builds, if there are others."""
        return statistics.median(self.seconds[1:] or self.seconds)


@dataclasses.dataclass(frozen=True)
class Pair:
    """The same training on stock and with the library."""

    stock: Run
    ours: Run

    @property
    def speed_up(self) -> float:
        """Stock's time per step divided by ours."""
        return self.stock.step_seconds / self.ours.step_seconds


def run(
    configs: Sequence[Config], folder: pathlib.Path, on_step: Callable[[Step], None]
) -> list[Run]:
    """Trains `configs`, one after the other, in one new process.

    Args:
      configs: The runs, all on the same library.
      folder: The folder of the records.
      on_step: Called after each training step.

    Returns:
      The finished runs.

    Raises:
      DemoError: The process failed, or it ran the kernels of the wrong library.
    """
    runs: list[Run] = []
    steps: list[Step] = []
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(
            _command(configs, folder),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=_environment(configs[0].library),
        ) as child:
            for line in child.stdout or ():
                event = json.loads(line)
                if "loss" in event:
                    steps.append(Step(**event))
                    on_step(steps[-1])
                else:
                    runs.append(_finished(configs[len(runs)], steps, Finish(**event)))
                    steps = []
        if child.returncode or len(runs) != len(configs):
            errors.seek(0)
            tail = errors.read()[-_SHOWN:]
            raise DemoError(f"{configs} ended with code {child.returncode}:\n{tail}")
    return runs


def run_pairs(
    configs: Sequence[Config], folder: pathlib.Path, on_step: Callable[[Step], None]
) -> list[Pair]:
    """Trains `configs` on stock, then on ours, and compares the losses.

    Args:
      configs: The runs; their `library` is ignored.
      folder: The folder of the records.
      on_step: Called after each training step on either library.

    Returns:
      One pair of runs for each of `configs`.

    Raises:
      DemoError: A process failed, or the losses differ.
    """
    stock, ours = (
        run([dataclasses.replace(c, library=library) for c in configs], folder, on_step)
        for library in (STOCK, OURS)
    )
    pairs = [Pair(*both) for both in zip(stock, ours, strict=True)]
    for pair in pairs:
        check_losses(pair.stock.config, pair.stock.losses, pair.ours.losses)
    return pairs


def check_losses(config: Config, stock: Sequence[float], ours: Sequence[float]) -> None:
    """Raises an error unless both trainings have the same losses.

    Args:
      config: The configuration, for the message.
      stock: Loss of each step on stock.
      ours: Loss of each step with the library.

    Raises:
      DemoError: The losses differ by more than rounding, or one is missing or not finite.
    """
    if len(stock) != len(ours) or not np.all(np.isfinite([*stock, *ours])):
        raise DemoError(f"{config}: losses are missing or not finite: {stock} and {ours}")
    wrong = ~np.isclose(ours, stock, rtol=_LOSS_TOLERANCE, atol=0.0)
    if wrong.any():
        step = int(np.argmax(wrong))
        raise DemoError(
            f"{config}: the loss of step {step} is {stock[step]} on stock and {ours[step]} on ours"
        )


def _command(configs: Sequence[Config], folder: pathlib.Path) -> list[str]:
    fields = json.dumps([dataclasses.asdict(config) for config in configs])
    return [sys.executable, "-m", "tensor_array_grad.demo.worker", fields, str(folder)]


def _finished(config: Config, steps: Sequence[Step], finish: Finish) -> Run:
    """Makes a `Run` of its events.

    Raises:
      DemoError: The library's kernels ran on stock, or did not run with the library.
    """
    if (config.library == OURS) != (finish.kernel_calls > 0):
        raise DemoError(f"{config}: {finish.kernel_calls} calls of the library's kernels")
    return Run(
        config=config,
        losses=[step.loss for step in steps],
        seconds=[step.seconds for step in steps],
        **dataclasses.asdict(finish),
    )


def _environment(library: str) -> dict[str, str]:
    """The child's environment: few log messages, no GPU, and the library off for stock."""
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}
    if library == STOCK:
        environment["TENSOR_ARRAY_GRAD"] = "off"
    return environment
