"""Cases for `mutated_attributes`: nodes of own ops with attributes and inputs that are changed."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import pickle
import random
import resource
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import function_pb2, graph_pb2, node_def_pb2
from tensorflow.python.eager import context

from tests.loops import mutations, own_nodes
from tests.loops.own_nodes import PREFIX, RUN_LOOP

_MOST_BYTES = 4 << 30  # that a case may allocate
_FIXED = ("ListAccumulate", "ListAccumulateLike", "PopLoopStack", "LastRowOfZeros")


@dataclasses.dataclass
class Case:
    """A changed node and its inputs."""

    program: str
    node: node_def_pb2.NodeDef
    inputs: list[Any]

    def outputs(self) -> int:
        types = len(self.node.attr["T"].list.type)
        counts = {"RunLoop": types, "PopLoopStack": 1 + types, "LastRowOfZeros": 2}
        return counts.get(self.node.op.removeprefix(PREFIX), 1)


class Cases:
    """The cases that are made of the nodes in the file `path`, for one worker process."""

    def __init__(self, path: str):
        self.collection: own_nodes.Collection = pickle.loads(pathlib.Path(path).read_bytes())
        self.by_op: dict[str, list[own_nodes.OwnNode]] = {}
        for node in self.collection.nodes:
            self.by_op.setdefault(node.op, []).append(node)
        self.pool = [
            inner
            for node in self.by_op.get(RUN_LOOP, ())
            for inner in graph_pb2.GraphDef.FromString(node.node().attr["frame"].s).node
        ]
        self.functions = own_nodes.functions_of(self.collection)
        self.library = function_pb2.FunctionDefLibrary(function=self.functions)
        for function in self.functions:
            context.context().add_function_def(function)
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + _MOST_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))

    def case(self, seed: int) -> Case:
        """The case of that number."""
        rng = random.Random(seed)
        ops = sorted(self.by_op)
        op = RUN_LOOP if rng.random() < 0.7 else rng.choice(ops)
        chosen = rng.choice(self.by_op[op])
        case = Case(chosen.program, chosen.node(), [own_nodes.parsed(v) for v in chosen.inputs])
        names = [function.signature.name for function in self.functions]
        mutator = mutations.GraphMutator(rng, self.pool, names)
        if op == RUN_LOOP:
            self._change_loop(case, mutator, rng)
        else:
            self._change(case, rng)
        return case

    def _change_loop(self, case: Case, mutator: mutations.GraphMutator, rng: random.Random) -> None:
        attributes = case.node.attr
        kind = rng.random()
        if kind < 0.75:
            frame = mutations.changed_frame(mutator, rng, attributes["frame"].s)
            attributes["frame"].s = frame
        if 0.65 < kind < 0.85:
            self._change_inputs(case, rng)
        variables = len(attributes["T"].list.type)
        if kind > 0.95:
            variables = rng.randrange(len(case.inputs) + 1)
        types = [value.dtype.as_datatype_enum for value in case.inputs]
        for name, part in (("T", types[:variables]), ("U", types[variables:])):
            attributes[name].list.type[:] = part
        types = attributes[rng.choice(("T", "U"))].list.type
        if 0.85 < kind < 0.87 and types:
            types[rng.randrange(len(types))] = rng.choice(mutations.DTYPES)

    def _change(self, case: Case, rng: random.Random) -> None:
        attributes = case.node.attr
        kind = rng.random()
        if "addends" in attributes and kind < 0.5:
            numbers = attributes["addends"].list.i
            if rng.random() < 0.2:
                mutations.change_attribute(rng, attributes["addends"])
            else:
                mutations.change_addend(rng, numbers, rng.randrange(0, len(numbers), 8))
        elif kind < 0.7 and attributes:
            mutations.change_attribute(rng, attributes[rng.choice(sorted(attributes))])
        if kind > 0.6:
            self._change_inputs(case, rng)
        _fit_types(case)

    def _change_inputs(self, case: Case, rng: random.Random) -> None:
        """Changes the values or the order of the inputs, or their number if the op allows it.

        TensorFlow's eager runtime may end the process if an op has more inputs than its definition:
        a TensorListSetItem with a fourth input does so on stock.
        """
        inputs, kind = case.inputs, rng.randrange(8)
        others = rng.choice(self.by_op[rng.choice(sorted(self.by_op))]).inputs
        other = own_nodes.parsed(rng.choice(others)) if others else tf.constant(0)
        counted = case.node.op.removeprefix(PREFIX) not in _FIXED
        if counted and (kind == 0 or not inputs):
            inputs.insert(rng.randrange(len(inputs) + 1), other)
        elif counted and kind == 1:
            del inputs[rng.randrange(len(inputs))]
        elif kind == 2:
            rng.shuffle(inputs)
        else:
            at = rng.randrange(len(inputs))
            inputs[at] = mutations.odd_tensor(rng, inputs[at], [other, *inputs])


def _fit_types(case: Case) -> None:
    """Makes the dtypes in the attributes those of the inputs, where an op has as many."""
    attributes, inputs = case.node.attr, case.inputs
    types = [value.dtype.as_datatype_enum for value in inputs]
    op = case.node.op.removeprefix(PREFIX)
    if op in ("AddSlices", "SliceGradients"):
        first = 1 if op == "AddSlices" else 0
        attributes["Targs"].list.type[:] = types[first:]
        if first and types:
            attributes["T"].type = types[0]
    elif op == "PushLoopStack":
        attributes["T"].list.type[:] = types[1:]
    elif op == "NewLoopStack":
        attributes["k"].i = len(inputs)
    elif op == "LastRowOfZeros" and len(types) == 2:
        attributes["T"].type, attributes["Tindex"].type = types
    elif op.startswith("ListAccumulate") and len(types) > 2:
        attributes["element_dtype"].type = types[2]
        if op == "ListAccumulate" and len(types) > 3:
            attributes["shape_type"].type = types[3]


@functools.cache
def cases(path: str) -> Cases:
    """The cases of that file. This process may then allocate only a few GiB more."""
    return Cases(path)
