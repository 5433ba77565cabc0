"""Random changes of graphs, attributes and inputs, for `mutated_attributes`.

All draw from a `random.Random`, so that the number of a case determines the case.
"""

from __future__ import annotations

import random
from collections.abc import Callable, MutableSequence, Sequence
from typing import Any, TypeAlias

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2, node_def_pb2, tensor_pb2

DTYPES = tuple(
    dtype.as_datatype_enum
    for dtype in (
        *(tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.string, tf.half, tf.complex64),
        *(tf.variant, tf.resource, tf.bfloat16, tf.uint8),
    )
)
ODD_DTYPES = (*DTYPES, 0, 101, 103, 999)  # invalid, two references, unknown
INTEGERS = (0, 1, -1, 2, 3, 7, 100, 2**31 - 1, -(2**31), 2**32, 2**62, -(2**63))
# What only the library itself adds to nodes of a frame.
_OWN_MARKS = ("_tensor_array_grad_known_value", "_tensor_array_grad_inlined_call")
_INSTANCE = "_tensor_array_grad_instance"

NodeDef: TypeAlias = node_def_pb2.NodeDef
Graph: TypeAlias = graph_pb2.GraphDef


def changed_bytes(rng: random.Random, text: bytes) -> bytes:
    """`text` truncated, or with some bytes changed, removed or added."""
    kind = rng.randrange(5)
    if kind == 0 or not text:
        return text[: rng.randrange(len(text) + 1)]
    if kind == 1:
        begin = rng.randrange(len(text))
        return text[:begin] + text[begin + rng.randrange(1, 20) :]
    if kind == 2:
        begin = rng.randrange(len(text) + 1)
        return text[:begin] + rng.randbytes(rng.randrange(1, 9)) + text[begin:]
    made = bytearray(text)
    for _ in range(rng.choice((1, 1, 2, 8))):
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def change_tensor(rng: random.Random, tensor: tensor_pb2.TensorProto) -> None:
    """Changes the dtype, the shape or the values."""
    dims = tensor.tensor_shape.dim
    kind = rng.randrange(5)
    if kind == 0:
        tensor.dtype = rng.choice(DTYPES)
    elif kind == 1:
        dims.add(size=rng.choice((0, 1, 2, -1, 2**20, 2**40)))
    elif kind == 2 and dims:
        dims[rng.randrange(len(dims))].size = rng.choice(INTEGERS)
    elif kind == 3 and tensor.tensor_content:
        tensor.tensor_content = changed_bytes(rng, tensor.tensor_content)
    else:
        dtype = tensor.dtype if tensor.dtype in DTYPES[:5] else tf.int32.as_datatype_enum
        value = rng.choice((0, 1, 2, 5, -1, 2**31 - 1))
        value = bool(value % 2) if dtype == tf.bool.as_datatype_enum else value
        tensor.CopyFrom(tf.make_tensor_proto(value, tf.as_dtype(dtype)))


def change_attribute(
    rng: random.Random, value: attr_value_pb2.AttrValue, functions: Sequence[str] = ()
) -> None:
    """Changes the value, mostly to another one of its kind."""
    kind = value.WhichOneof("value")
    if rng.random() < 0.05 or kind is None:
        value.CopyFrom(attr_value_pb2.AttrValue(i=rng.choice(INTEGERS)))
    elif kind == "type":
        value.type = rng.choice(ODD_DTYPES)
    elif kind == "i":
        value.i = rng.choice((*INTEGERS, max(value.i - 1, -(2**63)), min(value.i + 1, 2**62)))
    elif kind == "b":
        value.b = not value.b
    elif kind == "f":
        value.f = rng.choice((0.0, -1.0, 1e30, float("nan")))
    elif kind == "s":
        value.s = rng.choice((b"", b"other", changed_bytes(rng, value.s)))
    elif kind == "tensor":
        change_tensor(rng, value.tensor)
    elif kind == "shape":
        value.shape.dim.add(size=rng.choice(INTEGERS))
    elif kind == "func":
        value.func.name = rng.choice((*functions, "no_such_function", ""))
    else:
        _change_list(rng, value.list)


def _change_list(rng: random.Random, values: attr_value_pb2.AttrValue.ListValue) -> None:
    filled = [field for field, _ in values.ListFields()]
    if not filled:
        values.type.append(rng.choice(DTYPES))
        return
    items = getattr(values, filled[0].name)
    kind, at = rng.randrange(4), rng.randrange(len(items))
    if kind == 0:
        del items[at]
    elif kind == 1 and filled[0].name in ("s", "i", "type"):
        items.append(items[at])
    elif filled[0].name == "type":
        items[at] = rng.choice(ODD_DTYPES)
    elif filled[0].name == "i":
        items[at] = rng.choice(INTEGERS)
    elif filled[0].name == "s":
        items[at] = changed_bytes(rng, items[at])
    elif filled[0].name == "shape":
        items[at].dim.add(size=rng.choice(INTEGERS))


