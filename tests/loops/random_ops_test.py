"""Loops with random ops run in one kernel, with stock's numbers in stock's order.

The generator of such an op is in its kernel. If the op is seeded, RunLoop runs all iterations of
all calls, so that its kernel draws what the kernel of stock's loop would. Without a seed, a loop
may be handed back.

In stock's loop, several iterations may run at the same time and draw in any order, unless they wait
for each other. The loops that are compared with stock's therefore have `parallel_iterations=1`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tensor_array_grad import _loader
from tests.support.kernel_runner import Runner

STEPS, WIDTH, CALLS = 12, 3, 3
IN_ORDER = {"parallel_iterations": 1}
HERE = "tests.loops.random_ops_test:"

Draw = Callable[[Any, Any], Any]  # of the iteration and the state


def categorical(i: Any, h: Any) -> Any:
    return tf.cast(tf.random.categorical([h, h * 2.0], WIDTH)[0], tf.float32)


DRAWS: dict[str, Draw] = {
    "normal": lambda i, h: tf.random.normal([WIDTH]),
    "uniform": lambda i, h: tf.random.uniform([WIDTH], -1.0, 1.0),
    "integers": lambda i, h: tf.cast(tf.random.uniform([WIDTH], 0, 9, tf.int32), tf.float32),
    "truncated_normal": lambda i, h: tf.random.truncated_normal([WIDTH]),
    "parameterized": lambda i, h: tf.raw_ops.ParameterizedTruncatedNormal(
        shape=[WIDTH], means=0.5, stdevs=2.0, minvals=-1.0, maxvals=1.0, seed=3, seed2=4
    ),
    "gamma": lambda i, h: tf.random.gamma([WIDTH], 2.0),
    "poisson": lambda i, h: tf.random.poisson([WIDTH], 4.0),
    "categorical": categorical,
    "shuffle": lambda i, h: tf.random.shuffle(h),
    "dropout": lambda i, h: tf.nn.dropout(h + 1.0, 0.5),
    "op_seed": lambda i, h: tf.random.normal([WIDTH], seed=5),
    "two_of_one_kind": lambda i, h: tf.random.normal([WIDTH]) * tf.random.normal([WIDTH]),
    "branch": lambda i, h: tf.cond(
        i % 3 == 0, lambda: tf.random.normal([WIDTH]), lambda: tf.random.uniform([WIDTH])
    ),
    "inner_loop": lambda i, h: tf.while_loop(
        lambda j, _: j < i % 4,
        lambda j, s: (j + 1, s + tf.random.normal([WIDTH])),
        [0, h],
        **IN_ORDER,
    )[1],
}


def walk(draw: Draw) -> Callable[[Any], list[Any]]:
    """A function of a start: the state after the loop, all states, and the gradient."""

    @tf.function
    def run(start: Any) -> list[Any]:
        def body(i: Any, h: Any, held: Any) -> Any:
            h = tf.tanh(h * 0.5 + draw(i, h))
            return i + 1, h, held.write(i, h)

        with tf.GradientTape() as tape:
            tape.watch(start)
            states = (0, start, tf.TensorArray(tf.float32, STEPS))
            _, last, held = tf.while_loop(lambda i, *_: i < STEPS, body, states, **IN_ORDER)
            loss = tf.reduce_sum(last)
        gradient = tape.gradient(loss, start, unconnected_gradients="zero")
        return [last, held.stack(), gradient, tf.random.normal([2])]

    return run


def drawn(name: str, seed: int | None, hand_back: int) -> tuple[list[bytes], dict[str, int]]:
    """What a few calls of two functions return, the second one after a first call of the other."""
    if seed is not None:
        tf.random.set_seed(seed)
    _loader.bind().set_hand_back_after(hand_back)
    start = tf.linspace(0.1, 0.9, WIDTH)
    first, second = walk(DRAWS[name]), walk(DRAWS[name])
    order = [first, second] + [first] * (CALLS - 1) + [second]
    results = [tensor.numpy() for run in order for tensor in run(start)]
    return [result.tobytes() for result in results], _loader.bind().counters()


@pytest.mark.parametrize("name", DRAWS)
def test_a_seeded_loop_draws_stocks_numbers_in_every_call(
    ours: Runner, stocks: Runner, name: str
) -> None:
    got, counters = ours.call(HERE + "drawn", name, 7, -1)
    want, _ = stocks.call(HERE + "drawn", name, 7, -1)
    assert got == want
    assert len(set(got)) > CALLS  # the calls draw different numbers
    assert counters["loops.runs"] >= CALLS + 2


@pytest.mark.parametrize("hand_back", [0, 5])
@pytest.mark.parametrize("name", ["normal", "branch", "inner_loop"])
def test_a_seeded_loop_is_not_handed_back(
    ours: Runner, stocks: Runner, name: str, hand_back: int
) -> None:
    got, counters = ours.call(HERE + "drawn", name, 7, hand_back)
    want, _ = stocks.call(HERE + "drawn", name, 7, -1)
    assert got == want
    backwards = CALLS + 2  # loops of the gradient, which draw nothing
    assert counters.get("loops.handed_back", 0) <= backwards


def unseeded(hand_back: int) -> tuple[np.ndarray, int]:
    """Many numbers that loops without a seed draw, and how often a loop was handed back."""
    _loader.bind().set_hand_back_after(hand_back)

    @tf.function
    def run() -> Any:
        held = tf.TensorArray(tf.float64, 50)
        for i in tf.range(50):
            held = held.write(i, tf.random.normal([40], dtype=tf.float64))
        return held.stack()

    # Of 8,000 numbers of float32, two are equal by chance every few runs; of float64, never.
    numbers = np.concatenate([run().numpy() for _ in range(4)])
    return numbers, _loader.bind().counters().get("loops.handed_back", 0)


def test_a_loop_without_a_seed_may_be_handed_back_and_never_draws_a_number_twice(
    ours: Runner,
) -> None:
    numbers, handed_back = ours.call(HERE + "unseeded", 20)
    assert handed_back == 4
    assert len(np.unique(numbers)) == numbers.size
    assert abs(numbers.mean()) < 0.1
    assert abs(numbers.std() - 1.0) < 0.1


def in_a_session(seed: int) -> tuple[list[bytes], dict[str, int]]:
    """Draws of a TF1 graph, fetched in two ways, which share the kernels of random ops."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.set_random_seed(seed)
        body = lambda i, h: (i + 1, h + tf.random.normal([WIDTH]))  # noqa: E731
        start = [0, tf.zeros([WIDTH])]
        loop = tf.while_loop(lambda i, _: i < STEPS, body, start, **IN_ORDER)[1]
        fetches = [loop, loop * 2.0]
        results = [session.run(fetches[k]) for k in (0, 1, 0, 0, 1)]
    return [result.tobytes() for result in results], _loader.bind().counters()


