"""The order of side effects that the edges of a traced function promise."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any


def promised_order(graph: Any) -> set[tuple[str, str]]:
    """The pairs of labels whose effects TensorFlow's edges put in order, each pair sorted.

    Iterations of a loop are in order, because the outputs of its body wait for all effects in it
    and all nodes of the next iteration wait for one of them.
    """
    definition = graph.as_graph_def()
    edges = _Edges({function.signature.name: function for function in definition.library.function})
    edges.add_graph(definition.node, "", "", {})
    return edges.promised()


class _Edges:
    """The edges between the nodes of a graph and of all functions that it calls.

    They are those that remain when TensorFlow replaces each If, While and call by the nodes of the
    functions. All of these nodes wait for the control inputs of the op, but only the readers of an
    argument wait for that argument. What waits for the op waits for the effects in it; what reads
    an output waits for that output alone.

    A name stands for the node, or for the end of an op that calls functions. "NAME>2" stands for
    an output of such an op.
    """

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self._before: dict[str, list[str]] = {"": []}
        self._labels: dict[str, str] = {}  # by node
        self._exclusive: set[tuple[str, str]] = set()  # labels in branches of one op
        # By output of a conditional, whose inputs are those of its Merge: for each branch, the
        # labels in the other branches. A Merge waits for the branch that is taken, and no other.
        self._elsewhere: dict[str, list[frozenset[str]]] = {}
        self._inside: dict[str, frozenset[str]] = {}  # by output of a loop: the labels in it

    def promised(self) -> set[tuple[str, str]]:
        """The pairs of labels that are in order."""
        behind: dict[str, frozenset[str]] = {}  # by node: the labels before it, and its own
        found = set(self._exclusive)
        open_ = list(self._before)
        while open_:
            name = open_.pop()
            if name in behind:
                continue
            missing = [other for other in self._before[name] if other not in behind]
            if missing:
                open_ += [name, *missing]
                continue
            all_behind = [behind[other] for other in self._before[name]]
            labels = frozenset().union(*all_behind)
            if name in self._elsewhere:
                pairs = zip(all_behind, self._elsewhere[name], strict=True)
                labels = frozenset.intersection(*(one | other for one, other in pairs))
            labels |= self._inside.get(name, frozenset())
            own = self._labels.get(name)
            if own is not None:
                found.update(_pair(own, other) for other in labels)
                labels |= {own}
            behind[name] = labels
        return found

    def add_graph(
        self, nodes: Any, prefix: str, start: str, arguments: Mapping[str, str]
    ) -> Callable[[str], str]:
        """Adds the nodes of a graph, or of a function that is called.

        Args:
          nodes: The NodeDefs.
          prefix: Precedes their names.
          start: What all nodes wait for.
          arguments: What stands for each argument of the function.

        Returns:
          A function that maps an input of a NodeDef to a name.
        """
        by_name = {node.name: node for node in nodes}

        def source(text: str) -> str:
            name, *rest = text.split(":")
            if name in arguments:
                return arguments[name]
            if not _called(by_name[name]):
                return prefix + name
            return f"{prefix}{name}>{rest[-1] if rest else 0}"

        for node in nodes:
            inputs = [source(text) for text in node.input if text[0] != "^"]
            waits = [start, *(prefix + text[1:] for text in node.input if text[0] == "^")]
            self._add_node(node, prefix + node.name, inputs, waits)
            sources = [by_name.get(text.split(":")[0]) for text in node.input if text[0] != "^"]
            label = _label_of(node, [other for other in sources if other is not None])
            if label:
                self._labels[prefix + node.name] = label
        return source

    def _add_node(self, node: Any, name: str, inputs: list[str], waits: list[str]) -> None:
        called = _called(node)
        if not called:
            self._before[name] = [*inputs, *waits]
        elif "body" in node.attr:
            self._add_loop(called, name, inputs, waits)
        else:
            start = f"{name}?"
            is_call = "f" in node.attr
            self._before[start] = waits if is_call else [inputs[0], *waits]
            self._add_calls(called, name, inputs if is_call else inputs[1:], start)

    def _add_loop(self, called: list[str], name: str, inputs: list[str], waits: list[str]) -> None:
        """Adds a loop.

        What waits for a variable of the loop need not wait for its first value, because a later
        iteration may not depend on that. It waits for the condition, and for all effects.
        """
        start, test = f"{name}?", f"{name}/test"
        before = len(self._labels)
        self._before[start] = waits
        results, _ = self._add_call(called[0], f"{name}/condition/", inputs, start)
        self._before[test] = [start, *results]
        constant = _unchanged(self._functions[called[1]])
        values = [read if same else test for read, same in zip(inputs, constant, strict=True)]
        self._add_call(called[1], f"{name}/body/", values, test)
        labels = frozenset(list(self._labels.values())[before:])
        for k, value in enumerate(values):
            self._before[f"{name}>{k}"] = [test, value]
            self._inside[f"{name}>{k}"] = labels
        self._before[name] = [f"{name}>{k}" for k in range(len(inputs))]

    def _add_calls(self, called: list[str], name: str, inputs: list[str], start: str) -> None:
        """Adds functions of which one is called."""
        all_results, end, seen = [], [start], []
        for k, function in enumerate(called):
            before = len(self._labels)
            results, effects = self._add_call(function, f"{name}/{k}/", inputs, start)
            all_results.append(results)
            end += effects
            seen.append(frozenset(list(self._labels.values())[before:]))
        for one, other in itertools.combinations(seen, 2):
            self._exclusive.update(_pair(a, b) for a, b in itertools.product(one, other))
        for k, results in enumerate(zip(*all_results, strict=True)):
            self._before[f"{name}>{k}"] = list(results)
            all_labels = frozenset().union(*seen)
            self._elsewhere[f"{name}>{k}"] = [all_labels - labels for labels in seen]
        self._before[name] = end

    def _add_call(
        self, called: str, prefix: str, inputs: list[str], start: str
    ) -> tuple[list[str], list[str]]:
        """Adds a function; returns what its results and the end of its effects are."""
        function = self._functions[called]
        arguments = {}
        for argument, read in zip(function.signature.input_arg, inputs, strict=True):
            arguments[argument.name] = f"{prefix}{argument.name}"
            self._before[f"{prefix}{argument.name}"] = [read, start]
        source = self.add_graph(function.node_def, prefix, start, arguments)
        results = [source(function.ret[result.name]) for result in function.signature.output_arg]
        return results, [prefix + name for name in function.control_ret.values()]


def _unchanged(body: Any) -> list[bool]:
    """For each variable of a loop, whether its body returns what it gets."""
    inputs = {node.name: node.input[0] for node in body.node_def if node.op == "Identity"}
    unchanged = []
    for argument, result in zip(body.signature.input_arg, body.signature.output_arg, strict=True):
        name = body.ret[result.name].split(":")[0]
        while name in inputs:
            name = inputs[name].split(":")[0]
        unchanged.append(name == argument.name)
    return unchanged


def _called(node: Any) -> list[str]:
    """The functions that `node` calls: one, or those for the branches, or condition and body."""
    attrs = [node.attr[key] for key in _CALLED if key in node.attr]
    return [func.name for attr in attrs for func in (attr.list.func or [attr.func])]


_CALLED = ("cond", "body", "then_branch", "else_branch", "branches", "f")


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _label_of(node: Any, inputs: list[Any]) -> str:
    """The label of a node with a side effect; empty for other nodes."""
    if node.op == "PrintV2":
        texts = [source.attr["template"].s for source in inputs if source.op == "StringFormat"]
        texts += [_text_of(source) for source in inputs if source.op == "Const"]
    elif node.op in ("EagerPyFunc", "PyFunc", "Assert"):
        texts = [_text_of(source) for source in inputs if source.op == "Const"]
    else:
        return ""
    found = [re.match(rb"[pya]\d+", text) for text in texts]
    return next((match.group().decode() for match in found if match), "")


def _text_of(constant: Any) -> bytes:
    values = constant.attr["value"].tensor.string_val
    return values[0] if len(values) else b""
