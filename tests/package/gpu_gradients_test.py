"""The table of `python -m benchmarks.gpu_gradients`, from rows that were measured before."""

from __future__ import annotations

import json
import pathlib

import pytest

from benchmarks import gpu_gradients


def row(value: float) -> dict[str, object]:
    figures = {"seconds": [0.5], "cpu_seconds": [0.5], "peak_bytes": 1, "first_s": 1.0}
    return {"case": "read", "n": 400, **figures, "sample": [value], "kernel_calls": 0}


NOTE = {"case": "read", "n": 400, "note": "no memory"}


@pytest.mark.parametrize(
    ("rows", "status", "line"),
    [
        ({"CPU": row(1.0), "stock": row(1.0), "XLA": row(1.0)}, 0, ""),
        ({"CPU": row(1.0), "stock": row(2.0)}, 1, "WRONG VALUES: read, n = 400, stock"),
        ({"stock": row(1.0), "XLA": row(2.0)}, 0, "were not compared: 2"),
        ({"CPU": NOTE, "stock": row(1.0)}, 0, "were not compared: 1"),
        ({"stock's kernels": row(1.0), "XLA": row(1.0)}, 0, "were not compared: 1"),
        ({"stock's kernels": row(1.0), "XLA": row(2.0)}, 1, "WRONG VALUES: read, n = 400, XLA"),
        ({"CPU": row(1.0), "stock": NOTE}, 0, "stock, ('read', 400): no memory"),
    ],
)
def test_rows_are_compared_with_a_reference_or_counted(rows, status, line, tmp_path, capsys):
    for name in gpu_gradients.WAYS:
        text = "ROW " + json.dumps(rows[name]) + "\n" if name in rows else ""
        file: pathlib.Path = tmp_path / f"{name.replace(' ', '_')}.txt"
        file.write_text(text)
    assert gpu_gradients.main(tmp_path) == status
    printed = capsys.readouterr().out
    assert "| read | 400 |" in printed
    assert line in printed
    assert ("not compared" in printed) == ("sample" not in rows.get("CPU", {}))
