"""What a profiler records of loops that run in one kernel: the ops that it records on stock.

Each function below that is no test runs in a child process, on stock or with the library. A fresh
function runs under the profiler, because stock's executor leaves out kernels that were cheap
before.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import pathlib
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from tensor_array_grad import _loader
from tests.support.hand_back import NEVER, hand_back
from tests.support.kernel_runner import Runner

HERE = "tests.loops.profiled_loops_test:"
STEPS = 7
v1 = tf.compat.v1
# For these the interpreter has no instructions, but registers and guards.
NOT_IN_CODE = {
    *("Enter", "Merge", "Switch", "NextIteration", "Exit", "LoopCond", "RunLoop"),
    *("Const", "Identity", "NoOp"),
}
BODY = r"while(_grad)?/body/_\d+/"
PROGRAMS = [
    ("lstm", BODY),
    ("tf1_loop", ":(Sin|Tanh|Exp)$"),
    ("calls_a_function", ":Tanh$"),
]


@dataclasses.dataclass(frozen=True)
class Event:
    """An event of a trace: its full name, its times, the number of its thread, its arguments."""

    name: str
    start: int
    end: int
    thread: int
    arguments: dict[str, Any]

    def contains(self, other: Event) -> bool:
        return self.thread == other.thread and self.start <= other.start and other.end <= self.end


@contextlib.contextmanager
def profile(folder: str) -> Iterator[list[Event]]:
    """Appends the events of the CPU's threads to the list when the block ends.

    No loop is handed back, because the events must not depend on how busy the machine is.
    """
    found: list[Event] = []
    in_one_kernel = hand_back(NEVER) if _loader.is_loaded() else contextlib.nullcontext()
    with in_one_kernel, tf.profiler.experimental.Profile(folder):
        yield found
    (path,) = tf.io.gfile.glob(f"{folder}/plugins/profile/*/*.xplane.pb")
    space = xplane_pb2.XSpace.FromString(pathlib.Path(path).read_bytes())
    (plane,) = (plane for plane in space.planes if plane.name == "/host:CPU")
    for line in plane.lines:
        for event in line.events:
            arguments = {
                plane.stat_metadata[stat.metadata_id].name: getattr(stat, stat.WhichOneof("value"))
                for stat in event.stats
            }
            name = plane.event_metadata[event.metadata_id].name
            end = event.offset_ps + event.duration_ps
            found.append(Event(name, event.offset_ps, end, line.id, arguments))


def count(events: list[Event], of: str) -> dict[str, int]:
    """How many events each op has whose name matches `of`, without those of control flow."""
    counts = collections.Counter(event.name for event in events if re.search(of, event.name))
    return {op: many for op, many in counts.items() if op.rpartition(":")[2] not in NOT_IN_CODE}


def iterations_of(loop: Event, events: list[Event]) -> list[Event]:
    """The iterations that are in the loop and in no other one, in order."""
    inside = [event for event in events if event is not loop and loop.contains(event)]
    inner = [event for event in inside if event.name.endswith(":RunLoop")]
    found = [event for event in inside if event.name == "Iteration"]
    return sorted(
        (event for event in found if not any(other.contains(event) for other in inner)),
        key=lambda event: event.start,
    )


# ---- programs ------------------------------------------------------------------------------------


def lstm(folder: str, trains: bool = False) -> list[Event]:
    """The events of a Keras LSTM that predicts, or trains for a step."""
    import keras

    x = np.random.default_rng(0).normal(size=[5, STEPS, 3]).astype(np.float32)
    with tf.device("CPU"):
        model = keras.Sequential([keras.layers.LSTM(4), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
        model.build(x.shape)
        with profile(folder) as events:
            if trains:
                model.fit(x, x[:, 0, :1], batch_size=5, verbose=0)
            else:
                model.predict(x, verbose=0)
    return events


def tf1_loop(folder: str) -> list[Event]:
    """The events of a loop with an inner loop in a Session."""
    v1.disable_control_flow_v2()

    def body(i: Any, s: Any) -> Any:
        def inner(j: Any, t: Any) -> Any:
            return j + 1, tf.tanh(t, name="tanh")

        t = v1.while_loop(lambda j, _: j < 3, inner, [0, tf.sin(s, name="sine")], name="inner")[1]
        return i + 1, tf.cond(i < 2, lambda: tf.exp(t, name="exponential"), lambda: t)

    with tf.Graph().as_default(), tf.device("CPU"), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2])
        y = v1.while_loop(lambda i, _: i < STEPS, body, [0, x], name="outer")[1]
        with profile(folder) as events:
            session.run(y, {x: [1.0, 2.0]})
    return events


def calls_a_function(folder: str) -> list[Event]:
    """The events of a loop that calls a function, whose nodes later take the place of the call."""

    @functools.partial(tf.function, experimental_attributes={"api_implements": "of_this_test"})
    def called(s: Any) -> Any:
        return tf.tanh(s + 1.0, name="tanh")

    @tf.function
    def loop(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < STEPS, lambda i, s: (i + 1, called(s)), [0, x])[1]

    with tf.device("CPU"), profile(folder) as events:
        loop(tf.constant([1.0, 2.0]))
    return events


def with_a_second_thread(folder: str) -> tuple[list[Event], list[bytes]]:
    """The events of a loop with its gradient of which a second thread runs the trailing part."""
    _loader.bind().set_trailing_thread_after(0)
    steps = 300
    u = tf.Variable(np.random.default_rng(0).normal(size=[4, 4]) / 4)

    @tf.function
    def gradient(h: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.while_loop(
                lambda i, _: i < steps, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, u))), [0, h]
            )[1]
        return tape.gradient(y, u)

    with tf.device("CPU"):
        h = tf.constant(np.random.default_rng(1).normal(size=[3, 4]))
        with profile(folder) as events:
            results = [gradient(h) for _ in range(4)]
        results.append(gradient(h))
    return events, [result.numpy().tobytes() for result in results]


def profiler_in_the_middle(folder: str) -> tuple[list[Event], list[float]]:
    """The events of a part of a long run of a loop, and the results without and with a profiler."""
    steps = 5_000_000

    @tf.function
    def loop(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < steps, lambda i, s: (i + 1, s * 0.5 + x), [0, x])[1]

    with tf.device("CPU"):
        x = tf.constant(0.75)
        results = [loop(x)]
        thread = threading.Thread(target=lambda: results.append(loop(x)))
        thread.start()
        with profile(folder) as events:
            time.sleep(0.02)
        assert thread.is_alive(), "the loop ended before the profiler did"
        thread.join()
    return events[:10_000], [float(result) for result in results]


# ---- tests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("program", "of_body"), PROGRAMS)
def test_each_op_of_a_body_has_as_many_events_as_on_stock(
    ours: Runner, stocks: Runner, tmp_path: pathlib.Path, program: str, of_body: str
) -> None:
    got = ours.call(HERE + program, str(tmp_path / "ours"))
    want = count(stocks.call(HERE + program, str(tmp_path / "stock")), of_body)
    assert max(want.values()) >= STEPS
    found = count(got, of_body)
    assert {op: found.get(op, 0) for op in want} == want
    assert any(event.name.endswith(":RunLoop") for event in got)


def test_an_lstm_that_trains_has_the_events_that_the_executor_has(
    ours: Runner, tmp_path: pathlib.Path
) -> None:
    """Stock's backward loop has other ops. The executor leaves out those of lists, as cheap."""
    name = HERE + "lstm"
    found = count(ours.call(name, str(tmp_path / "got"), True), BODY)
    off = {"TENSOR_ARRAY_GRAD_LOOPS": "off"}
    events = ours.call(name, str(tmp_path / "want"), True, environment=off)
    want = count(events, BODY)
    assert not any("RunLoop" in event.name for event in events)
    assert any("_grad" in op for op in want)
    assert {op: found.get(op, 0) for op in want} == want
    for op in "PushLoopStack", "PopLoopStack", "TensorListGetItem", "TensorListSetItem":
        assert STEPS in [many for name, many in found.items() if name.endswith(f":{op}")]


