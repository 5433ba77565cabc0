"""The examples, as a user would run them: on stock, and through the runner of the library."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the tests lie outside a checkout")


def _run(*command: str) -> tuple[list[str], bool]:
    """The losses that an example prints, and whether the library rewrote its sums of slices."""
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | {"TENSOR_ARRAY_GRAD_LOG": "1"},
    )
    assert done.returncode == 0, done.stderr
    return re.findall(r"loss ([\d.]+)", done.stdout), "slice_sum 1" in done.stderr


def test_indexing_trains_alike_on_stock_and_with_the_library():
    command = (str(EXAMPLES / "indexing.py"), "--batch", "2", "--lengths", "5", "9")
    (stocks, stock_rewritten), (ours, rewritten) = (
        _run(*command),
        _run("-m", "tensor_array_grad", *command),
    )
    assert (stock_rewritten, rewritten) == (False, True)
    assert len(ours) == 2
    assert ours == stocks
