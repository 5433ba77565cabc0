"""Random statements of loop programs: assignments, branches and loops of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.random_programs.random_loop_text import Assign, Block, Branch, Lines, Loop, assigned
from tests.random_programs.random_loop_values import INTEGERS, SCALARS, VECTORS, Scope, Values

MOST_LOOPS = 4
MOST_STATEMENTS = 9
DEEPEST = 3
# The maximum number of iterations of a loop, by its depth.
_MOST_TRIPS = (6, 4, 3)

# Makes the first statements of a body from the name of the counter and the scope of the body.
First = Callable[[str, Scope], Block]


class Statements(Values):
    """Chooses the statements of one program at random.

    Args:
      rng: The source of all choices.
      style: "autograph" or "while_loop".
      tf1: As for Values.
      v1_loops: As for Values.
      loops: The maximum number of loops in the program.
      statements: The approximate maximum number of statements in it.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        style: str,
        tf1: bool = False,
        v1_loops: bool = False,
        loops: int = MOST_LOOPS,
        statements: int = MOST_STATEMENTS,
    ) -> None:
        super().__init__(rng, tf1, v1_loops)
        self.style = style
        self.loops_left = loops
        self.statements_left = statements
        self.counters: set[str] = set()  # names that only their loop may assign
        # Whether tf.switch_case may occur. Stock has no second derivative of it, nor a first one in
        # a loop of TF1.
        self.switches = True
        self.special: list[tuple[float, Callable[[Scope, int], Block]]] = []

    # ---- blocks

    def block(self, scope: Scope, depth: int, count: int) -> Block:
        """Makes `count` statements, or fewer if the program may not have as many.

        Args:
          scope: The names in scope; those that the statements define are added.
          depth: The number of loops around the block.
          count: The number of statements.
        """
        statements: Block = []
        for _ in range(count):
            if self.statements_left > 0:
                self.statements_left -= 1
                statements += self.statement(scope, depth)
        return statements

    def statement(self, scope: Scope, depth: int) -> Block:
        loop_weight = 3.0 if self.loops_left > 0 and depth < DEEPEST else 0.0
        choices: list[tuple[float, Callable[[Scope, int], Block]]] = [
            (5, self.assignment),
            (1, self.swapped),
            (1.5, self.branch),
            (0.7, self.switch),
            (loop_weight, self.loop),
            *((w if depth < DEEPEST and self.loops_left > 0 else 0.0, s) for w, s in self.special),
        ]
        return self.weighted(choices)(scope, depth)

    def assignment(self, scope: Scope, depth: int) -> Block:
        """A new value for an existing name, or a new name."""
        name = self.pick(list(scope))
        new = self.chance(0.3) or name in self.counters
        kind = scope[name]
        value = self.value(scope, kind)
        if new:
            name = self.name(kind[0])
            scope[name] = kind
        return [Assign((name,), value, new)]

    def assign_a_vector(self, scope: Scope) -> Assign:
        name = self.pick(self.names_of(scope, VECTORS))
        return Assign((name,), self.vector(scope, scope[name]))

    def swapped(self, scope: Scope, depth: int) -> Block:
        """Swaps the values of two names of one type, or rotates those of three."""
        kinds = [kind for kind in VECTORS if len(self.names_of(scope, (kind,))) > 1]
        if not kinds:
            return self.assignment(scope, depth)
        names = self.names_of(scope, (self.pick(kinds),))
        names = [str(name) for name in self.rng.permutation(names)][:3]
        self.features.add("rotated" if len(names) == 3 else "swapped")
        return [Assign(tuple(names), ", ".join([*names[1:], names[0]]))]

    # ---- branches

    def branch(self, scope: Scope, depth: int) -> Block:
        return [self.branch_on(self.boolean(scope), scope, depth)]

    def branch_on(self, test: str, scope: Scope, depth: int, yes: Block | None = None) -> Branch:
        """A `tf.cond` on `test`. Its first block is `yes` if given; other blocks are random."""
        self.features.add("cond_in_loop" if depth else "cond")
        blocks = []
        for given in (yes, None):
            block = given
            if block is None:
                block = self._short_block(scope, depth)
            blocks.append(block)
        return Branch(test, blocks, self.number())

    def _short_block(self, scope: Scope, depth: int) -> Block:
        inner = dict(scope)
        first = [self.assign_a_vector(inner)] if self.chance(0.8) else []
        block = [*first, *self.block(inner, depth, self.between(0, 1))]
        if any(isinstance(statement, Branch) for statement in block):
            self.features.add("branch_in_branch")
        # Each block assigns to a name from outside of it, so that the branch has a result.
        return [*block, self.assign_a_vector(scope)]

    def switch(self, scope: Scope, depth: int) -> Block:
        if not self.switches or (self.v1_loops and depth):
            return self.branch(scope, depth)
        if self.style == "while_loop":
            self.features.add("switch_in_loop" if depth else "switch_case")
        count = self.between(2, 3)
        blocks = [self._short_block(scope, depth) for _ in range(count)]
        # An index that is out of range selects the last branch.
        index = self.integer(scope, "int32", count + 1)
        return [Branch(f"tf.convert_to_tensor({index})", blocks, self.number(), switch=True)]

    def a_branch_with_a_loop(self, scope: Scope, depth: int) -> Block:
        """A loop in a branch that is always taken, or never."""
        taken = self.chance(0.5)
        self.features.add("loop_in_taken_branch" if taken else "loop_in_untaken_branch")
        test = f"(tf.reduce_sum(x * x) {'>' if taken else '<'} 0.0)"
        inner = dict(scope)
        yes = [*self.loop(inner, depth), self.assign_a_vector(scope)]
        return [self.branch_on(test, scope, depth, yes)]

    # ---- loops

    def loop(self, scope: Scope, depth: int) -> Block:
        """A loop with random statements and a random number of iterations."""
        return self.make_loop(scope, depth)

    def make_loop(
        self,
        scope: Scope,
        depth: int,
        first: First = lambda counter, scope: [],
        trips: int | None = None,
        arrays: bool = True,
        shapes: dict[str, str] | None = None,
    ) -> Block:
        """A loop.

        Args:
          scope: The names in scope before the loop.
          depth: The number of loops around it.
          first: Makes the first statements of the body.
          trips: The counter runs from 0 up to this number; None for a random counter.
          arrays: Whether the body may contain loops, and the statements of `special`.
          shapes: Shapes for shape_invariants of names that are not in `scope`.
        """
        self.loops_left -= 1
        if depth:
            self.features.add(f"depth_{depth + 1}")
        dtype = "int64" if self.chance(0.15) else "int32"
        counter, inner = self.name("i"), dict(scope)
        inner[counter] = dtype
        self.counters.add(counter)
        start, test, step, span = self._counted(scope, depth, counter, dtype, trips)
        body = first(counter, inner)
        body += self.block(inner, depth + 1 if arrays else DEEPEST, self.between(0, 2))
        body += [self.assign_a_vector(scope)]
        loop = Loop(counter, start, test, step, body, self.number())
        if self.style == "autograph" and self.chance(0.6):
            loop.range = span
        self.features.add("for_range" if loop.range else self.style)
        early = trips is None or not self.tf1
        extra = self._ended_early(loop, inner, scope, trips) if early else []
        self._take_options(loop, scope)
        if shapes is not None:
            self.features.add("shape_invariants")
            loop.shapes = {name: "[2]" if k in VECTORS else "[]" for name, k in scope.items()}
            loop.shapes.update(shapes)
        return [*extra, loop]

    def _counted(
        self, scope: Scope, depth: int, counter: str, dtype: str, trips: int | None
    ) -> tuple[str, str, str, str]:
        """The counter's first value, the condition, the step and the arguments of tf.range."""

        def constant(value: object) -> str:
            return f"tf.constant({value}, tf.{dtype})"

        if trips is not None:
            return constant(0), f"{counter} < {trips}", "1", f"{constant(0)}, {trips}"
        limit = self._limit(scope, depth, dtype)
        down = self.chance(0.25)
        by = 2 if self.chance(0.25) else 1
        if by == 2:
            self.features.add("step_of_two")
        if down:
            self.features.add("counts_down")
            step = f"(-{by})"
            return limit, f"{counter} > 0", step, f"{limit}, 0, -{by}"
        first = self.pick([0, 0, 0, 1, 2])
        test = f"{counter} < {limit}"
        return constant(first), test, str(by), f"{constant(first)}, {limit}, {by}"

    def _limit(self, scope: Scope, depth: int, dtype: str) -> str:
        most = _MOST_TRIPS[depth]
        names = self.names_of(scope, INTEGERS)
        how = self.between(0, 3)
        if how <= 1 or not names:
            count = 0 if self.chance(0.15) else self.between(1, most)
            if count == 0:
                self.features.add("zero_iterations")
            return f"tf.constant({count}, tf.{dtype})"
        if depth:
            self.features.add("inner_count_varies")
        name = self.pick(names)
        value = name if scope[name] == dtype else f"tf.cast({name}, tf.{dtype})"
        return f"{value} % {most + 1}"

    def _ended_early(self, loop: Loop, inner: Scope, scope: Scope, trips: int | None) -> Block:
        """Sometimes lets `loop` end before its counter reaches its limit.

        Returns:
          The statements that must precede the loop.
        """
        how = self.between(0, 9)
        floats = self.names_of(scope, ("float64", "float32"))
        if how == 0 and floats:
            self.features.add("ends_by_data")
            loop.range = None
            loop.test = f"({loop.test}) & (tf.reduce_sum({self.pick(floats)}) < 0.75)"
            loop.passed = (*loop.passed, *floats)
        elif how == 1:
            self.features.add("early_exit")
            if self.style == "autograph":
                word = self.pick(["break", "break", "continue"]) if loop.range else "break"
                place = 0 if word == "continue" else self.between(0, len(loop.body))
                test = self.boolean({**scope, loop.counter: inner[loop.counter]})
                loop.body.insert(place, Lines((), [f"if {test}:", f"    {word}"]))
                return []
            done = self.name("done")
            loop.test = f"({loop.test}) & ~{done}"
            loop.body.append(Assign((done,), f"{done} | {self.boolean(inner)}"))
            return [Assign((done,), "tf.constant(False)", new=True)]
        elif how == 2 and self.style == "while_loop":
            self.features.add("only_maximum_iterations")
            loop.test = f"tf.less({loop.counter}, 100)"
            # An array has room for `trips` elements, and its readers need at least one.
            count = self.between(0, 3) if trips is None else self.between(1, max(trips, 1))
            loop.options["maximum_iterations"] = str(count if trips != 0 else 0)
        return []

    def _take_options(self, loop: Loop, scope: Scope) -> None:
        if self.chance(0.5):
            parallel = self.pick([1, 2, 10])
            self.features.add(f"parallel_iterations_{parallel}")
            loop.options["parallel_iterations"] = str(parallel)
        if "maximum_iterations" not in loop.options and self.chance(0.15):
            self.features.add("maximum_iterations")
            limit = self.pick([str(self.between(1, 5)), "tf.shape(x)[0]"])
            loop.options["maximum_iterations"] = limit
        if self.style == "while_loop" and self.chance(0.4):
            names = [str(name) for name in self.rng.permutation(list(scope))][:2]
            loop.passed = (*loop.passed, *names)
            self.features.add("invariant")
            self._return_a_capture(loop, scope, names[0])

    def _return_a_capture(self, loop: Loop, scope: Scope, name: str) -> None:
        """Sometimes makes a captured value the next value of the loop variable `name`."""
        others = [n for n in self.names_of(scope, (scope[name],)) if n != name]
        if not others or name in self.counters or not self.chance(0.5):
            return
        other = self.pick(others)
        if other not in [*loop.passed, *assigned(loop.body)]:
            self.features.add("captured_returned")
            loop.body.append(Assign((name,), other))

    # ---- the start and the end of a program

    def beginning(self, scope: Scope) -> Block:
        """Makes a few variables of random types, and adds them to `scope`."""
        block: Block = []

        def add(kind: str, value: str) -> None:
            name = self.name(kind[0])
            block.append(Assign((name,), value, new=True))
            scope[name] = kind
            self.features.add(f"dtype_{kind}")

        for row in range(3):
            kind = "float64" if row == 0 else self.dtype()
            add(kind, f"tf.cast(x[{row}], tf.{kind})" if kind != "float64" else f"x[{row}]")
        add("int32", f"tf.cast(tf.reduce_sum(x * 0.0), tf.int32) + {self.between(0, 5)}")
        for kind in SCALARS[1:]:
            if self.chance(0.35):
                add(kind, _STARTS[kind])
        return block


_STARTS: dict[str, Any] = {
    "int64": "tf.constant(3, tf.int64)",
    "bool": "tf.reduce_sum(x) > 0.0",
    "string": "tf.constant('ab')",
}
