"""What is known of integers while a graph is built: sums of tensors, and comparisons of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tensor_array_grad import _tf_private

# Integers are int32, as indices are, and wrap around; sums are compared as if they did not. That is
# right for sums that differ by less than 2**32, for these are equal only if they are so modulo it.
#
# - What is known of a difference without a condition is at most _FARTHEST.
# - The condition of a loop compares what has wrapped around. It is used only for a counter that has
#   not, as it cannot jump over its limit to the smallest integer. The lower of both is at least
#   -_FARTHEST - 1, so they differ by at most 2**31 + _FARTHEST, to which _LARGEST may come.
# - All iterations of a loop together move a sum by at most _MOST_MOVED, less than what is left to
#   2**32. If their number is not known, an iteration moves it by at most _LARGEST_STEP, so that
#   _MOST_MOVED takes 2**26 iterations. Any iteration may move it by 1: that takes 2**29.
_LARGEST = 1 << 8
_FARTHEST = 1 << 30
_MOST_MOVED = 1 << 29
_LARGEST_STEP = 1 << 3

LOOPS = frozenset({"While", "StatelessWhile"})
CONDITIONALS = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
FORWARDED = frozenset({"Identity", "StopGradient", "PreventGradient"})
_ARITHMETIC = frozenset({"Add", "AddV2", "Sub", "Mul", "Neg"})
_COMPARISONS = frozenset({"Less", "LessEqual", "Greater", "GreaterEqual"})


class UnknownError(Exception):
    """The analysis meets something that it does not understand, or takes too many steps."""


@dataclasses.dataclass(frozen=True)
class Sum:
    """An integer: `constant` plus tensors multiplied by integers other than 0.

    Attributes:
      constant: The part that is known.
      factors: The factor of each tensor, by `Tensor.ref()`.
    """

    constant: int
    factors: Mapping[Any, int] = dataclasses.field(default_factory=dict)

    def __add__(self, other: Sum) -> Sum:
        factors = dict(self.factors)
        for ref, factor in other.factors.items():
            factors[ref] = factors.get(ref, 0) + factor
        return Sum(self.constant + other.constant, {ref: f for ref, f in factors.items() if f})

    def __mul__(self, factor: int) -> Sum:
        factors = {ref: factor * f for ref, f in self.factors.items() if factor}
        return Sum(factor * self.constant, factors)

    def __sub__(self, other: Sum) -> Sum:
        return self + other * -1

    def is_not_0(self) -> bool:
        """Whether the sum is known and not 0."""
        return not self.factors and 0 < abs(self.constant) <= _FARTHEST

    def is_at_least(self, least: int) -> bool:
        """Whether the sum is known, and not less than `least`."""
        return not self.factors and least <= self.constant <= _FARTHEST


class Integers:
    """Follows scalar integers through arithmetic, loops and conditionals.

    Args:
      steps: How many tensors to look at before `UnknownError` is raised.

    Only for graphs of functions: the tensors of other graphs may be fed with any value.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._values: dict[Any, Sum] = {}  # by Tensor.ref()
        self._callers: dict[Any, tf.Operation] = {}  # of the graphs that were entered from outside

    def count_step(self) -> None:
        """Raises `UnknownError` if this was called too often."""
        self._steps -= 1
        if self._steps < 0:
            raise UnknownError

    # ---- sums

    def value(self, tensor: tf.Tensor) -> Sum:
        """`tensor` as a sum of tensors that are not sums themselves.

        A tensor that enters a loop or a conditional is replaced by the one outside, if it has the
        same value there.
        """
        if tensor.ref() not in self._values:
            self.count_step()
            self._values[tensor.ref()] = self._find_value(tensor)
        return self._values[tensor.ref()]

    def _find_value(self, tensor: tf.Tensor) -> Sum:
        op, itself = tensor.op, _itself(tensor)
        if tensor.dtype != tf.int32 or tensor.shape.rank not in (0, None):
            return itself
        if op.type == "Const":
            return Sum(int(tf.get_static_value(tensor)))
        if op.type == "StridedSlice":
            size = _known_size(op)
            return itself if size is None else Sum(size)
        if op.type in FORWARDED:
            return self.value(op.inputs[0])
        if op.type in _ARITHMETIC:
            return self._arithmetic(op) or itself
        if op.type in LOOPS:
            return self._variable(op, tensor.value_index) or itself
        if op.type == "Placeholder" and self._caller(tensor.graph) is not None:
            caller, number = self.outside(tensor)
            if caller.type in CONDITIONALS:
                return self.value(caller.inputs[number])
            # An input of the condition is named as that of the body.
            return self._variable(caller, number) or _itself(self.graphs(caller)[0].inputs[number])
        return itself

    def _variable(self, loop: tf.Operation, number: int) -> Sum | None:
        """The value of a variable of a loop, if it is the same in all iterations."""
        body, _ = self.graphs(loop)
        is_invariant = _behind_identities(body.outputs[number]) is body.inputs[number]
        return self.value(loop.inputs[number]) if is_invariant else None

    def replace(self, value: Sum, tensors: Any, by: Any) -> Sum:
        """`value` with each of `tensors` replaced by the one at its place in `by`."""
        if any(tensor.ref() in value.factors for tensor in tensors[len(by) :]):
            raise UnknownError  # a new input of a body, which its loop does not have yet
        new = {tensor.ref(): other for tensor, other in zip(tensors, by, strict=False)}
        result = Sum(value.constant)
        for ref, factor in value.factors.items():
            result += (self.value(new[ref]) if ref in new else Sum(0, {ref: 1})) * factor
        return result

    def moves_little(self, following: Sum, before: Sum, loop: tf.Operation) -> bool:
        """Whether the iterations of a loop move a sum so little that it does not wrap around.

        Args:
          following: The sum after an iteration.
          before: The sum before it.
          loop: The loop.

        An inner loop may move it as well: by its own proof, if the list goes through it, and
        otherwise by a number that is not known.
        """
        self.count_step()
        step = following - before
        body, _ = self.graphs(loop)
        inner = [ref.deref() for ref in step.factors if self._is_computed_in(ref.deref(), body)]
        if not inner:
            return not step.factors and abs(step.constant) <= self._largest_step(loop)
        op = inner[0].op
        sources = [op.inputs] if op.type in LOOPS else [b.outputs for b in self.graphs(op)]
        return all(
            self.moves_little(self.replace(following, op.outputs, source), before, loop)
            for source in sources
        )

    def _largest_step(self, loop: tf.Operation) -> int:
        """By how much an iteration may move a sum."""
        body, condition = self.graphs(loop)
        counts = []
        for left in self._known(condition.outputs[0], loop):  # not negative while the loop runs
            first = self.replace(left, body.inputs, loop.inputs)
            less = left - self.replace(left, body.inputs, body.outputs)  # after an iteration
            if not first.factors and less.is_at_least(1):
                counts.append(max(0, first.constant) // less.constant + 1)
        if not counts:
            return _LARGEST_STEP
        return min(_LARGEST, max(1, _MOST_MOVED // min(counts)))

    def _is_computed_in(self, tensor: tf.Tensor, body: Any) -> bool:
        """Whether `tensor` is an output of a loop or a conditional within `body`."""
        return tensor.op.type in LOOPS | CONDITIONALS and body in self.lineage(tensor.graph)

    def _arithmetic(self, op: tf.Operation) -> Sum | None:
        terms = [self.value(term) for term in op.inputs]
        if op.type == "Neg":
            return terms[0] * -1
        if op.type == "Sub":
            return terms[0] - terms[1]
        if op.type != "Mul":
            return terms[0] + terms[1]
        for factor, other in (terms, terms[::-1]):
            if not factor.factors and abs(factor.constant) <= _LARGEST:
                return other * factor.constant
        return None

    # ---- comparisons

    def is_at_most(self, value: Sum, bound: Sum) -> bool:
        """Whether value <= bound, if the conditions of the loops hold in whose bodies both are."""
        gap = bound - value
        if gap.is_at_least(0):
            return True
        graphs = {graph for ref in gap.factors for graph in self.lineage(ref.deref().graph)}
        callers = [self._caller(graph) for graph in graphs]
        return any(
            not (rest := gap - known).factors and 0 <= rest.constant <= _LARGEST
            for caller in callers
            if caller is not None and caller.type in LOOPS
            for known in self._known(self.graphs(caller)[1].outputs[0], caller)
        )

    def _known(self, predicate: tf.Tensor, loop: tf.Operation) -> Iterator[Sum]:
        """Sums that are not negative if `predicate`, the condition of a loop, is true."""
        self.count_step()
        op = predicate.op
        if op.type in FORWARDED or op.type == "LogicalAnd":
            for part in op.inputs:
                yield from self._known(part, loop)
        elif op.type in _COMPARISONS:
            left, right = (self.value(side) for side in op.inputs)
            low, high = (left, right) if op.type.startswith("Less") else (right, left)
            equal = op.type.endswith("Equal")
            if self._stops(low, high, equal, 1, loop) or self._stops(high, low, equal, -1, loop):
                yield high - low - Sum(0 if equal else 1)
        elif op.type in ("If", "StatelessIf"):
            # The condition of a loop with `break`: If(test, then=another test, else=False).
            otherwise = self.graphs(op)[1].outputs[predicate.value_index]
            value = tf.get_static_value(_behind_identities(otherwise))
            if value is not None and not value:
                yield from self._known(op.inputs[0], loop)

    def _stops(self, counter: Sum, limit: Sum, equal: bool, sign: int, loop: tf.Operation) -> bool:
        """Whether a loop counts from one known side of a limit to the other, and does not wrap.

        Args:
          counter: What is compared with `limit`.
          limit: What the counter must be less than (`sign` 1) or greater than (-1).
          equal: Whether it may also be equal to it.
          sign: 1 if the counter has to grow, -1 if it has to fall.
          loop: The loop that runs while the comparison is true.
        """
        body, _ = self.graphs(loop)
        number = next((n for n, v in enumerate(body.inputs) if counter == _itself(v)), None)
        if number is None or number >= len(loop.inputs):
            return False
        step = (self.value(body.outputs[number]) - counter) * sign
        if step.factors or not 0 < step.constant <= _LARGEST:
            return False
        first = self.value(loop.inputs[number])
        if not (first if sign > 0 else limit).is_at_least(-_FARTHEST):
            return False
        if not limit.factors:
            return abs(limit.constant) <= _FARTHEST
        # A step beyond a limit that is not known is an integer only if the step is to the limit.
        is_one_tensor = limit.constant == 0 and [*limit.factors.values()] == [1]
        return is_one_tensor and step.constant == 1 and not equal

    # ---- graphs

    def graphs(self, op: tf.Operation) -> Sequence[Any]:
        """The graphs of the branches of a conditional, or the body and the condition of a loop."""
        find = _tf_private.body_and_condition if op.type in LOOPS else _tf_private.branches
        graphs = find(op)
        if not graphs:
            raise UnknownError
        self._callers.update((graph, op) for graph in graphs)
        return graphs

    def outside(self, tensor: tf.Tensor) -> tuple[tf.Operation, int]:
        """The op that runs the graph of which `tensor` is an input, and the number of its input."""
        caller = self._caller(tensor.graph)
        if caller is None:
            raise UnknownError
        for number, placeholder in enumerate(tensor.graph.inputs, caller.type in CONDITIONALS):
            if placeholder is tensor and number < len(caller.inputs):  # the predicate is first
                return caller, number
        raise UnknownError

    def lineage(self, graph: Any) -> Iterator[Any]:
        """`graph` and the graphs around it, up to that of the function.

        Other functions do not count: a function may be called from elsewhere than where it was
        traced.
        """
        while graph is not None:
            yield graph
            caller = self._caller(graph)
            graph = None if caller is None else caller.graph

    def _caller(self, graph: Any) -> tf.Operation | None:
        """The loop or conditional that runs `graph`."""
        return self._callers.get(graph) or _tf_private.control_flow_op(graph)


def _itself(tensor: tf.Tensor) -> Sum:
    return Sum(0, {tensor.ref(): 1})


def _known_size(op: tf.Operation) -> int | None:
    """The element that a StridedSlice takes from a shape, if both are known."""
    shape, begin = (tf.get_static_value(each) for each in op.inputs[:2])
    if shape is None or begin is None or shape.ndim != 1 or op.get_attr("shrink_axis_mask") != 1:
        return None
    masks = (op.get_attr(f"{name}_mask") for name in ("begin", "ellipsis", "new_axis"))
    is_inside = not any(masks) and -len(shape) <= begin[0] < len(shape)
    return int(shape[begin[0]]) if is_inside else None


def _behind_identities(tensor: tf.Tensor) -> tf.Tensor:
    while tensor.op.type in FORWARDED:
        tensor = tensor.op.inputs[0]
    return tensor