class GraphMutator:
    """Changes graphs.

    Args:
      rng: What it draws from.
      pool: Nodes of other graphs, of which it takes ops and attributes.
      functions: The names of functions that exist.
    """

    def __init__(self, rng: random.Random, pool: Sequence[NodeDef], functions: Sequence[str]):
        self._rng = rng
        self._pool = pool
        self._functions = functions

    def change(self, graph: Graph) -> None:
        """Changes `graph` in one to three places."""
        kinds: list[tuple[int, Callable[[Graph], None]]] = [
            (2, self._delete),
            (2, self._duplicate),
            (1, self._shuffle),
            (3, self._rewire),
            (2, self._swap_inputs),
            (1, self._drop_input),
            (1, self._add_input),
            (4, self._change_attribute),
            (1, self._delete_attribute),
            (1, self._take_attribute),
            (1, self._change_op),
            (1, self._change_op_and_attributes),
            (3, self._change_control_flow),
            (2, self._change_argument),
            (2, self._change_constant),
            (1, self._mark),
            (1, self._rename),
            (1, self._change_dtype_everywhere),
        ]
        weights = [weight for weight, _ in kinds]
        for _ in range(self._rng.choice((1, 1, 1, 2, 3))):
            if graph.node:
                self._rng.choices(kinds, weights)[0][1](graph)

    def _node(self, graph: Graph, *ops: str) -> NodeDef:
        """A node of one of these ops, or any node if there is none."""
        nodes = [node for node in graph.node if node.op in ops] if ops else graph.node
        return self._rng.choice(list(nodes) or list(graph.node))

    def _output(self, graph: Graph) -> str:
        slot = self._rng.choice((0, 0, 0, 1, 2))
        name = self._node(graph).name
        return f"{name}:{slot}" if slot else name

    def _delete(self, graph: Graph) -> None:
        del graph.node[self._rng.randrange(len(graph.node))]

    def _duplicate(self, graph: Graph) -> None:
        node = self._node(graph)
        copy = graph.node.add()
        copy.CopyFrom(node)
        if self._rng.random() < 0.8:
            copy.name += "_copy"
            self._node(graph).input.insert(0, copy.name)

    def _shuffle(self, graph: Graph) -> None:
        nodes = list(graph.node)
        self._rng.shuffle(nodes)
        shuffled = Graph(node=nodes, versions=graph.versions)
        graph.CopyFrom(shuffled)

    def _rewire(self, graph: Graph) -> None:
        node = self._node(graph)
        if not node.input:
            return
        at = self._rng.randrange(len(node.input))
        output = self._output(graph)
        node.input[at] = f"^{output.split(':')[0]}" if self._rng.random() < 0.1 else output

    def _swap_inputs(self, graph: Graph) -> None:
        nodes = [node for node in graph.node if node.input]
        if not nodes:
            return
        one, other = self._rng.choice(nodes), self._rng.choice(nodes)
        if self._rng.random() < 0.5:
            other = one
        i, j = self._rng.randrange(len(one.input)), self._rng.randrange(len(other.input))
        one.input[i], other.input[j] = other.input[j], one.input[i]

    def _drop_input(self, graph: Graph) -> None:
        node = self._node(graph)
        if node.input:
            del node.input[self._rng.randrange(len(node.input))]

    def _add_input(self, graph: Graph) -> None:
        node = self._node(graph)
        if self._rng.random() < 0.5:
            node.input.append(f"^{self._node(graph).name}")
        else:
            node.input.insert(0, self._output(graph))

    def _attribute(self, node: NodeDef) -> str | None:
        names = sorted(node.attr)
        return self._rng.choice(names) if names else None

    def _change_attribute(self, graph: Graph) -> None:
        node = self._node(graph)
        name = self._attribute(node)
        if name is not None:
            change_attribute(self._rng, node.attr[name], self._functions)

    def _delete_attribute(self, graph: Graph) -> None:
        node = self._node(graph)
        name = self._attribute(node)
        if name is not None:
            del node.attr[name]

    def _take_attribute(self, graph: Graph) -> None:
        name = self._attribute(other := self._rng.choice(self._pool))
        if name is not None:
            self._node(graph).attr[name].CopyFrom(other.attr[name])

    def _change_op(self, graph: Graph) -> None:
        self._node(graph).op = self._rng.choice((self._rng.choice(self._pool).op, "NoSuchOp", ""))

    def _change_op_and_attributes(self, graph: Graph) -> None:
        node, other = self._node(graph), self._rng.choice(self._pool)
        node.op = other.op
        node.attr.clear()
        for name, value in other.attr.items():
            node.attr[name].CopyFrom(value)

    def _change_control_flow(self, graph: Graph) -> None:
        """Changes an Enter, or makes a node one of control flow."""
        node = self._node(graph, "Enter")
        kind = self._rng.randrange(6)
        if kind == 0:
            names = [n.attr["frame_name"].s for n in graph.node if n.op == "Enter"]
            node.attr["frame_name"].s = self._rng.choice((*names, b"", b"other"))
        elif kind == 1:
            node.attr["is_constant"].b = not node.attr["is_constant"].b
        elif kind == 2:
            node.attr["parallel_iterations"].i = self._rng.choice((1, 2, 3, 30))
        elif kind == 3:
            ops = ("Identity", "Exit", "NextIteration", "Merge", "Switch", "Enter")
            node = self._node(graph, *ops)
            node.op = self._rng.choice((*ops, "LoopCond", "NoOp"))
        elif kind == 4:
            self._node(graph, "Merge").attr["N"].i = self._rng.choice((0, 1, 2, 3))
        else:
            switch = self._node(graph, "Switch")
            if switch.input:
                switch.input[-1] = self._output(graph)

    def _change_argument(self, graph: Graph) -> None:
        node, other = self._node(graph, "_Arg"), self._node(graph, "_Arg")
        kind = self._rng.randrange(3)
        if kind == 0:
            node.attr["index"].i = self._rng.choice((*INTEGERS, other.attr["index"].i))
        elif kind == 1:
            of_node = node.attr["index"].i
            node.attr["index"].i = other.attr["index"].i
            other.attr["index"].i = of_node
        else:
            node.attr["T"].type = self._rng.choice(DTYPES)

    def _change_constant(self, graph: Graph) -> None:
        node = self._node(graph, "Const")
        if node.op == "Const":
            change_tensor(self._rng, node.attr["value"].tensor)

    def _mark(self, graph: Graph) -> None:
        node = self._node(graph, *self._rng.choice((("Enter",), ("PartitionedCall",), ())))
        if "f" in node.attr and self._rng.random() < 0.7:
            node.attr["f"].func.attr[_INSTANCE].i = self._rng.choice(INTEGERS)
        else:
            node.attr[self._rng.choice(_OWN_MARKS)].i = self._rng.choice(INTEGERS)

    def _rename(self, graph: Graph) -> None:
        self._node(graph).name = self._rng.choice(("", "a b", "other", self._node(graph).name))

    def _change_dtype_everywhere(self, graph: Graph) -> None:
        """Replaces one dtype by another, so that the nodes still fit each other."""
        of, to = (self._rng.choice(DTYPES[:5]) for _ in range(2))
        for node in graph.node:
            for value in node.attr.values():
                if value.WhichOneof("value") == "type" and value.type == of:
                    value.type = to


