"""Runs cases of a module of programs on stock TensorFlow, in another process than the tests.

The module has `attempt(case) -> dict[str, np.ndarray]`. As a program, `python -m
tests.support.stock_cases MODULE FOLDER CASE...` writes one file per case.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

_ROOT = pathlib.Path(__file__).resolve().parents[2]


class StockCases:
    """Stock's results for each case, which another process computes while the tests run."""

    def __init__(self, module: str, cases: list[str], folder: pathlib.Path) -> None:
        self._folder = folder
        self._log = folder / "log"
        environment = {**os.environ, "TENSOR_ARRAY_GRAD": "off"}
        with self._log.open("w") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-m", __name__, module, str(folder), *cases],
                cwd=_ROOT,
                env=environment,
                stdout=log,
                stderr=log,
            )

    def __call__(self, case: str) -> dict[str, np.ndarray]:
        """Returns the results of `case`; waits until the other process has written them."""
        path = self._folder / _file_of(case)
        while not path.exists():
            ended = self._child.poll() is not None
            assert not ended or path.exists(), self._log.read_text()[-3000:]
            time.sleep(0.05)
        return dict(np.load(path))

    def close(self) -> None:
        self._child.kill()
        self._child.wait()


def _file_of(case: str) -> str:
    return f"{case.replace('/', '.')}.npz"


def main(module: str, folder: str, cases: list[str]) -> None:
    attempt = importlib.import_module(module).attempt
    assert "tensor_array_grad" not in sys.modules
    for case in cases:
        part = pathlib.Path(folder) / "part.npz"
        np.savez(part, **attempt(case))
        part.rename(part.with_name(_file_of(case)))  # no reader sees part of a file


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
