"""Loops in branches of TF1 conditionals, and their gradients, run in one kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tensor_array_grad import _loader
from tests.support import kernel_runner

v1 = tf.compat.v1
STEPS, WIDTH = 12, 4
_LEFT = "loops.left."


def recurrence(x: Any, w: Any, state: Any = None, steps: Any = STEPS, f: Any = tf.tanh) -> Any:
    """A loop over rows of `x`."""
    start = [tf.constant(0), tf.zeros([WIDTH]) if state is None else state]
    return v1.while_loop(lambda i, _: i < steps, lambda i, s: (i + 1, f(s * w + x[i])), start)[1]


def with_arrays(x: Any, w: Any, reverse: bool = False) -> Any:
    """A loop that reads an array and writes another, as dynamic_rnn does."""
    rows = v1.TensorArray(tf.float32, STEPS).unstack(x)

    def body(i: Any, s: Any, out: Any) -> Any:
        s = tf.tanh(s * w + rows.read(STEPS - 1 - i if reverse else i))
        return i + 1, s, out.write(i, s)

    start = [tf.constant(0), tf.zeros([WIDTH]), v1.TensorArray(tf.float32, STEPS)]
    _, s, out = v1.while_loop(lambda i, *_: i < STEPS, body, start)
    return s + tf.reduce_mean(out.stack(), 0)


def two_cells(x: Any, w: Any, p: Any, q: Any) -> Any:
    return v1.cond(p, lambda: with_arrays(x, w), lambda: tf.nn.relu(with_arrays(x, 2 * w, True)))


def nested(x: Any, w: Any, p: Any, q: Any) -> Any:
    inner = lambda: v1.cond(q, lambda: recurrence(x, w), lambda: recurrence(x, 2 * w) * 3)  # noqa: E731
    return v1.cond(p, inner, lambda: recurrence(x * 0.5, w))


def in_a_loop(x: Any, w: Any, p: Any, q: Any) -> Any:
    def body(i: Any, s: Any) -> Any:
        return i + 1, v1.cond(p, lambda: recurrence(x, w, s, 5), lambda: s * w)

    return v1.while_loop(lambda i, _: i < 4, body, [0, x[0]])[1]


def state_from_outside(x: Any, w: Any, p: Any, q: Any) -> Any:
    state, steps = tf.sin(w), tf.shape(x)[0]
    return v1.cond(
        p, lambda: recurrence(x, w, state, steps), lambda: recurrence(x, state, w, steps - 3)
    )


def behind_an_assertion(x: Any, w: Any, p: Any, q: Any) -> Any:
    with tf.control_dependencies([v1.Assert(tf.reduce_all(x < 100), [x])]):
        return v1.cond(p, lambda: recurrence(tf.identity(x), w), lambda: w * 2)


def after_a_conditional(x: Any, w: Any, p: Any, q: Any) -> Any:
    y = recurrence(x, v1.cond(p, lambda: recurrence(x, w), lambda: w * 3))
    return v1.cond(q, lambda: recurrence(x, y), lambda: y)


def case(x: Any, w: Any, p: Any, q: Any) -> Any:
    branches = [(p, lambda: recurrence(x, w)), (q, lambda: recurrence(x, w, f=tf.sin))]
    return v1.case(branches, default=lambda: recurrence(x, w, f=tf.sigmoid))


def assigns_before(x: Any, w: Any, p: Any, q: Any) -> Any:
    v = v1.get_variable("v", initializer=np.ones(WIDTH, np.float32), use_resource=True)

    def assigned() -> Any:
        with tf.control_dependencies([v.assign_add(w)]):
            return recurrence(x, w * v.read_value())

    return v1.cond(p, assigned, lambda: recurrence(x, v))


def by_the_same_predicate(x: Any, w: Any, p: Any, q: Any) -> Any:
    def loop() -> Any:
        def body(i: Any, s: Any) -> Any:
            return i + 1, v1.cond(p, lambda: tf.tanh(s * w), lambda: s * x[i])

        return v1.while_loop(lambda i, _: i < STEPS, body, [0, x[0]])[1]

    return v1.cond(p, loop, lambda: loop() * 2)


def dynamic_rnn(x: Any, w: Any, p: Any, q: Any) -> Any:
    kernel = v1.constant_initializer(np.linspace(-1, 1, 2 * WIDTH * 4 * WIDTH))
    cell = v1.nn.rnn_cell.LSTMCell(WIDTH, initializer=kernel)
    batch = tf.stack([x, x * w])

    def run(lengths: Any) -> Any:
        rnn = v1.nn.dynamic_rnn
        return tf.reduce_sum(rnn(cell, batch, lengths, dtype=tf.float32)[0], [0, 1])

    return v1.cond(p, lambda: run(None), lambda: tf.nn.relu(run(tf.constant([STEPS, 5]))))


PROGRAMS: dict[str, Callable[..., Any]] = {
    program.__name__: program
    for program in (
        two_cells, nested, in_a_loop, state_from_outside, behind_an_assertion,
        after_a_conditional, case, assigns_before, by_the_same_predicate, dynamic_rnn,
    )
}  # fmt: skip


def results(name: str) -> tuple[list[list[np.ndarray]], dict[str, int]]:
    """Values and gradients for each value of the predicates, fetched together and one by one."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default(), v1.Session() as session:
        x, w = v1.placeholder(tf.float32, [STEPS, WIDTH]), v1.placeholder(tf.float32, [WIDTH])
        p, q = v1.placeholder(tf.bool, []), v1.placeholder(tf.bool, [])
        y = PROGRAMS[name](x, w, p, q)
        found = [gradient for gradient in v1.gradients(y * y, [x, w]) if gradient is not None]
        gradients = [tf.convert_to_tensor(gradient) for gradient in found]
        session.run(v1.global_variables_initializer())
        rng = np.random.default_rng(0)
        feed = {x: rng.normal(size=[STEPS, WIDTH]), w: rng.normal(size=WIDTH)}
        values = [
            session.run(fetched, {**feed, p: yes, q: also})
            for yes, also in itertools.product((True, False), repeat=2)
            for fetched in ([y, *gradients], gradients[-1:], [y])
        ]
    return values, _loader.bind().counters()


def compare(ours: kernel_runner.Runner, stocks: kernel_runner.Runner, name: str) -> None:
    run = "tests.loops.tf1_conditionals_test:results"
    got, counts = ours.call(run, name)
    want, _ = stocks.call(run, name)
    for mine, theirs in zip(got, want, strict=True):
        assert [one.tobytes() for one in mine] == [one.tobytes() for one in theirs]
    left = {key.removeprefix(_LEFT) for key in counts if key.startswith(_LEFT) and counts[key]}
    # In a loop, the gradient's counter is made outside of the branch.
    assert left == ({"inputs may be dead apart"} if name == "in_a_loop" else set())
    assert counts["loops.runs"] > 0 or name == "in_a_loop"


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "dynamic_rnn"])
def test_values_and_gradients_equal_stocks_and_all_loops_run_in_one_kernel(ours, stocks, name):
    compare(ours, stocks, name)


def test_dynamic_rnn_in_branches_equals_stocks_and_runs_in_one_kernel():
    pytest.importorskip("tf_keras")
    legacy: dict[str, str | None] = {"TF_USE_LEGACY_KERAS": "1"}
    with (
        kernel_runner.Runner("enable", env=legacy) as ours,
        kernel_runner.Runner(env=legacy) as stocks,
    ):
        compare(ours, stocks, "dynamic_rnn")
