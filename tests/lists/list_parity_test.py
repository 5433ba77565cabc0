"""Compares each TensorList op with stock in another process: values, error classes, messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support import kernel_runner, list_cases

SEEDS = list(range(60))


@pytest.fixture(scope="module")
def both(stocks: kernel_runner.Runner, ours: kernel_runner.Runner) -> dict[str, tuple[Any, Any]]:
    """The outcomes of each program on stock and with this library."""
    names = list(list_cases.CASES)
    answers = [runner.call("tests.support.list_cases:outcomes", names) for runner in (stocks, ours)]
    assert all(isinstance(answer, list) for answer in answers), answers
    return dict(zip(names, zip(*answers, strict=True), strict=True))


def differences(a: Any, b: Any, path: str = "") -> Iterator[str]:
    """The places in which two outcomes differ; arrays must have equal dtypes, shapes and values."""
    if isinstance(a, (list, tuple)) and type(a) is type(b) and len(a) == len(b):
        for i, (left, right) in enumerate(zip(a, b, strict=True)):
            yield from differences(left, right, f"{path}/{i}")
    elif isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        same = a.dtype == b.dtype and a.shape == b.shape and (a == b).all()
        if not same:
            yield f"{path}: stock {a!r}, ours {b!r}"
    elif isinstance(a, str) and isinstance(b, str):
        if a != b.replace("device:GPU", "device:CPU"):  # stock runs on the CPU alone
            yield f"{path}: stock {a!r}, ours {b!r}"
    elif type(a) is not type(b) or a != b:
        yield f"{path}: stock {a!r}, ours {b!r}"


@pytest.mark.parametrize("name", list(list_cases.CASES))
def test_each_program_has_the_outcome_of_stock(name: str, both: dict[str, tuple[Any, Any]]) -> None:
    theirs, mine = both[name]
    assert theirs[0] == "ok", theirs
    assert list(differences(theirs, mine)) == []


def test_random_programs_have_the_lists_and_errors_of_stock(
    stocks: kernel_runner.Runner, ours: kernel_runner.Runner
) -> None:
    theirs, mine = (
        r.call("tests.support.list_cases:random_programs", SEEDS) for r in (stocks, ours)
    )
    assert len(theirs) == len(SEEDS), theirs
    for seed, (left, right) in enumerate(zip(theirs, mine, strict=True)):
        assert list(differences(left, right)) == [], seed


def test_every_list_op_runs_our_kernel_and_converts_no_stock_list(counted: Any) -> None:
    list_cases.every_op("float32")
    stock_ops = (
        "GetItem SetItem Stack FromTensor Gather Scatter ScatterV2 ScatterIntoExistingList Concat "
        "ConcatV2 Split PushBack PushBackBatch PopBack Resize Length Reserve ConcatLists"
    )
    for op in stock_ops.split():
        assert counted[f"kernels.TensorList{op}"] > 0, op
    assert counted["kernels.EmptyTensorList"] > 0
    assert counted["lists.stock_lists_converted"] == 0
