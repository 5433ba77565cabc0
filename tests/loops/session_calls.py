"""Loops of TF1 graphs that call functions, in Sessions.

The callers decide which kernels run. Each function returns values, and the reasons for which loops
were left to the executor.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from tests.loops import called_functions
from tests.loops.called_functions import PROGRAMS

v1 = tf.compat.v1
Values = list[np.ndarray]
Left = dict[str, int]
_X = np.array([0.3, 0.4], np.float32)
_called = called_functions._called
_loop = called_functions._loop


def _left() -> Left:
    library = sys.modules.get("tensor_array_grad")
    return {} if library is None else dict(library.status().loops_left)


def _callable(session: Any, fetches: list[Any], feeds: list[Any]) -> Callable[..., Values]:
    options = config_pb2.CallableOptions(
        feed=[feed.name for feed in feeds], fetch=[fetch.name for fetch in fetches]
    )
    return session._make_callable_from_options(options)


def in_one_session(name: str, v2: bool) -> tuple[Values, Left]:
    """A program of `called_functions` and its gradient in graphs for several fetches.

    The graph of a callable ends when the callable is deleted, before the Session ends.
    """
    (v1.enable_control_flow_v2 if v2 else v1.disable_control_flow_v2)()
    values: Values = []
    with tf.Graph().as_default(), v1.Session() as session:
        called_functions._VARIABLES["assigned"] = tf.Variable(tf.zeros([2]))
        x = v1.placeholder(tf.float32, [2])
        y = PROGRAMS[name](x)
        gradient = tf.gradients(y, x)[0]
        session.run(v1.global_variables_initializer())
        for fetches in ([y], [y, gradient], [y + 1.0], [gradient], [y]):
            values += session.run(fetches, {x: _X})
        for fetches in ([y], [gradient], [y * 2.0]):
            call = _callable(session, fetches, [x])
            values += [*call(_X), *call(_X)]
            del call
        values += session.run([y * 3.0], {x: _X})  # the graph has grown
    return values, _left()


def equal_loops_of_constants() -> tuple[Values, Left]:
    """Two equal loops, whose inputs are constants, that count their calls in a variable."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default(), v1.Session() as session:
        calls = tf.Variable(0.0)

        def count(h: Any) -> Any:
            with tf.control_dependencies([calls.assign_add(1.0)]):
                return tf.tanh(h)

        step = _called(count)
        loops = [_loop(lambda _, h: step(h), tf.constant(0.3)) for _ in range(2)]
        session.run(v1.global_variables_initializer())
        values = []
        for _ in range(3):
            values += [*session.run(loops), session.run(calls)]
        call = _callable(session, loops, [])
        values += [*call(), session.run(calls), *call(), session.run(calls)]
    return values, _left()


def in_parts() -> tuple[Values, Left]:
    """A partial run, one part of which has the loop."""
    with tf.Graph().as_default(), v1.Session() as session:
        x, scale = v1.placeholder(tf.float32, [2]), v1.placeholder(tf.float32, [])
        y = PROGRAMS["many_times"](x)
        z = y * scale
        values = []
        for factor in (2.0, 3.0):
            handle = session.partial_run_setup([y, z], [x, scale])
            values.append(session.partial_run(handle, y, {x: _X}))
            values.append(session.partial_run(handle, z, {scale: factor}))
    return values, _left()


def imported() -> tuple[Values, Left]:
    """A graph with the loop, imported from its MetaGraph."""
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        tf.identity(PROGRAMS["many_times"](x), name="y")
        meta = v1.train.export_meta_graph()
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(meta)
        return [session.run("y:0", {"x:0": _X}) for _ in range(3)], _left()


def fed_inside() -> tuple[Values, Left]:
    """Runs that feed what enters the loop, and what leaves it."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2])
        start = x * 2.0
        y = PROGRAMS["of_a_function"](start)
        z = y + 1.0
        feeds: list[dict[Any, Any]] = [{x: _X}, {start: _X}, {y: _X}, {x: _X}]
        return [session.run(z, feed) for feed in feeds], _left()


def with_several_threads() -> tuple[Values, Left]:
    """The first runs of a graph, on several threads at once, while callables come and go."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2])
        y = PROGRAMS["many_times"](x)
        z = y + 1.0
        values: list[Any] = [None] * 4

        def work(k: int) -> None:
            value = session.run(y, {x: _X * k})
            for _ in range(3):
                call = _callable(session, [z], [x])
                value = value + call(_X * np.float32(k))[0]
                del call
            values[k] = value

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return values, _left()


def on_a_server() -> tuple[Values, Left]:
    """Sessions of a server in this process, each of which prunes other graphs."""
    server = v1.train.Server.create_local_server()
    values = []
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2])
        y = PROGRAMS["many_times"](x)
        for _ in range(2):
            with v1.Session(server.target) as session:
                for fetch in (y, y + 1.0, y):
                    values.append(session.run(fetch, {x: _X}))
    return values, _left()


def slice_sampler() -> tuple[Values, Left]:
    """The chain of TensorFlow Probability's slice sampler."""
    import tensorflow_probability as tfp

    with tf.Graph().as_default(), v1.Session() as session:
        kernel = tfp.mcmc.SliceSampler(lambda x: -0.5 * x**2, step_size=1.0, max_doublings=3)
        chain = tfp.mcmc.sample_chain(
            8, tf.constant([0.1, 0.2]), kernel=kernel, trace_fn=None, seed=[1, 2]
        )
        return [session.run(chain) for _ in range(2)], _left()


def minimize() -> tuple[Values, Left]:
    """The losses of TensorFlow Probability's minimize."""
    import tensorflow_probability as tfp

    with tf.Graph().as_default(), v1.Session() as session:
        x = tf.Variable([1.0, 2.0], use_resource=True)
        losses = tfp.math.minimize(
            lambda: tf.reduce_sum((x - 0.5) ** 2), 7, v1.train.GradientDescentOptimizer(0.1)
        )
        session.run(v1.global_variables_initializer())
        return [*(session.run(losses) for _ in range(2)), session.run(x)], _left()


def particle_filter() -> tuple[Values, Left]:
    """TensorFlow Probability's particle filter."""
    import tensorflow_probability as tfp

    tfd = tfp.distributions
    with tf.Graph().as_default(), v1.Session() as session:
        particles, _, _, likelihoods = tfp.experimental.mcmc.particle_filter(
            observations=tf.constant([0.1, 0.3, 0.2, 0.5]),
            initial_state_prior=tfd.Normal(0.0, 1.0),
            transition_fn=lambda _, state: tfd.Normal(state, 0.5),
            observation_fn=lambda _, state: tfd.Normal(state, 0.3),
            num_particles=6,
            seed=[3, 4],
        )
        return list(session.run([particles, likelihoods])), _left()