def test_ops_are_in_iterations_and_iterations_in_their_loop(
    ours: Runner, tmp_path: pathlib.Path
) -> None:
    events = ours.call(HERE + "tf1_loop", str(tmp_path))
    (outer,) = (event for event in events if event.name == "outer:RunLoop")
    iterations = iterations_of(outer, events)
    assert [each.arguments["iteration"] for each in iterations] == [*range(STEPS + 1)]
    for iteration in iterations[:-1]:  # in the last one, the condition is false
        (inner,) = (e for e in events if e.name.endswith("inner:RunLoop") and iteration.contains(e))
        inner_iterations = iterations_of(inner, events)
        assert [each.arguments["iteration"] for each in inner_iterations] == [*range(4)]
        for each in inner_iterations[:-1]:
            assert sum(each.contains(e) for e in events if e.name.endswith(":Tanh")) == 1
    assert len([event for event in events if event.name == "Iteration"]) == (STEPS + 1) + STEPS * 4


def test_the_second_thread_has_the_events_of_its_part(
    ours: Runner, stocks: Runner, tmp_path: pathlib.Path
) -> None:
    name = HERE + "with_a_second_thread"
    _, want = stocks.call(name, str(tmp_path / "stock"))
    for attempt in range(10):  # the pool of a busy machine may have no second thread in time
        events, results = ours.call(name, str(tmp_path / f"ours{attempt}"))
        assert results == want, "a profiler does not change values"
        loops = [event for event in events if event.name.endswith("while_grad:RunLoop")]
        products = [event for event in events if re.search("while_grad/body.*MatMul$", event.name)]
        others = [e for e in products if not any(loop.contains(e) for loop in loops)]
        if others:
            break
    assert others, "the second thread has run nothing"
    iterations = [event for event in events if event.name == "Iteration"]
    for product in others[:100]:
        (iteration,) = (each for each in iterations if each.contains(product))
        assert "iteration" in iteration.arguments


def test_a_profiler_may_start_and_stop_while_a_loop_runs(
    ours: Runner, tmp_path: pathlib.Path
) -> None:
    events, results = ours.call(HERE + "profiler_in_the_middle", str(tmp_path))
    assert results == [1.5, 1.5]
    numbers = [event.arguments["iteration"] for event in events if event.name == "Iteration"]
    assert len(numbers) > 100
    assert numbers == [*range(numbers[0], numbers[0] + len(numbers))]
    assert not any(event.name.endswith(":RunLoop") for event in events), "it began before"