def changed_frame(mutator: GraphMutator, rng: random.Random, frame: bytes) -> bytes:
    """A GraphDef, serialised, with bytes or nodes changed."""
    if rng.random() < 0.15:
        return changed_bytes(rng, frame)
    graph = Graph.FromString(frame)
    mutator.change(graph)
    return graph.SerializeToString(deterministic=True)


def change_addend(rng: random.Random, numbers: MutableSequence[int], at: int) -> None:
    """Changes the addend of AddSlices whose eight numbers begin at `at`, or how many there are."""
    kind = rng.randrange(4)
    if kind == 0:
        numbers[at] = rng.randrange(-1, 8)
    elif kind == 1:
        numbers[at + rng.choice((1, 2))] = rng.choice((1, 1, 1, 2))
    elif kind == 2:
        numbers[at + rng.randrange(3, 8)] = rng.choice((0, 1, 2, 3, 7, -1, 2**31 - 1, 2**40))
    else:
        del numbers[at + rng.randrange(8) : at + 8]


def odd_tensor(rng: random.Random, like: Any, others: Sequence[Any]) -> Any:
    """A tensor instead of `like`: often of its dtype, with another shape or other values."""
    if others and rng.random() < 0.3:
        return rng.choice(others)
    shape = rng.choice(((), (0,), (1,), (2,), (3, 2), (1, 1, 1), (0, 4)))
    dtype = like.dtype if rng.random() < 0.8 else tf.as_dtype(rng.choice(DTYPES[:6]))
    if dtype.is_integer:
        values = (*(v for v in INTEGERS if dtype.min <= v <= dtype.max),)
        return tf.fill(shape, tf.constant(rng.choice(values), dtype))
    if dtype in (tf.variant, tf.resource):
        return tf.reshape(like, rng.choice(((), (1,), (1, 1)))) if like.shape.rank == 0 else like
    if dtype == tf.string:
        return tf.fill(shape, "text")
    return tf.fill(shape, tf.cast(rng.choice((0.0, 1.0, -0.5, 1e30, float("nan"))), dtype))
