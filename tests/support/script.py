"""Writes programs of V3 ops as method calls: each returns the number of its step."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support import kernel_runner


class Results:
    """The outcomes of a script's steps. Asking for a value of a step that failed is an error."""

    def __init__(self, program: kernel_runner.Program, outcomes: list[kernel_runner.Outcome]):
        self._program = program
        self.outcomes = outcomes

    def __getitem__(self, step: int) -> np.ndarray:
        """The first output of `step`."""
        return self.outputs(step)[0]

    def outputs(self, step: int) -> tuple[np.ndarray, ...]:
        """All outputs of `step`, except handles."""
        outcome = self.outcomes[step]
        assert isinstance(outcome, kernel_runner.Value), f"{self._program[step]}: {outcome}"
        return outcome.outputs

    def error(self, step: int) -> kernel_runner.Error:
        """The error of `step`, which must have failed."""
        outcome = self.outcomes[step]
        assert isinstance(outcome, kernel_runner.Error), f"{self._program[step]}: {outcome}"
        return outcome


class Script:
    """Builds a program step by step.

    Args:
      dtype: The dtype of arrays and values in calls that do not give one.
    """

    def __init__(self, dtype: str = "float32"):
        self.program: kernel_runner.Program = []
        self._dtype = dtype

    def run(self, runner: kernel_runner.Runner, mode: str = "eager") -> Results:
        """Runs the script in the runner's worker, which other programs use before and after it."""
        return Results(self.program, runner.run(self.program, mode))

    def _add(self, op: str, **arguments: Any) -> int:
        arguments.setdefault("dtype", self._dtype)
        self.program.append({"op": op, **arguments})
        return len(self.program) - 1

    def array(self, size: Any = 0, **attributes: Any) -> int:
        """TensorArrayV3; attributes as in `kernel_runner`."""
        return self._add("V3", size=np.asarray(size, np.int32), **attributes)

    def write(self, array: Any, index: Any, value: Any, **more: Any) -> int:
        """TensorArrayWriteV3."""
        value = self._value(value, more)
        return self._add(
            "Write", array=array, index=np.asarray(index, np.int32), value=value, **more
        )

    def read(self, array: Any, index: Any, **more: Any) -> int:
        """TensorArrayReadV3."""
        return self._add("Read", array=array, index=np.asarray(index, np.int32), **more)

    def gather(self, array: Any, indices: Any, **more: Any) -> int:
        """TensorArrayGatherV3."""
        return self._add("Gather", array=array, indices=np.asarray(indices, np.int32), **more)

    def scatter(self, array: Any, indices: Any, value: Any, **more: Any) -> int:
        """TensorArrayScatterV3."""
        value = self._value(value, more)
        indices = np.asarray(indices, np.int32)
        return self._add("Scatter", array=array, indices=indices, value=value, **more)

    def split(self, array: Any, value: Any, lengths: Any, **more: Any) -> int:
        """TensorArraySplitV3."""
        value = self._value(value, more)
        lengths = np.asarray(lengths, np.int64)
        return self._add("Split", array=array, value=value, lengths=lengths, **more)

    def concat(self, array: Any, **more: Any) -> int:
        """TensorArrayConcatV3."""
        return self._add("Concat", array=array, **more)

    def size(self, array: Any) -> int:
        """TensorArraySizeV3."""
        return self._add("Size", array=array)

    def close(self, array: Any) -> int:
        """TensorArrayCloseV3."""
        return self._add("Close", array=array)

    def grad(self, array: Any, source: str = "g") -> int:
        """TensorArrayGradV3."""
        return self._add("Grad", array=array, source=source)

    def grad_with_shape(self, array: Any, prefix: Any, source: str = "g") -> int:
        """TensorArrayGradWithShape."""
        prefix = np.asarray(prefix, np.int32)
        return self._add("GradWithShape", array=array, prefix=prefix, source=source)

    def _value(self, value: Any, more: dict[str, Any]) -> Any:
        if isinstance(value, (np.ndarray, kernel_runner.Zeros)):
            return value
        dtype = more.get("dtype", self._dtype)
        return np.asarray(value, object if dtype == "string" else dtype)
