"""The programs of `examples/` at real size: `python -m benchmarks.programs [--quick] [case ...]`.

Each program is measured at n and 2n. A call is one training step, or another unit that the program
repeats. docs/guide.md says how to install the packages that the programs use.
"""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Callable

from benchmarks import harness
from benchmarks.case import Case, Prepared, of_call

_EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"


def example(name: str) -> Callable[[int], Prepared]:
    """Builds the case of the program `name` of `examples/`."""

    def build(n: int) -> Prepared:
        # Imported here, in the forked child, because an example may change TensorFlow's settings.
        sys.path.insert(0, str(_EXAMPLES))
        return of_call(importlib.import_module(name).program(n))

    return build


def _case(name: str, what: str, n: int) -> Case:
    return Case(name, what, (n, 2 * n), example(name))


CASES = (
    _case("indexing", "recurrent cell over x[:, i], a training step", 3_200),
    _case("hidden_markov", "TFP HiddenMarkovModel, a training step", 2_000),
    _case("crf_tagger", "conditional random field, a training step", 2_000),
    _case("kalman_smoother", "TFP state space model, forward only", 1_100),
    _case("nuts", "TFP NUTS, n samples", 200),
    _case("lstm_fit", "Keras model.fit, 128 units, 4 batches of 32", 200),
    _case("saved_model", "TF1 graph with its gradient, from a SavedModel", 3_200),
)


if __name__ == "__main__":
    sys.exit(harness.main("benchmarks.programs", CASES))
