"""The child process: trains on one library and reports each step to its parent.

The command is `python -m tensor_array_grad.demo.worker CONFIGS FOLDER`. CONFIGS is a JSON list of
configurations, all for the same library, which are trained one after the other. FOLDER has the
records. Each line of standard output is one event as JSON: a `Step`, or, at the end of each
configuration, a `Finish`.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import sys
import time
from typing import Protocol

import tensor_array_grad
from tensor_array_grad.demo.data import Floats, Record
from tensor_array_grad.demo.memory import PeakMemory

STOCK = "stock"
OURS = "tensor_array_grad"


@dataclasses.dataclass(frozen=True)
class Config:
    """One training run.

    Attributes:
      model: The form of the forecaster: `v1`, `function`, `indexed` or `keras`.
      library: `STOCK` or `OURS`.
      units: Width of the hidden state.
      rows: Length of the series. A row is a week, or less if the record is sampled more finely.
      steps: Number of training steps. Each trains on the whole series.
    """

    model: str
    library: str
    units: int
    rows: int
    steps: int


@dataclasses.dataclass(frozen=True)
class Step:
    """One training step: the loss before its update, and its duration."""

    loss: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class Finish:
    """The end of a run.

    Attributes:
      peak_bytes: How far resident memory rose after the model was built.
      kernel_calls: Number of calls of this library's kernels; 0 on stock.
      outputs: The trained model's prediction for each week.
    """

    peak_bytes: int
    kernel_calls: int
    outputs: list[float]


class Trainer(Protocol):
    """The methods that every form of the forecaster has."""

    def step(self) -> float:
        """Trains once on the whole series and returns the loss before the update."""

    def outputs(self) -> Floats:
        """The model's prediction of the record's targets."""


def make_trainer(config: Config, record: Record) -> Trainer:
    """Builds the model of `config`.

    Args:
      config: The run.
      record: The series to train on.

    Returns:
      The untrained model.

    Raises:
      ValueError: There is no such model.
    """
    if config.model == "v1":
        from tensor_array_grad.demo import v1_model

        return v1_model.Trainer(record, config.units)
    if config.model in ("function", "indexed", "keras"):
        from tensor_array_grad.demo import v2_model

        if config.model == "keras":
            return v2_model.KerasTrainer(record, config.units)
        return v2_model.FunctionTrainer(record, config.units, indexed=config.model == "indexed")
    raise ValueError(f"model is {config.model!r}, need v1, function, indexed or keras")


def kernel_calls() -> int:
    """The number of calls of this library's kernels in this process."""
    counters = tensor_array_grad.status().counters
    return sum(count for name, count in counters.items() if name.startswith("kernels."))


def record_path(folder: pathlib.Path, rows: int) -> pathlib.Path:
    """The file in which the parent saves the record of `rows` rows for its child processes."""
    return folder / f"{rows}.npz"


def train(config: Config, record: Record) -> None:
    """Trains one configuration and prints its events.

    Args:
      config: The run. The process has enabled the library already, if the run needs it.
      record: The series to train on.
    """
    calls = kernel_calls()
    trainer = make_trainer(config, record)
    memory = PeakMemory()
    for _ in range(config.steps):
        start = time.perf_counter()
        loss = trainer.step()
        _print_event(Step(loss, time.perf_counter() - start))
    peak, calls = memory.bytes(), kernel_calls() - calls
    _print_event(Finish(peak, calls, trainer.outputs().tolist()))


def main(arguments: list[str]) -> None:
    """Trains all configurations of the command line and prints the events.

    Args:
      arguments: The configurations as a JSON list, and the folder of the records.

    Raises:
      tensor_array_grad.LoadError: A run needs the library, which does not fit this TensorFlow.
    """
    configs = [Config(**fields) for fields in json.loads(arguments[0])]
    if configs[0].library == OURS:
        tensor_array_grad.enable()
    for config in configs:
        train(config, Record.read(record_path(pathlib.Path(arguments[1]), config.rows)))


def _print_event(event: Step | Finish) -> None:
    print(json.dumps(dataclasses.asdict(event)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
