"""Inputs that crash stock or make it read past an element, and that this library refuses.

Each program runs in a process of its own, so that a crash fails one test only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from tests.support import kernel_runner
from tests.support.list_cases import (
    concat,
    concat_v1,
    from_tensor,
    gather,
    get,
    join,
    outcome,
    pop,
    push,
    push_batch,
    put,
    raw,
    reserve,
    resize,
    rows,
    scatter,
    scatter_into,
    split,
    stack,
)

MAX = 2**31 - 1
# By name: the program, and a pattern of the message of its error.
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "reading index -1": (lambda: get(reserve(2), -1), "element -1 in a list with 2 elements"),
    "setting index -1": (lambda: put(reserve(2), -1, rows(2)), "Trying to modify element -1"),
    "setting index -1 of a list that grows": (
        lambda: put(reserve(2), -1, rows(2), grow=True),
        "Trying to modify element -1 in a list with 2 elements",
    ),
    "growing past the largest size": (
        lambda: put(reserve(2), MAX, rows(2), grow=True),
        "A TensorList cannot have 2147483648 elements",
    ),
    "pushing on a list of the largest size": (
        lambda: push(reserve(MAX), rows(2)),
        "A TensorList cannot have 2147483648 elements",
    ),
    "joining lists of the largest size": (
        lambda: join(reserve(MAX), reserve(MAX)),
        "A TensorList cannot have 4294967294 elements",
    ),
    "scattering past the largest size": (
        lambda: scatter_into(reserve(2), rows(1, 2), [MAX]),
        "A TensorList cannot have 2147483648 elements",
    ),
    "scattering to index -1 of a list": (
        lambda: scatter_into(reserve(2), rows(1, 2), [-1]),
        "must all be non-negative",
    ),
    "gathering index -1": (
        lambda: gather(from_tensor(rows(3, 2), [2]), [-1]),
        "Index -1 out o range; list only has 3 elements",
    ),
    "an index that is a vector": (lambda: get(reserve(2), [0, 1]), "index must be a scalar"),
    "an empty index": (
        lambda: get(reserve(2), tf.zeros([0], tf.int32)),
        "index must be a scalar, but has shape \\[0\\]",
    ),
    "a size that is a vector": (lambda: resize(reserve(2), [1, 2]), "size must be a scalar"),
    "stacking more values than fit an int64": (
        lambda: stack(reserve(MAX, [2**30, 2**30])),
        "more than .* values: 2147483647 elements of shape",
    ),
    "an element shape of more values than fit an int64": (
        lambda: get(reserve(1), 0, [MAX, MAX, MAX]),
        "would have more than 2\\*\\*63 - 1 elements",
    ),
    "concat of negative lengths": (
        lambda: concat(reserve(2), [-1, 2], [-3, 3]),
        "leading_dims must not be negative, but is -3 at index 0",
    ),
    "concat of lengths that overflow": (
        lambda: concat(reserve(2), [-1, 2], [2**62, 2**62]),
        "too large to be summed|overflow|Encountered",
    ),
    "concat of rows that overflow": (
        lambda: concat(reserve(1), [-1, 2**20], [2**60]),
        "overflow|Encountered",
    ),
    "concat of other rows than were asked for": (
        lambda: concat_v1(from_tensor(rows(2, 2, 2), [2, 2]), [None, 3]),
        "Concat saw shape \\[2,2\\] at index 0 but requires rows of shape \\[3\\]",
    ),
    "concat of scalars": (
        lambda: concat_v1(from_tensor(rows(2), []), [None, 3]),
        "Concat saw shape \\[\\] at index 0",
    ),
    "splitting by a negative length": (
        lambda: split(rows(2, 2), [-1, 3]),
        "Invalid value in lengths: -1",
    ),
    "splitting by lengths that overflow": (
        lambda: split(rows(2, 2), [1, 2**63 - 1]),
        "Attempting to slice \\[1, 9223372036854775808\\] from tensor with length 2",
    ),
    "stacking elements that contradict the list's shape": (
        lambda: stack(split(rows(4), [1, 3], [2])),
        "an element is \\[1\\], not \\[2\\]",
    ),
    "scatter with a matrix for a shape": (
        lambda: scatter(rows(2, 2), [0, 1], [[2]]),
        "element_shape must be at most rank 1 but has the shape of \\[1,1\\]",
    ),
    "scatter with a number of elements that is a vector": (
        lambda: scatter(rows(2, 2), [0, 1], [2], [3, 4]),
        "num_elements must be a scalar",
    ),
    "scatter of a matrix of indices": (
        lambda: scatter(rows(2, 2), [[0, 1], [2, 3]]),
        "Invalid number of rows in input tensor. Expected: 4 Actual: 2",
    ),
    "a batch for a tensor that is no list": (
        lambda: push_batch(tf.stack([raw.OptionalNone()]), rows(1, 2)),
        "is not a list",
    ),
}


def answer(name: str) -> tuple[Any, ...]:
    """The outcome of the program `name`; called in a child process."""
    return outcome(BAD[name][0])


@pytest.mark.parametrize("name", list(BAD))
def test_input_that_crashes_stock_is_an_error(name: str, ours: kernel_runner.Runner) -> None:
    got = ours.call("tests.robustness.list_crash_test:answer", name)
    assert isinstance(got, tuple), got
    assert got[:2] == ("error", "InvalidArgumentError"), got
    assert re.search(BAD[name][1], got[2]), got


def test_a_list_of_the_largest_size_needs_no_memory_until_it_is_filled(
    ours: kernel_runner.Runner,
) -> None:
    assert ours.call("tests.robustness.list_crash_test:largest_list") == (MAX, 3.0, 0.0)


def largest_list() -> tuple[int, float, float]:
    """The size, last and first element of the longest list; called in a child process."""
    a_list = put(resize(reserve(MAX, []), MAX), MAX - 1, tf.constant(3.0))
    shorter, last = pop(a_list)
    size = int(raw.TensorListLength(input_handle=shorter)) + 1
    return size, float(last), float(get(shorter, 0))


def test_an_index_past_the_end_of_a_growing_scatter_leaves_the_gap_unset(
    ours: kernel_runner.Runner,
) -> None:
    # Stock fills the gap with empty float tensors, whatever the list's dtype.
    assert ours.call("tests.robustness.list_crash_test:grown_by_scatter") == [1, 0, 0, 2]


def grown_by_scatter() -> list[int]:
    """A list of ints that a scatter has made longer; called in a child process."""
    a_list = put(reserve(1, [], tf.int32), 0, 1)
    longer = scatter_into(a_list, tf.constant([2]), [3])
    return [int(get(longer, i, dtype=tf.int32)) for i in range(4)]
