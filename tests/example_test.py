"""The examples, each as a user would run it: on stock, and with the library by its runner."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the tests lie outside a checkout")


def _losses(*command: str) -> list[str]:
    """The losses that an example prints, one a line."""
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return re.findall(r"loss ([\d.]+)", done.stdout)


def test_indexing_trains_alike_on_stock_and_with_the_library():
    command = (str(EXAMPLES / "indexing.py"), "--batch", "2", "--lengths", "5", "9")
    stocks, ours = _losses(*command), _losses("-m", "tensor_array_grad", *command)
    assert len(ours) == 2
    assert ours == stocks
