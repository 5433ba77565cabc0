"""The nodes of this library's own ops in the graphs of real programs, with their inputs' values.

A node outside of all loops is collected with the values that its inputs have when the program runs.
A node in the frame of a loop, which is part of an attribute of RunLoop, is collected with the
values that its inputs have in the first iteration.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import function_pb2, graph_pb2, node_def_pb2, tensor_pb2
from tensorflow.python.eager import context

from tests.loops import called_functions, loop_programs, slice_programs

v1 = tf.compat.v1
PREFIX = "TensorArrayGrad>"
RUN_LOOP = PREFIX + "RunLoop"
# Nodes that a graph needs only where a runtime passes values in and out.
_ENDS = ("_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv")


@dataclasses.dataclass(frozen=True)
class OwnNode:
    """A node of an own op.

    Attributes:
      program: The program in whose graph it is.
      definition: Its NodeDef, serialised.
      inputs: The values of its inputs, each a serialised TensorProto.
    """

    program: str
    definition: bytes
    inputs: tuple[bytes, ...]

    @property
    def op(self) -> str:
        return self.node().op

    def node(self) -> node_def_pb2.NodeDef:
        return node_def_pb2.NodeDef.FromString(self.definition)


@dataclasses.dataclass(frozen=True)
class Collection:
    """Nodes, and the functions that they call, each a serialised FunctionDef."""

    nodes: tuple[OwnNode, ...]
    functions: tuple[bytes, ...]


def _slice_program(name: str) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        whole = tf.tile(x, [2, 2])[: slice_programs.ROWS, : slice_programs.WIDTH]
        read = slice_programs.READS[name]
        step = lambda i, h: (i + 1, tf.tanh(h) + read(whole, i))  # noqa: E731
        start = (tf.constant(0), tf.zeros([slice_programs.WIDTH], x.dtype))
        return tf.while_loop(lambda i, _: i < 3, step, start)[1]

    return program


def _calling_program(name: str) -> Callable[[Any], Any]:
    program = called_functions.PROGRAMS[name]
    return lambda x: tf.cast(program(tf.cast(x[0], tf.float32)), x.dtype)


def _accumulates_outside_of_loops(x: Any) -> Any:
    array = tf.TensorArray(x.dtype, x.shape[0], clear_after_read=False).unstack(x)
    return array.read(0) * array.read(1) + array.read(2) * array.read(0)


_LOOPS = (
    *("read_loop", "no_step", "recurrence", "branch_in_the_body", "nested", "loop_in_a_branch"),
    *("loop_in_a_branch_of_a_loop", "write_in_a_branch", "loop_in_a_loop", "scanned"),
    *("a_step_with_side_effects", "intermediates_of_many_types", "reads_in_both_branches"),
    *("branches_in_branches", "a_branch_of_many", "counters_of_many_kinds"),
    *("a_gradient_of_a_gradient", "swapped_variables", "rotated_variables", "switch_of_three"),
    *("three_loops_deep", "inner_loop_that_sometimes_runs", "strings_that_grow"),
    *("exit_by_value", "variables_of_many_types", "condition_without_a_counter"),
)
_SLICES = (
    *("index", "negative_stride", "new_axis_and_ellipsis", "slice", "gather_matrix"),
    *("gather_axis", "gather_nd_numbers", "overlapping", "in_a_branch", "two_in_a_branch"),
    *("gathered_in_a_branch", "gathered_in_the_other_branch"),
)
_CALLING = ("in_the_body", "many_times", "in_a_branch", "of_a_function", "with_a_loop")
_BY_NAME = {program.__name__: program for program in loop_programs.LOOPS}
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    **{name: _BY_NAME[name] for name in _LOOPS},
    **{f"slices_{name}": _slice_program(name) for name in _SLICES},
    **{f"called_{name}": _calling_program(name) for name in _CALLING},
    "accumulates_outside_of_loops": _accumulates_outside_of_loops,
}


def collect(names: Sequence[str]) -> Collection:
    """The nodes of the programs of these names. Requires: the library is enabled."""
    nodes: list[OwnNode] = []
    functions: dict[str, bytes] = {}
    for name in names:
        for graph in _partition_graphs(PROGRAMS[name]):
            for function in graph.library.function:
                functions[function.signature.name] = function.SerializeToString()
            nodes.extend(_of_graph(name, graph))
    distinct = {(node.op, node.definition, node.inputs): node for node in nodes}
    return Collection(tuple(distinct.values()), tuple(functions.values()))


def without_ends(graph: graph_pb2.GraphDef) -> graph_pb2.GraphDef:
    """A copy of `graph` that Python can import: each _Arg becomes a Placeholder."""
    made = graph_pb2.GraphDef(versions=graph.versions)
    for node in graph.node:
        if node.op in _ENDS:
            continue
        copy = made.node.add()
        copy.CopyFrom(node)
        copy.device = ""
        copy.name = _importable(node.name)
        copy.input[:] = [_importable(name) for name in node.input]
        copy.attr.pop("_class", None)
        if node.op == "_Arg":
            copy.op = "Placeholder"
            copy.attr["dtype"].CopyFrom(node.attr["T"])
            for key in ("T", "index"):
                copy.attr.pop(key, None)
    return made


def _importable(name: str) -> str:
    """`name`, or another one if it begins with a character that TensorFlow reserves."""
    return f"renamed{name}" if name.startswith("_") else name


class Computation:
    """The computation of some outputs of a graph, by TensorFlow's executor alone.

    Values are serialised, since a Session feeds and fetches no variants.

    Args:
      graph: The graph.
      feeds: The names of Placeholders, and the dtypes of their values.
      fetches: The names of outputs.
    """

    def __init__(
        self,
        graph: graph_pb2.GraphDef,
        feeds: Mapping[str, int],
        fetches: Sequence[str],
    ):
        with tf.Graph().as_default() as made:
            self._fed = [v1.placeholder(tf.string, []) for _ in feeds]
            values = {
                name: tf.raw_ops.ParseTensor(serialized=fed, out_type=dtype)
                for (name, dtype), fed in zip(feeds.items(), self._fed, strict=True)
            }
            outputs = tf.import_graph_def(
                graph, name="", input_map=values, return_elements=list(fetches)
            )
            self._fetched = [tf.io.serialize_tensor(output) for output in outputs]
        config = v1.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = -1
        self._session = v1.Session(graph=made, config=config)

    def __call__(self, values: Sequence[bytes], seconds: float = 60.0) -> list[bytes]:
        """The outputs; an error after that time."""
        options = v1.RunOptions(timeout_in_ms=int(seconds * 1000))
        fed = dict(zip(self._fed, values, strict=True))
        return self._session.run(self._fetched, fed, options=options)

    def close(self) -> None:
        self._session.close()


def _value() -> np.ndarray:
    return np.random.default_rng(2).normal(size=(loop_programs.N, 2))


def _partition_graphs(program: Callable[[Any], Any]) -> Sequence[graph_pb2.GraphDef]:
    """The graphs that the runtime runs for the gradient of `program`."""

    @tf.function(autograph=False)
    def gradient(x: Any) -> Any:
        return tf.gradients(tf.reduce_sum(program(x) ** 2), x)[0]

    context.context().enable_graph_collection()
    try:
        gradient(tf.constant(_value()))
        return context.context().export_run_metadata().partition_graphs
    finally:
        context.context().disable_graph_collection()


def _of_graph(program: str, graph: graph_pb2.GraphDef) -> Iterator[OwnNode]:
    """The nodes of `graph` and of the frames of its loops."""
    arguments = [node.name for node in graph.node if node.op == "_Arg"]
    if len(arguments) != 1:
        return  # the graph of a function that a program calls
    feeds = {_importable(arguments[0]): serialized(tf.constant(_value()))}
    plain = without_ends(graph)
    plain.library.CopyFrom(graph.library)
    for node in _computed(program, plain, feeds):
        yield node
        if node.op == RUN_LOOP:
            yield from _of_frame(program, node, graph.library)


def _of_frame(
    program: str, loop: OwnNode, library: function_pb2.FunctionDefLibrary
) -> Iterator[OwnNode]:
    frame = graph_pb2.GraphDef.FromString(loop.node().attr["frame"].s)
    names = {n.attr["index"].i: n.name for n in frame.node if n.op == "_Arg"}
    feeds = {names[i]: value for i, value in enumerate(loop.inputs)}
    plain = first_iteration(without_ends(frame))
    plain.library.CopyFrom(library)
    yield from _computed(program, plain, feeds)


def first_iteration(frame: graph_pb2.GraphDef) -> graph_pb2.GraphDef:
    """One iteration of the outermost loop of `frame`, whose _Args are Placeholders, as plain nodes.

    Loops inside of it stay loops.
    """
    named = {node.name: node for node in frame.node}

    def inputs(node: node_def_pb2.NodeDef) -> list[node_def_pb2.NodeDef]:
        return [named[name.split(":")[0].lstrip("^")] for name in node.input]

    enters = {n.name for n in frame.node if n.op == "Enter" and inputs(n)[0].op == "Placeholder"}
    merges = {n.name for n in frame.node if n.op == "Merge" and inputs(n)[0].name in enters}
    switches = {n.name for n in frame.node if n.op == "Switch" and inputs(n)[0].name in merges}
    conditions = {inputs(named[name])[1].name for name in switches}
    left_out = {inputs(named[name])[1].name for name in merges}
    left_out |= {n.name for n in frame.node if n.op == "Exit" and inputs(n)[0].name in switches}
    made = graph_pb2.GraphDef(versions=frame.versions, library=frame.library)
    for node in frame.node:
        if node.name in left_out:
            continue
        copy = made.node.add()
        copy.CopyFrom(node)
        if node.name in switches:  # both outputs are the value
            copy.op = "IdentityN"
            copy.attr["T"].list.type.extend([node.attr["T"].type] * 2)
            copy.input[:] = [node.input[0], node.input[0], *node.input[2:]]
        elif node.name in enters | merges | conditions:
            copy.op = "Identity"
            waits = [name for name in node.input if name.startswith("^")]
            copy.input[:] = [node.input[0], *waits]
            dtype = tf.bool.as_datatype_enum if node.op == "LoopCond" else node.attr["T"].type
            copy.attr.clear()
            copy.attr["T"].type = dtype
    return made


def _computed(
    program: str, graph: graph_pb2.GraphDef, feeds: dict[str, bytes]
) -> Iterator[OwnNode]:
    """The own nodes of `graph` whose inputs it computes from `feeds`.

    The inputs of a node in a loop, or in a branch that is not taken, are not computed.
    """
    dtypes = {name: dtype_of(value) for name, value in feeds.items()}
    for node in graph.node:
        if not node.op.startswith(PREFIX):
            continue
        names = [n if ":" in n else f"{n}:0" for n in node.input if not n.startswith("^")]
        try:
            values = Computation(graph, dtypes, names)(list(feeds.values()))
        except (tf.errors.OpError, ValueError):
            continue
        definition = node_def_pb2.NodeDef(name=node.name, op=node.op, attr=node.attr)
        yield OwnNode(program, definition.SerializeToString(deterministic=True), tuple(values))


def serialized(value: tf.Tensor) -> bytes:
    return tf.io.serialize_tensor(value).numpy()


def dtype_of(value: bytes) -> int:
    """The number of the dtype of the tensor that is serialised as `value`."""
    return tensor_pb2.TensorProto.FromString(value).dtype


def parsed(value: bytes) -> tf.Tensor:
    """The tensor that is serialised as `value`."""
    return tf.raw_ops.ParseTensor(serialized=value, out_type=dtype_of(value))


def functions_of(collection: Collection) -> list[function_pb2.FunctionDef]:
    return [function_pb2.FunctionDef.FromString(f) for f in collection.functions]
