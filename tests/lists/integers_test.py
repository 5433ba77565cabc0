"""Which comparisons of integers are proven, at the limits of what does not wrap around.

The functions are traced only: some of their loops would run 2**31 times. Programs that run are in
first_write_programs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tensor_array_grad import _integers
from tests.lists.first_write_programs import array, noted_proofs

_FAR = 2**30

# How a loop counts, and an index behind it: the first count, the step, the condition of count k,
# and the index of a write after the loop, where m and n are arguments of the function.
Counts = tuple[Any, int, Callable[[Any, Any, Any], Any], Callable[[Any, Any], Any]]

PROVEN: dict[str, Counts] = {
    "up to a limit": (0, 1, lambda k, m, n: k < m, lambda m, n: m),
    "up to a number": (0, 1, lambda k, m, n: k < _FAR, lambda m, n: tf.constant(_FAR)),
    "from far below 0": (-_FAR, 1, lambda k, m, n: k < m, lambda m, n: m),
    "a little behind the limit": (0, 1, lambda k, m, n: k < m, lambda m, n: m + 256),
    "up to and with a number": (0, 256, lambda k, m, n: k <= 9, lambda m, n: tf.constant(10)),
    "far behind a slot": (0, 0, lambda k, m, n: k < m, lambda m, n: tf.constant(_FAR + 1)),
    "down to a number": (9, -1, lambda k, m, n: k > 3, lambda m, n: tf.constant(3)),
}
NOT_PROVEN: dict[str, Counts] = {
    "up to and with a limit": (0, 1, lambda k, m, n: k <= m, lambda m, n: m + 1),
    "beyond a limit": (0, 2, lambda k, m, n: k < m, lambda m, n: m),
    "up to a far number": (0, 1, lambda k, m, n: k < _FAR + 1, lambda m, n: tf.constant(_FAR + 1)),
    "up to a product": (0, 1, lambda k, m, n: k < 2 * m, lambda m, n: 2 * m),
    "up to a sum of two": (0, 1, lambda k, m, n: k < m + n, lambda m, n: m + n),
    "up to a sum with a number": (0, 1, lambda k, m, n: k < m + 1, lambda m, n: m + 1),
    "from too far below 0": (-_FAR - 1, 1, lambda k, m, n: k < m, lambda m, n: m),
    "from any number": (None, 1, lambda k, m, n: k < m, lambda m, n: m),
    "far behind the limit": (0, 1, lambda k, m, n: k < m, lambda m, n: m + 257),
    "in large steps": (0, 257, lambda k, m, n: k < 999, lambda m, n: tf.constant(999)),
    "too far behind a slot": (0, 0, lambda k, m, n: k < m, lambda m, n: tf.constant(_FAR + 2)),
    "away from a number": (0, -1, lambda k, m, n: k < 9, lambda m, n: tf.constant(9)),
    "away from the limit": (0, -1, lambda k, m, n: k < m, lambda m, n: m),
    "down to a limit": (9, -1, lambda k, m, n: k > m, lambda m, n: m),
    "before the limit": (0, 1, lambda k, m, n: k < m, lambda m, n: m - 1),
    "not a comparison": (0, 1, lambda k, m, n: k != m, lambda m, n: m),
}


def proofs(counts: Counts) -> list[bool]:
    """Whether the write behind the loop, and the one in it, are proven to be first writes."""
    start, step, condition, index = counts

    @tf.function(
        autograph=False, input_signature=[tf.TensorSpec([4])] + 2 * [tf.TensorSpec([], tf.int32)]
    )
    def gradient(x: Any, m: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, a = tf.while_loop(
                lambda k, _: condition(k, m, n),
                lambda k, a: (k + step if step else k, a.write(k, x[0])),
                (n if start is None else start, array(4, [])),
            )
            a = tf.cond(x[1] > 0.0, lambda: a.write(index(m, n), x[2]), lambda: a)
            y = tf.reduce_sum(a.stack())
        return tape.gradient(y, x)

    with noted_proofs() as proven:
        gradient.get_concrete_function()
    return proven


@pytest.mark.parametrize("name", [*PROVEN, *NOT_PROVEN])
def test_a_write_behind_a_loop_is_proven_if_nothing_can_have_wrapped_around(name: str) -> None:
    behind, _ = proofs((PROVEN | NOT_PROVEN)[name])
    assert behind == (name in PROVEN)


@pytest.mark.parametrize(("step", "proven"), [(8, True), (9, False), (-8, True), (-9, False)])
def test_an_unknown_number_of_iterations_moves_an_index_by_a_small_number(
    step: int, proven: bool
) -> None:
    _, inside = proofs((0, step, lambda k, m, n: k < m, lambda m, n: m))
    assert inside == proven


# An index that each iteration moves by 256 is 0 again after 2**24 iterations.
@pytest.mark.parametrize(
    ("step", "iterations", "proven"),
    [
        (256, 2**21, True),
        (256, 2**21 + 1, False),
        (64, 2**23, True),
        (64, 2**23 + 1, False),
        (257, 4, False),
        (1, 2**30, True),
    ],
)
def test_all_iterations_of_a_loop_move_an_index_by_less_than_what_wraps_around(
    step: int, iterations: int, proven: bool
) -> None:
    limit = step * iterations
    _, inside = proofs((0, step, lambda k, m, n: k < limit, lambda m, n: m))
    assert inside == proven


@pytest.mark.parametrize(
    ("begin", "masks", "value"),
    [
        (1, {}, 7),
        (-1, {}, 9),
        (1, {"begin_mask": 1}, None),
        (1, {"ellipsis_mask": 1}, None),
        (1, {"new_axis_mask": 1}, None),
        (1, {"shrink_axis_mask": 0}, None),
    ],
)
def test_an_element_of_a_known_shape_is_a_number(
    begin: int, masks: dict[str, int], value: int | None
) -> None:
    definition = tf.Graph()
    with definition.as_default():
        end = begin + 1
        dimension = tf.raw_ops.StridedSlice(
            input=tf.constant([5, 7, 9]),
            begin=[begin],
            end=[end or np.iinfo(np.int32).max],
            strides=[1],
            **{"shrink_axis_mask": 1} | masks,
        )
    found = _integers._known_size(dimension.op)
    assert found == value
