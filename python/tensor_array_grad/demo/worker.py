"""The child process: trains on one library and tells its parent how it goes.

Run as `python -m tensor_array_grad.demo.worker CONFIGS FOLDER`: a JSON list of configurations of
one library, trained one after the other, and where the records are. Each line of standard output
is one event as JSON: a `Step`, or at the end of each configuration a `Finish`.
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
      model: `v1`, `function`, `indexed` or `keras`: how the forecaster is written.
      library: `STOCK` or `OURS`.
      units: Width of the hidden state.
      rows: Length of the series; a row is a week, or less where the record is drawn finer.
      steps: How many times the whole series is trained on.
    """

    model: str
    library: str
    units: int
    rows: int
    steps: int


@dataclasses.dataclass(frozen=True)
class Step:
    """One pass over the series: the loss before it, and how long it took."""

    loss: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class Finish:
    """The end of a run.

    Attributes:
      peak_bytes: How far memory rose above what it was with the model built.
      kernel_calls: Calls of this library's kernels; 0 on stock.
      outputs: The trained model's guess for each week.
    """

    peak_bytes: int
    kernel_calls: int
    outputs: list[float]


class Trainer(Protocol):
    """What every way of writing the forecaster offers."""

    def step(self) -> float:
        """Trains once on the whole series and returns the loss before that."""

    def outputs(self) -> Floats:
        """The model's guess of the record's targets."""


def make_trainer(config: Config, record: Record) -> Trainer:
    """Builds the model of `config`.

    Args:
      config: The run.
      record: What to train on.

    Returns:
      The model, untrained.

    Raises:
      ValueError: There is no such model.
    """
    if config.model == "v1":
        from tensor_array_grad.demo import v1_model  # here: TensorFlow after the library

        return v1_model.Trainer(record, config.units)
    if config.model in ("function", "indexed", "keras"):
        from tensor_array_grad.demo import v2_model

        if config.model == "keras":
            return v2_model.KerasTrainer(record, config.units)
        return v2_model.FunctionTrainer(record, config.units, indexed=config.model == "indexed")
    raise ValueError(f"model is {config.model!r}, need v1, function, indexed or keras")


def kernel_calls() -> int:
    """How often kernels of this library have run in this process."""
    counters = tensor_array_grad.status().counters
    return sum(count for name, count in counters.items() if name.startswith("kernels."))


def record_path(folder: pathlib.Path, rows: int) -> pathlib.Path:
    """Where the parent leaves the record of `rows` rows for its children."""
    return folder / f"{rows}.npz"


def train(config: Config, record: Record) -> None:
    """Trains one configuration and prints its events.

    Args:
      config: The run; its library is already chosen.
      record: What to train on.
    """
    calls = kernel_calls()
    trainer = make_trainer(config, record)
    memory = PeakMemory()
    for _ in range(config.steps):
        start = time.perf_counter()
        loss = trainer.step()
        _tell(Step(loss, time.perf_counter() - start))
    peak, calls = memory.bytes(), kernel_calls() - calls
    _tell(Finish(peak, calls, trainer.outputs().tolist()))


def main(arguments: list[str]) -> None:
    """Trains as told and prints the events.

    Args:
      arguments: The configurations as a JSON list, and the folder of the records.

    Raises:
      tensor_array_grad.LoadError: The library was asked for and does not fit this TensorFlow.
    """
    configs = [Config(**fields) for fields in json.loads(arguments[0])]
    if configs[0].library == OURS:
        tensor_array_grad.enable()
    for config in configs:
        train(config, Record.read(record_path(pathlib.Path(arguments[1]), config.rows)))


def _tell(event: Step | Finish) -> None:
    print(json.dumps(dataclasses.asdict(event)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
