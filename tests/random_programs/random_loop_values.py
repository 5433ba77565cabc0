"""Random expressions for the statements of `random_loops`, as Python text.

A scope maps names to types. The type of a vector of shape [2] is the name of its dtype; "int32",
"int64", "bool" and "string" are scalars. Values stay small: integers are taken modulo a small
number, vectors pass through tanh, strings are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Scope = dict[str, str]

FLOATS = ("float64", "float32", "float16", "bfloat16")
COMPLEX = ("complex128", "complex64")
VECTORS = (*FLOATS, *COMPLEX)
INTEGERS = ("int32", "int64")
SCALARS = (*INTEGERS, "bool", "string")


class Values:
    """Chooses expressions at random; `features` names the constructs that were chosen.

    Args:
      rng: The source of all choices.
      tf1: Whether the program is a graph for a Session.
      v1_loops: Whether its loops are those of control flow v1, with V3 arrays.
    """

    def __init__(self, rng: np.random.Generator, tf1: bool = False, v1_loops: bool = False) -> None:
        self.rng = rng
        self.tf1 = tf1
        self.v1_loops = v1_loops
        self.features: set[str] = set()
        self._names = 0

    def name(self, prefix: str) -> str:
        """A name that no other call returns."""
        self._names += 1
        return f"{prefix}{self._names}"

    def number(self) -> int:
        self._names += 1
        return self._names

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def weighted(self, choices: Sequence[tuple[float, Any]]) -> Any:
        weights = np.array([weight for weight, _ in choices])
        return choices[int(self.rng.choice(len(choices), p=weights / weights.sum()))][1]

    # ---- names in scope

    def names_of(self, scope: Scope, types: Sequence[str]) -> list[str]:
        return [name for name, kind in scope.items() if kind in types]

    def name_of(self, scope: Scope, kind: str) -> str:
        """A variable of that type, or the empty string."""
        names = self.names_of(scope, (kind,))
        return self.pick(names) if names else ""

    def dtype(self) -> str:
        """A dtype of vectors, float64 more often than the others."""
        return self.weighted([(6, "float64"), *((1, kind) for kind in VECTORS[1:])])

    # ---- expressions

    def value(self, scope: Scope, kind: str) -> str:
        """An expression of that type."""
        if kind in VECTORS:
            return self.vector(scope, kind)
        if kind in INTEGERS:
            return self.integer(scope, kind)
        return self.boolean(scope) if kind == "bool" else self.string(scope)

    def leaf(self, scope: Scope, dtype: str) -> str:
        """A vector of `dtype`, one name or a conversion of one."""
        name = self.name_of(scope, dtype)
        if name and self.chance(0.8):
            return name
        return self._converted(scope, dtype)

    def _converted(self, scope: Scope, dtype: str) -> str:
        names = self.names_of(scope, VECTORS)
        other = self.pick(names) if names else f"x[{self.between(0, 2)}]"
        kind = scope.get(other, "float64")
        if kind in COMPLEX and dtype not in COMPLEX:
            other, kind = f"tf.math.real({other})", ""
        return other if kind == dtype else f"tf.cast({other}, tf.{dtype})"

    def vector(self, scope: Scope, dtype: str) -> str:
        """An expression of that dtype, made of names in scope."""
        a, b = self.leaf(scope, dtype), self.leaf(scope, dtype)
        choices: list[tuple[float, Callable[[], str]]] = [
            (4, lambda: self._squashed(a, b, dtype)),
            (1, lambda: f"{a} * {self._number(scope, dtype)}"),
            (1, lambda: f"tf.where({self.boolean(scope)}, {a}, {b})"),
            (1, lambda: f"{a} * 0.5 + tf.reverse({b}, [0])"),
            (1, lambda: f"tf.reduce_sum({a}) * 0.25 - {b}"),
            (1, lambda: f"{a} + tf.cast(x[{self.integer(scope, 'int32', 3)}], tf.{dtype})"),
            (1, lambda: f"{a} - tf.cast(v[0] * 0.5, tf.{dtype})"),
            (2, lambda: self._moved(a, b, dtype)),
        ]
        if dtype in ("float64", "float32"):
            choices += [(0.5, lambda: self._times_a_matrix(a, b, dtype))]
            choices += [(0.5, lambda: self._drawn(scope, a, dtype))]
        if self.names_of(scope, ("string",)):
            choices += [(1, lambda: self._times_length(scope, a, dtype))]
        return self.weighted(choices)()

    def _squashed(self, a: str, b: str, dtype: str) -> str:
        if dtype in COMPLEX:
            return f"({a} + {b} * {b}) / tf.cast(1.0 + tf.abs({a}) + tf.abs({b}), tf.{dtype})"
        return self.pick(
            [f"tf.tanh({a} * 0.75 + {b})", f"tf.sin({a}) * {b}", f"tf.exp(-{a} * {a})"]
        )

    def _moved(self, a: str, b: str, dtype: str) -> str:
        """Two vectors that are reshaped and combined, or broadcast to each other."""
        axis = self.between(0, 1)
        real = f"tf.math.real({a})" if dtype in COMPLEX else a
        part = f"tf.split(tf.stack([{a}, {b}], 1), 2, 1)[{axis}]"
        return self.pick(
            [
                f"tf.reduce_sum({a}[:, tf.newaxis] - {b} * 0.25, {axis})",
                f"tf.concat([{a}[1:], {b}[:1]], 0)",
                f"tf.reshape(tf.stack([{a}, {b}], {axis}), [4])[1:3]",
                f"tf.squeeze({part}, 1) * 0.5",
                f"tf.tile({a}[:1], [2]) - {b}",
                f"tf.broadcast_to(tf.expand_dims({a}, 1), [2, 3])[..., {axis}] + {b}",
                f"tf.where({real} > 0.0, {a} * 0.5, {b})",
                f"tf.where({real} > 0.0, {a}, tf.zeros([], tf.{dtype}))",
            ]
        )

    def _number(self, scope: Scope, dtype: str) -> str:
        kind = self.pick(INTEGERS)
        return f"tf.cast({self.integer(scope, kind)}, tf.{dtype})"

    def _times_length(self, scope: Scope, a: str, dtype: str) -> str:
        return f"{a} * tf.cast(tf.strings.length({self.string(scope)}), tf.{dtype}) * 0.25"

    def _times_a_matrix(self, a: str, b: str, dtype: str) -> str:
        return f"tf.linalg.matvec(tf.constant([[0.5, -0.3], [0.2, 0.6]], tf.{dtype}), {a}) + {b}"

    def _drawn(self, scope: Scope, a: str, dtype: str) -> str:
        seed = f"[{self.integer(scope, 'int32')}, {self.between(1, 9)}]"
        return f"{a} + tf.random.stateless_uniform([2], {seed}, dtype=tf.{dtype})"

    def integer(self, scope: Scope, dtype: str, modulus: int = 5) -> str:
        """An integer in [0, modulus)."""
        i, j = self._integer_leaf(scope, dtype), self._integer_leaf(scope, dtype)
        how = self.between(0, 3)
        if how == 0:
            return f"({i} + {j}) % {modulus}"
        if how == 1:
            return f"({i} * 2 - {j}) % {modulus}"
        if how == 2:
            return f"tf.where({self.boolean(scope)}, {i}, {j}) % {modulus}"
        return f"{i} % {modulus}"

    def _integer_leaf(self, scope: Scope, dtype: str) -> str:
        name = self.name_of(scope, dtype)
        if name:
            return name
        names = self.names_of(scope, INTEGERS)
        if not names:
            return f"tf.constant({self.between(0, 4)}, tf.{dtype})"
        return f"tf.cast({self.pick(names)}, tf.{dtype})"

    def boolean(self, scope: Scope) -> str:
        """A bool that is known at run time only."""
        integers = self.names_of(scope, INTEGERS)
        flags = self.names_of(scope, ("bool",))
        floats = self.names_of(scope, ("float64", "float32"))
        choices = [f"(tf.reduce_sum(x) > {self.pick(['-1.0', '0.0', '1.0'])})"]
        if integers:
            choices += [f"tf.equal({self.pick(integers)} % {self.pick([2, 3])}, 0)"] * 2
        if flags:
            choices += [self.pick(flags), f"tf.logical_not({self.pick(flags)})"]
        if floats:
            choices += [f"(tf.reduce_sum({self.pick(floats)}) > 0.125)"]
        return self.pick(choices)

    def string(self, scope: Scope) -> str:
        """A string of 1 to 6 bytes."""
        s = self.name_of(scope, "string") or "tf.constant('ab')"
        integers = self.names_of(scope, INTEGERS)
        tail = f"tf.strings.as_string({self.pick(integers)})" if integers else "'c'"
        return f"tf.strings.substr(tf.strings.join([{s}, {tail}]), {self.between(0, 1)}, 6)"

    def combined(self, kind: str, a: str, b: str) -> str:
        """Combines `a` and `b` of type `kind` to one value. `b` occurs once, `a` once or twice."""
        if kind in COMPLEX:
            return f"({a} + {b}) / tf.cast(1.0 + tf.abs({a}), tf.{kind})"
        if kind in VECTORS:
            return self.pick([f"tf.tanh({a} * 0.75 + {b})", f"tf.sin({a}) * {b}"])
        if kind in INTEGERS:
            return f"({a} * 2 + {b}) % 7"
        if kind == "bool":
            return f"tf.math.logical_xor({a}, {b})"
        return f"tf.strings.substr(tf.strings.join([{a}, {b}]), 0, 6)"

    def reduced(self, kind: str, rows: str) -> str:
        """Reduces the rows of a tensor of type `kind` to one value of that type."""
        if kind in VECTORS:
            return f"tf.reduce_sum({rows}, 0)"
        if kind in INTEGERS:
            return f"tf.reduce_sum({rows}) % 7"
        if kind == "bool":
            return f"tf.reduce_any({rows})"
        return f"tf.strings.substr(tf.strings.join([tf.strings.reduce_join({rows}), 'e']), 0, 6)"
