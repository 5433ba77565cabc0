"""Proves, while a graph is built, that a TensorListSetItem is the first write to its slot.

The proof shows that the indices of the writes only grow: at each write, all slots that were
written before have smaller indices. (Or they only fall; then every index is negated.) It follows
the list backwards from the write to the op that made it. On its way it keeps an *upper bound*, a
sum of integers and integer tensors that is greater than every index written so far:

    TensorListReserve, EmptyTensorList   nothing was written
    TensorListSetItem(l, j, ..)          j must be less than the bound; then the same for l
    a branch of a conditional            the same for the value that enters the branch
    an output of a conditional           the same for the output of each branch
    a variable of a while loop           induction: the bound holds for the value that enters the
                                         loop and, if it holds before an iteration, after it

The bound of the first step is the index of the write itself. In an induction, it is a bound *of
each iteration*: its loop variables stand for their values before the iteration, and are replaced by
their first values for the beginning of the induction and by their next values for its step. For
instance, in the body of `for i in range(1, n): l = SetItem(l, i, ..)`, the bound of `l` is `i`. On
entry it is 1. If all slots before an iteration are less than `i`, then all slots after it are less
than `i + 1`, which is the next `i`.

Inside a body, the loop's condition holds: `j < m` proves that slots `8 * i + j` of an inner loop
are less than `8 * (i + 1)`, the bound of the next iteration of the outer one, if `m` is 8.

Whatever is not understood is not proven: lists that come from elsewhere (an argument of a function,
TensorListFromTensor), indices that are read from data, steps that are not constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tensor_array_grad import _tf_private
from tensor_array_grad._integers import (
    CONDITIONALS,
    FORWARDED,
    LOOPS,
    Integers,
    Sum,
    UnknownError,
)

# The number of tensors that one proof may look at. Most proofs need 10 to 40. Without a limit, the
# proofs for many writes in one body would take quadratic time.
_STEPS = 120


def is_first_write(list_: tf.Tensor, index: tf.Tensor) -> bool:
    """Whether slot `index` of a list has certainly not been written before.

    Args:
      list_: A TensorList, the input of a TensorListSetItem.
      index: The index of that op.

    Returns:
      True if it is proven. False if it is not; also if the tensors are eager, if the write is not
      in a loop or a branch, where the zeros cost little, or if the graph is not that of a function,
      because a Session can feed any tensor.
    """
    if not (tf.is_symbolic_tensor(list_) and tf.is_symbolic_tensor(index)):
        return False
    if not _tf_private.is_within_loop_or_branch_of_function(list_.graph):
        return False
    integers = Integers(_STEPS)
    return any(_Proof(sign, integers).holds(list_, index) for sign in (1, -1))


class _Proof:
    """One attempt, with indices that grow (`sign` 1) or fall (-1)."""

    def __init__(self, sign: int, integers: Integers) -> None:
        self._sign = sign
        self._integers = integers

    def holds(self, list_: tf.Tensor, index: tf.Tensor) -> bool:
        try:
            return self._is_below(list_, self._signed(index), {}, is_slot=True)
        except (UnknownError, RecursionError):
            return False

    def _signed(self, index: tf.Tensor) -> Sum:
        return self._integers.value(index) * self._sign

    def _is_below(
        self,
        list_: tf.Tensor,
        bound: Sum,
        assumed: Mapping[Any, Sum],
        is_slot: bool = False,
    ) -> bool:
        """Whether all slots of `list_` that were written have (signed) indices less than `bound`.

        Args:
          list_: A list.
          bound: An upper bound.
          assumed: Bounds of loop variables that may be used, by Tensor.ref().
          is_slot: Whether slots may also be greater than `bound` if this iteration wrote them: the
            bound is then an index, and its slot must not be among them. A loop around the write
            drops it, as its bounds hold for all iterations.
        """
        self._integers.count_step()
        op = list_.op
        if op.type in ("TensorListReserve", "EmptyTensorList"):
            return True
        if op.type in FORWARDED or op.type == "TensorListResize":
            return self._is_below(op.inputs[0], bound, assumed, is_slot)
        if op.type == "TensorListSetItem":
            written = self._signed(op.inputs[1])
            fits = self._integers.is_at_most(written + Sum(1), bound) or (
                is_slot and (bound - written).is_not_0()
            )
            return fits and self._is_below(op.inputs[0], bound, assumed, is_slot)
        if op.type in CONDITIONALS:
            return all(
                self._is_below(
                    branch.outputs[list_.value_index],
                    self._integers.replace(bound, op.outputs, branch.outputs),
                    assumed,
                    is_slot,
                )
                for branch in self._integers.graphs(op)
            )
        if op.type in LOOPS:
            body, _ = self._integers.graphs(op)
            inside = self._integers.replace(bound, op.outputs, body.inputs)
            return self._is_below_in_loop(op, body, list_.value_index, inside, assumed)
        if list_.ref() in assumed:
            return self._integers.is_at_most(assumed[list_.ref()], bound)
        caller, number = self._integers.outside(list_)
        if caller.type in CONDITIONALS:
            return self._is_below(caller.inputs[number], bound, assumed, is_slot)
        # What was assumed of inner loops belongs to their present iterations.
        return self._is_below_in_loop(caller, list_.graph, number, bound, {})

    def _is_below_in_loop(
        self,
        loop: tf.Operation,
        body: Any,
        number: int,
        bound: Sum,
        assumed: Mapping[Any, Sum],
    ) -> bool:
        """Proves by induction that a bound holds for a variable before and after each iteration."""
        variables = {tensor.ref() for tensor in body.inputs}
        outside = set(self._integers.lineage(loop.graph))
        for ref in bound.factors:
            if ref not in variables and ref.deref().graph not in outside:
                raise UnknownError  # a value that each iteration computes
        first = self._integers.replace(bound, body.inputs, loop.inputs)
        following = self._integers.replace(bound, body.inputs, body.outputs)
        if not self._integers.moves_little(following, bound, loop):
            raise UnknownError
        assumed_inside = {**assumed, body.inputs[number].ref(): bound}
        return self._is_below(loop.inputs[number], first, assumed) and self._is_below(
            body.outputs[number], following, assumed_inside
        )
