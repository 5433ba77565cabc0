"""Starts one process for each run, follows it, and compares stock with ours."""

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

_LOSS_TOLERANCE = 1e-3  # relative; both train in float32, and sums may be in another order
_LAST_WORDS = 4000  # characters of a failed child's errors to show


class DemoError(RuntimeError):
    """A run failed, or stock and ours disagree."""


@dataclasses.dataclass(frozen=True)
class Run:
    """What one process did.

    Attributes:
      config: What it was asked to do.
      losses: One a step.
      seconds: One a step.
      peak_bytes: Rise of memory while training.
      kernel_calls: Calls of this library's kernels.
      outputs: The trained model's guess for each week.
    """

    config: Config
    losses: list[float]
    seconds: list[float]
    peak_bytes: int
    kernel_calls: int
    outputs: list[float]

    @property
    def step_seconds(self) -> float:
        """Median time of a step, the first (which also builds) left out where there are more."""
        return statistics.median(self.seconds[1:] or self.seconds)


@dataclasses.dataclass(frozen=True)
class Pair:
    """The same training on stock and on ours."""

    stock: Run
    ours: Run

    @property
    def speed_up(self) -> float:
        """Stock's time for a step divided by ours."""
        return self.stock.step_seconds / self.ours.step_seconds


def run(
    configs: Sequence[Config], folder: pathlib.Path, on_step: Callable[[Step], None]
) -> list[Run]:
    """Trains `configs`, one after the other, in one process of their own.

    Args:
      configs: The runs, all of one library.
      folder: Where the records are.
      on_step: Called after each training step.

    Returns:
      The finished runs.

    Raises:
      DemoError: The process failed, or says that the wrong kernels ran.
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
            said = errors.read()[-_LAST_WORDS:]
            raise DemoError(f"{configs} ended with code {child.returncode}:\n{said}")
    return runs


def run_pairs(
    configs: Sequence[Config], folder: pathlib.Path, on_step: Callable[[Step], None]
) -> list[Pair]:
    """Trains `configs` on stock, then on ours, and compares the losses.

    Args:
      configs: The runs; their `library` is replaced.
      folder: Where the records are.
      on_step: Called after each training step of either.

    Returns:
      Both runs of each.

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
    """Fails unless both trainings went the same way.

    Args:
      config: Named in the error.
      stock: Loss of each step.
      ours: Loss of each step.

    Raises:
      DemoError: They differ by more than float32 explains, or one is not finite.
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
    """Joins what a run told; a comparison of stock with itself would prove nothing."""
    if (config.library == OURS) != (finish.kernel_calls > 0):
        raise DemoError(f"{config}: {finish.kernel_calls} calls of the library's kernels")
    return Run(
        config=config,
        losses=[step.loss for step in steps],
        seconds=[step.seconds for step in steps],
        **dataclasses.asdict(finish),
    )


def _environment(library: str) -> dict[str, str]:
    """The child's environment: quiet, and on stock with the library's own switch set to off."""
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}
    if library == STOCK:
        environment["TENSOR_ARRAY_GRAD"] = "off"
    return environment
