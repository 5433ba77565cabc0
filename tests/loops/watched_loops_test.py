"""What tools that look into a graph see of a loop that runs in one kernel: what they see on stock.

Each function below that is no test runs in a child process, on stock or with the library.
"""

from __future__ import annotations

import collections
import re
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.debug.lib import debug_data, debug_events_reader
from tensorflow.python.debug.wrappers import dumping_wrapper

from tensor_array_grad import _loader

v1 = tf.compat.v1
STEPS = 10


def turns_to_infinity(x: Any) -> Any:
    """A loop whose value is infinite after iteration 5, and NaN from then on."""

    def body(i: Any, s: Any) -> Any:
        return i + 1, tf.sin(s * x, name="sine") / tf.cast(5 - i, tf.float32)

    return v1.while_loop(lambda i, _: i < STEPS, body, [0, x], name="loop")[1]


def runs() -> int:
    """How often a loop has run in one kernel."""
    return _loader.bind().counters().get("loops.runs", 0)


def watched_run(folder: str) -> tuple[dict[str, Any], str, list[int]]:
    """Every tensor dumped, the first that is NaN or infinite, and `runs` before and after."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2])
        y = turns_to_infinity(x)
        y = tf.stack([y, v1.gradients(y, x)[0]])
        counts = [runs()]
        session.run(y, {x: [1.0, 2.0]})
        counts.append(runs())
        watching = dumping_wrapper.DumpingDebugWrapperSession(session, folder)
        watching.run(y, {x: [1.0, 2.0]})
        counts.append(runs())
        session.run(y, {x: [1.0, 2.0]})
        counts.append(runs())
    (run,) = tf.io.gfile.glob(f"{folder}/run_*")
    dump = debug_data.DebugDumpDir(run)
    found = collections.defaultdict(list)
    for one in dump.dumped_tensor_data:
        value = one.get_tensor()
        if isinstance(value, np.ndarray):
            found[one.watch_key].append(value.tobytes())
    first = dump.find(debug_data.has_inf_or_nan)[0].node_name
    return dict(found), first, counts


def test_a_session_run_that_watches_tensors_dumps_every_iteration(ours, stocks, tmp_path):
    run = "tests.loops.watched_loops_test:watched_run"
    got, first, counts = ours.call(run, str(tmp_path / "ours"))
    want, first_on_stock, _ = stocks.call(run, str(tmp_path / "stock"))
    assert set(want) <= set(got)
    iterations = 0
    for key, values in want.items():
        if "stacks" not in key and "Stack" not in key:  # the handles have numbers
            assert sorted(got[key]) == sorted(values), key
        iterations += len(values) == STEPS
    assert iterations > 10
    assert first == first_on_stock
    assert counts[1] == counts[2] > counts[0], "a run that is watched does not use RunLoop"
    assert counts[3] > counts[2], "and the next one does"


def watched_loops_that_begin_alike(folder: str) -> list[float]:
    """The values of two loops with one first value, in a run that watches tensors."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default(), v1.Session() as session:
        zero = v1.placeholder_with_default(0, [])
        values = [
            v1.while_loop(lambda i, _: i < STEPS, lambda i, s, k=k: (i + 1, s * k), [zero, 1.0])[1]
            for k in (2.0, 3.0)
        ]
        return dumping_wrapper.DumpingDebugWrapperSession(session, folder).run(values)


def test_loops_that_begin_with_one_value_are_watched(ours, tmp_path):
    run = "tests.loops.watched_loops_test:watched_loops_that_begin_alike"
    assert ours.call(run, str(tmp_path)) == [2.0**STEPS, 3.0**STEPS]


def events(folder: str, tensor_debug_mode: str) -> list[tuple[str, int]]:
    """How many values of each op of a function with its gradient tfdbg2 has written."""
    writer = tf.debugging.experimental.enable_dump_debug_info(
        folder, tensor_debug_mode, circular_buffer_size=-1
    )

    @tf.function
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = turns_to_infinity(x)
        return tape.gradient(y, x)

    gradient(tf.constant([1.0, 2.0]))
    writer.FlushExecutionFiles()
    writer.FlushNonExecutionFiles()
    with debug_events_reader.DebugDataReader(folder) as reader:
        reader.update()
        seen = collections.Counter(trace.op_type for trace in reader.graph_execution_traces())
    return sorted(seen.items())


@pytest.mark.parametrize("mode", ["NO_TENSOR", "FULL_HEALTH"])
def test_dumped_debug_info_has_every_iteration(ours, stocks, tmp_path, mode):
    run = "tests.loops.watched_loops_test:events"
    got = ours.call(run, str(tmp_path / "ours"), mode)
    assert got == stocks.call(run, str(tmp_path / "stock"), mode)
    assert dict(got)["Sin"] == STEPS


def check_numerics() -> tuple[str, int]:
    """The error of a function whose ops are checked, and `runs`."""
    tf.debugging.enable_check_numerics()
    try:
        tf.function(turns_to_infinity)(tf.constant([1.0, 2.0]))
    except tf.errors.InvalidArgumentError as error:
        return re.search(r"!!!.*?Stack trace", error.message, re.DOTALL).group(), runs()
    return "no error", runs()


def test_check_numerics_names_the_first_infinite_op(ours, stocks):
    got, used = ours.call("tests.loops.watched_loops_test:check_numerics")
    want, _ = stocks.call("tests.loops.watched_loops_test:check_numerics")
    assert re.sub(r"_body_\d+", "", got) == re.sub(r"_body_\d+", "", want)
    assert 'graph op "RealDiv"' in got
    assert used == 1, "the checks are nodes of the loop, which runs in one kernel"


def run_with(options: Any, config: Any = None) -> tuple[Any, int]:
    """The RunMetadata of a run, and how often a loop ran in one kernel in it."""
    with tf.Graph().as_default(), v1.Session(config=config) as session:
        y = turns_to_infinity(v1.placeholder_with_default([1.0, 2.0], [2]))
        before, metadata = runs(), v1.RunMetadata()
        session.run(y, options=options, run_metadata=metadata)
        return metadata, runs() - before


def test_partition_graphs_show_the_op_that_runs_the_loop():
    metadata, used = run_with(v1.RunOptions(output_partition_graphs=True))
    ops = [node.op for graph in metadata.partition_graphs for node in graph.node]
    assert ops.count("TensorArrayGrad>RunLoopInSession") == used == 1
    assert ops.count("Sin") == 1, "the nodes of the loop are there too"


def test_a_cost_model_has_the_nodes_of_the_loop():
    config = v1.ConfigProto(
        graph_options=v1.GraphOptions(build_cost_model=1, build_cost_model_after=0)
    )
    metadata, used = run_with(v1.RunOptions(), config)
    assert used == 0
    assert metadata.cost_graph.node