def test_a_seeded_loop_of_a_session_is_left_to_the_executor(ours: Runner, stocks: Runner) -> None:
    got, counters = ours.call(HERE + "in_a_session", 3)
    want, _ = stocks.call(HERE + "in_a_session", 3)
    assert got == want
    assert counters["loops.left.private state"] >= 1
    assert counters.get("loops.runs", 0) == 0


def in_a_dataset(parallel: int | None) -> tuple[list[bytes], int]:
    """Elements that loops in `Dataset.map` draw, in two passes over the data."""
    tf.random.set_seed(11)

    def element(x: Any) -> Any:
        body = lambda i, h: (i + 1, h * 0.5 + tf.random.uniform([WIDTH]))  # noqa: E731
        start = tf.cast(x, tf.float32) + tf.zeros([WIDTH])
        return tf.while_loop(lambda i, _: i < STEPS, body, [0, start], **IN_ORDER)[1]

    data = tf.data.Dataset.range(20).map(element, num_parallel_calls=parallel)
    found = [row.tobytes() for _ in range(2) for row in data.as_numpy_iterator()]
    return found, _loader.bind().counters().get("loops.runs", 0)


def test_a_seeded_loop_in_a_dataset_draws_stocks_numbers(ours: Runner, stocks: Runner) -> None:
    got, runs = ours.call(HERE + "in_a_dataset", None)
    want, _ = stocks.call(HERE + "in_a_dataset", None)
    assert got == want
    assert runs == 40


def profiled(folder: str) -> tuple[list[bytes], dict[str, int]]:
    """Draws of a seeded loop before, while and after a profiler is active."""
    tf.random.set_seed(2)
    run = walk(DRAWS["normal"])
    start = tf.zeros([WIDTH])
    results = [run(start)[0].numpy()]
    with tf.profiler.experimental.Profile(folder):
        results.append(run(start)[0].numpy())
    results.append(run(start)[0].numpy())
    return [result.tobytes() for result in results], _loader.bind().counters()


def test_a_profiler_does_not_change_the_numbers_of_a_seeded_loop(
    ours: Runner, stocks: Runner, tmp_path: Any
) -> None:
    got, counters = ours.call(HERE + "profiled", str(tmp_path / "ours"))
    want, _ = stocks.call(HERE + "profiled", str(tmp_path / "stock"))
    assert got == want
    assert counters["loops.passed_by_for_a_trace"] == 0


def fails_in_the_middle() -> list[bytes]:
    """Draws of a seeded loop before and after a call that fails in its sixth iteration."""
    tf.random.set_seed(4)

    @tf.function
    def run(bad: Any) -> Any:
        def body(i: Any, h: Any) -> Any:
            with tf.control_dependencies([tf.debugging.assert_none_equal(i, bad)]):
                return i + 1, h + tf.random.normal([WIDTH])

        start = [0, tf.zeros([WIDTH])]
        return tf.while_loop(lambda i, _: i < STEPS, body, start, **IN_ORDER)[1]

    results = [run(tf.constant(-1)).numpy()]
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.constant(5))
    results.append(run(tf.constant(-1)).numpy())
    return [result.tobytes() for result in results]


def test_after_an_error_a_seeded_loop_draws_on_as_stocks(ours: Runner, stocks: Runner) -> None:
    got = ours.call(HERE + "fails_in_the_middle")
    assert got == stocks.call(HERE + "fails_in_the_middle")
    assert got[0] != got[1]
