"""Runs programs in one process, each within `explain()`, and prints what it found as JSON.

`python -m tests.explain.run_program FILE ...`
"""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import runpy
import sys

import tensor_array_grad


def main(files: list[str]) -> None:
    found = {}
    for file in files:
        with contextlib.redirect_stdout(io.StringIO()), tensor_array_grad.explain() as loops:
            runpy.run_path(file, run_name="__main__")
        found[pathlib.Path(file).name] = json.loads(loops.to_json())
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
