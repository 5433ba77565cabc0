"""Random groups of statements: loops over arrays and lists, calls, uses of variables, errors."""

from __future__ import annotations

from tests.random_programs.random_loop_statements import Statements
from tests.random_programs.random_loop_text import Assign, Block, Lines
from tests.random_programs.random_loop_values import COMPLEX, FLOATS, SCALARS, VECTORS, Scope

# Functions that programs may call. The text of a program contains those that it calls.
HELPERS = {
    "halved": """
def halved(a):
    return a * a.dtype.type(0.5)
""",
    "sine": """
def sine(a):
    return tf.sin(a) * 0.5
""",
    "called": """
@tf.function(autograph=False)
def called(a):
    return tf.tanh(a) - a * 0.25
""",
    "called_with_a_loop": """
@tf.function(autograph=False)
def called_with_a_loop(a, n):
    return tf.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, tf.tanh(h + a)), (0, a))[1]
""",
    # TensorFlow does not inline a function with this attribute.
    "not_inlined": """
@tf.function(autograph=False, experimental_attributes={"api_implements": "not_inlined"})
def not_inlined(a):
    return tf.sin(a) - a * 0.25
""",
    "in_a_function": """
def in_a_function(value):
    attributes = {"api_implements": f"in_a_function_{id(value)}"}
    return tf.function(value, autograph=False, experimental_attributes=attributes)()
""",
    "not_inlined_with_a_loop": """
@tf.function(autograph=False, experimental_attributes={"api_implements": "with_a_loop"})
def not_inlined_with_a_loop(a, n):
    return tf.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, tf.sin(h - a)), (0, a))[1]
""",
    "drawn": """
def drawn(a):
    return a * 0.5 + tf.random.normal([2], dtype=a.dtype, seed=11)
""",
    "drawn_in_a_function": """
@tf.function(autograph=False, experimental_attributes={"api_implements": "drawn"})
def drawn_in_a_function(a):
    return a * 0.5 + tf.random.uniform([2], dtype=a.dtype, seed=12)
""",
    "custom": """
@tf.custom_gradient
def custom(a):
    return a * a, lambda g: g * (a + 1.0)
""",
}


class Patterns(Statements):
    """Chooses from all statements. `helpers` names the functions of HELPERS that are called."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.helpers: set[str] = set()
        self.tokens: dict[str, int] = {}  # name of a token -> index of its variable in `v`
        # Stock has no gradient of tf.py_function in a loop, as all iterations share one tape.
        self.py_functions = False
        self.draws = False  # whether seeded random ops may occur
        self.error: str | None = None  # the kind of error that is to be added to the program
        self.special = [
            (1.5, self.reads),
            (1.5, self.writes),
            (1, self.recurs),
            (0.6, self.splits),
            (0.6, self.scans),
            (0.5, self.maps),
            (0.4, self.folds),
            (0.6, self.grows),
            (0.7, self.a_branch_with_a_loop),
        ]
        if not self.v1_loops:
            self.special.append((0.6, self.raw_list))

    def statement(self, scope: Scope, depth: int) -> Block:
        if self.tokens and self.chance(0.12):
            return self.uses_a_variable(scope)
        if self.chance(0.1):
            return self.calls(scope)
        if self.error and depth and self.chance(0.5):
            return self.fails(scope)
        return super().statement(scope, depth)

    # ---- arrays

    def _element(self) -> str:
        return self.pick(SCALARS) if self.chance(0.2) else self.dtype()

    def _array(self, kind: str, size: int, options: str = "") -> str:
        self.features.add(f"array_of_{kind}")
        self.features.add("array_v3" if self.v1_loops else "array_list")
        shape = "[2]" if kind in VECTORS else "[]"
        return f"tf.TensorArray(tf.{kind}, {size}, element_shape={shape}{options})"

    def _rows(self, scope: Scope, kind: str, count: int) -> str:
        rows = ", ".join(self.value(scope, kind) for _ in range(count))
        return f"tf.stack([{rows}])"

    def _into(self, scope: Scope, kind: str, value: str) -> Assign:
        """Combines `value` with an existing variable of type `kind`, or assigns it to a new one."""
        name = self.name_of({n: k for n, k in scope.items() if n not in self.counters}, kind)
        if name:
            return Assign((name,), self.combined(kind, name, value))
        name = self.name(kind[0])
        scope[name] = kind
        return Assign((name,), value, new=True)

    def reads(self, scope: Scope, depth: int) -> Block:
        """An array is filled, and each iteration reads from it."""
        kind, n, array = self._element(), self.between(1, 4), self.name("a")
        clear = self.chance(0.3)
        self.features |= {"array_read", "array_clear_after_read" if clear else "array_kept"}
        made = self._array(kind, n, f", clear_after_read={clear}")
        rows = self._rows(scope, kind, n)
        if self.chance(0.3):
            self.features.add("array_scatter")
            order = [int(k) for k in self.rng.permutation(n)]
            filled = f"{made}.scatter({order}, {rows})"
        else:
            self.features.add("array_unstack")
            filled = f"{made}.unstack({rows})"
        twice = not clear and self.chance(0.4)

        def first(i: str, inner: Scope) -> Block:
            block: Block = []
            for index in [i, *([f"{n - 1} - {i}"] if twice else [])]:
                name = self.name("r")
                cast = index if inner[i] == "int32" else f"tf.cast({index}, tf.int32)"
                block.append(Assign((name,), f"{array}.read({cast})", new=True))
                inner[name] = kind
                if kind in scope.values():
                    block.append(self._into_outer(scope, inner, kind, name))
            return block

        loop = self.make_loop(scope, depth, first, trips=n)
        after: Block = []
        # With V3 arrays and a third reader, the order of the gradient's sum would depend on timing.
        if not clear and not (self.v1_loops and twice):
            self.features.add("array_stack")
            after = [self._into(scope, kind, self.reduced(kind, f"{array}.stack()"))]
        return [Assign((array,), filled, new=True), *loop, *after]

    def _into_outer(self, outer: Scope, inner: Scope, kind: str, value: str) -> Assign:
        names = [n for n in self.names_of(outer, (kind,)) if n not in self.counters]
        if not names:
            name = self.name(kind[0])
            inner[name] = kind
            return Assign((name,), value, new=True)
        name = self.pick(names)
        return Assign((name,), self.combined(kind, name, value))

    def writes(self, scope: Scope, depth: int) -> Block:
        """Each iteration writes to an array, which is read as a whole afterwards."""
        kind, n, array = self._element(), self.between(0, 4), self.name("a")
        dynamic = n == 0 or self.chance(0.3)
        self.features |= {"array_write", "array_dynamic" if dynamic else "array_fixed"}
        trips = n if n and not dynamic else self.between(1, 4)
        in_branch = not self.v1_loops and self.chance(0.3)

        def first(i: str, inner: Scope) -> Block:
            index = i if inner[i] == "int32" else f"tf.cast({i}, tf.int32)"
            value = self.value(inner, kind)
            write = Assign((array,), f"{array}.write({index}, {value})")
            if not in_branch:
                return [write]
            self.features.add("array_write_in_branch")
            other = Assign((array,), f"{array}.write({index}, {self.value(inner, kind)})")
            branch = self.branch_on(self.boolean(inner), dict(inner), 1, [write])
            branch.blocks[1] = [other]
            return [branch]

        made = self._array(kind, n, f", dynamic_size={dynamic}")
        loop = self.make_loop(scope, depth, first, trips=trips)
        return [Assign((array,), made, new=True), *loop, self._whole(scope, kind, array, trips)]

    def _whole(self, scope: Scope, kind: str, array: str, size: int) -> Assign:
        how = self.between(0, 2)
        if how == 0 and kind in VECTORS:
            self.features.add("array_concat")
            rows = f"tf.reshape({array}.concat(), [-1, 2])"
        elif how == 1:
            # A loop that ends early leaves a dynamic array shorter. Only row 0 is sure to exist.
            self.features.add("array_gather")
            rows = f"{array}.gather([0])"
        else:
            self.features.add("array_stack")
            rows = f"{array}.stack()"
        return self._into(scope, kind, self.reduced(kind, rows))

    def recurs(self, scope: Scope, depth: int) -> Block:
        """Each iteration writes an element that it computes from the two before it."""
        kind, n, array = self.dtype(), self.between(2, 4), self.name("a")
        self.features |= {"array_recurrence", "array_read", "array_write"}
        made = self._array(kind, n, ", clear_after_read=False")
        for k in range(2):
            made += f".write({k}, {self.value(scope, kind)})"
        at = self.name("k")

        def first(i: str, inner: Scope) -> Block:
            index = f"{i} + 2" if inner[i] == "int32" else f"tf.cast({i} + 2, tf.int32)"
            two = [self.name("r"), self.name("r")]
            value = self.combined(kind, *two)
            return [
                Assign((at,), index, new=True),
                Assign((two[0],), f"{array}.read({at} - 2)", new=True),
                Assign((two[1],), f"{array}.read({at} - 1)", new=True),
                Assign((array,), f"{array}.write({at}, {value})"),
            ]

        loop = self.make_loop(scope, depth, first, trips=n - 2)
        rows = f"{array}.gather([{n - 1}])" if self.v1_loops else f"{array}.stack()"
        after = self._into(scope, kind, self.reduced(kind, rows))
        return [Assign((array,), made, new=True), *loop, after]

    def splits(self, scope: Scope, depth: int) -> Block:
        """An array of elements of different lengths, of which each iteration reads one."""
        kind, array = self.dtype(), self.name("a")
        lengths = self.pick([[1, 1], [2, 0, 2], [1, 3], [4]])
        total, n = sum(lengths), len(lengths)
        self.features |= {"array_split", f"array_of_{kind}"}
        values = f"tf.tile({self.value(scope, kind)}, [2])[:{total}]"
        made = f"tf.TensorArray(tf.{kind}, {n}, infer_shape=False).split({values}, {lengths})"

        def first(i: str, inner: Scope) -> Block:
            index = i if inner[i] == "int32" else f"tf.cast({i}, tf.int32)"
            name = self.name("r")
            inner[name] = kind
            read = f"tf.reduce_sum({array}.read({index})) * tf.ones([2], tf.{kind})"
            block: Block = [Assign((name,), read, new=True)]
            if kind in scope.values():
                block.append(self._into_outer(scope, inner, kind, name))
            return block

        return [
            Assign((array,), made, new=True),
            *self.make_loop(scope, depth, first, trips=n),
        ]

    def raw_list(self, scope: Scope, depth: int) -> Block:
        """A TensorList that each iteration pushes to, and one pop after the loop."""
        kind, name, trips = self.dtype(), self.name("l"), self.between(1, 4)
        self.features.add("raw_list")
        empty = (
            "tf.raw_ops.EmptyTensorList(element_shape=tf.constant([2]), max_num_elements=-1, "
            f"element_dtype=tf.{kind})"
        )

        def push(row: str) -> str:
            return f"tf.raw_ops.TensorListPushBack(input_handle={name}, tensor={row})"

        pop = (
            f"tf.raw_ops.TensorListPopBack(input_handle={name}, element_shape=tf.constant([2]), "
            f"element_dtype=tf.{kind})"
        )
        loop = self.make_loop(
            scope,
            depth,
            lambda i, inner: [Assign((name,), push(self.value(inner, kind)))],
            trips=trips,
        )
        # One push before the loop, so that the pop succeeds even if the loop ends early.
        return [
            Assign((name,), empty, new=True),
            Assign((name,), push(self.value(scope, kind))),
            *loop,
            Assign((name, f"{name}_last"), pop, new=True),
            self._into(scope, kind, f"{name}_last"),
        ]

    def grows(self, scope: Scope, depth: int) -> Block:
        """A vector that is longer after each iteration, up to seven elements."""
        name, kind = self.name("g"), self.pick(("float64", "float32"))
        self.features.add("shape_changes")
        known = self.chance(0.5)

        def first(i: str, inner: Scope) -> Block:
            part = f"tf.reduce_mean({name}) + ({self.vector(inner, kind)})[:1]"
            return [Assign((name,), f"tf.concat([{name}[-6:], {part}], 0)")]

        start = f"({self.vector(scope, kind)})[:1]"
        if not known:
            start = f"tf.boolean_mask({start}, tf.abs({start}) < 1e6)"
        shapes = {name: "[None]"}
        loop = self.make_loop(scope, depth, first, arrays=False, shapes=shapes)
        after = self._into(scope, kind, f"tf.reduce_sum({name}) * tf.ones([2], tf.{kind})")
        return [Assign((name,), start, new=True), *loop, after]

    # ---- TensorFlow's loop functions

    def scans(self, scope: Scope, depth: int) -> Block:
        self.loops_left -= 1
        self.features.add("scan")
        kind = self.dtype()
        inner = {**scope, "acc": kind, "row": kind}
        rows, start = self._rows(scope, kind, self.between(1, 3)), self.leaf(scope, kind)
        reverse = ", reverse=True" if self.chance(0.3) else ""
        step = self.combined(kind, "acc", f"({self.vector(inner, kind)} + row)")
        call = f"tf.scan(lambda acc, row: {step}, {rows}, initializer={start}{reverse})"
        return [self._into(scope, kind, self.reduced(kind, call))]

    def maps(self, scope: Scope, depth: int) -> Block:
        self.loops_left -= 1
        self.features.add("map_fn")
        kind = self.dtype()
        inner = {**scope, "row": kind}
        rows = self._rows(scope, kind, self.between(1, 3))
        step = self.combined(kind, "row", self.leaf(inner, kind))
        return [
            self._into(scope, kind, self.reduced(kind, f"tf.map_fn(lambda row: {step}, {rows})"))
        ]

    def folds(self, scope: Scope, depth: int) -> Block:
        self.loops_left -= 1
        function = self.pick(["foldl", "foldr"])
        self.features.add(function)
        kind = self.dtype()
        inner = {**scope, "acc": kind, "row": kind}
        rows, start = self._rows(scope, kind, self.between(1, 3)), self.leaf(scope, kind)
        step = self.combined(kind, "acc", f"({self.leaf(inner, kind)} - row)")
        call = f"tf.{function}(lambda acc, row: {step}, {rows}, initializer={start})"
        return [self._into(scope, kind, call)]

    # ---- calls and side effects

    def calls(self, scope: Scope) -> Block:
        """A call of a Python function, a tf.function or a custom gradient, or an assertion."""
        kinds = (
            "numpy_function",
            "py_function",
            "called",
            "called_with_a_loop",
            "not_inlined",
            "not_inlined_with_a_loop",
            "drawn",
            "drawn_in_a_function",
            "custom",
            "assert",
        )
        draws = 2.0 * self.draws
        weights = (0.5, 2 * self.py_functions, 0.7, 0.5, 1, 0.7, draws, draws, 1, 1)
        how = self.weighted(list(zip(weights, kinds, strict=True)))
        if self.v1_loops and how.startswith(("called", "not_inlined", "drawn")):
            how = "custom"
        types = FLOATS[:3] if how != "called" else (*FLOATS[:2], *COMPLEX)
        if how in self.features and how == "drawn_in_a_function":
            how = "drawn"  # calls share a generator, and no edge says which of them draws first
        if how.startswith("drawn"):
            types = FLOATS[:2]
        name = self.pick(self.names_of(scope, types))
        if how in HELPERS:
            self.helpers.add(how)
        if how == "assert":
            self.features.add(how)
            return [_guarded(name, f"tf.debugging.assert_less(tf.size({name}), 100)")]
        self.features.add({"custom": "custom_gradient"}.get(how, how))
        if how == "numpy_function":
            self.helpers.add("halved")
            call = f"tf.ensure_shape(tf.numpy_function(halved, [{name}], {name}.dtype), [2])"
        elif how == "py_function":
            self.helpers.add("sine")
            call = f"tf.ensure_shape(tf.py_function(sine, [{name}], {name}.dtype), [2])"
        elif how.endswith("_with_a_loop"):
            call = f"{how}({name}, {self.integer(scope, 'int32', 4)})"
        else:
            call = f"{how}({name})"
        return [Assign((name,), call)]

    def uses_a_variable(self, scope: Scope) -> Block:
        """Assigns to, or reads, a tf.Variable. A token orders its uses by control dependencies."""
        token, now = self.pick(list(self.tokens)), self.name("now")
        variable = f"v[{self.tokens[token]}]"
        self.features.add("variable")
        value = f"tf.reduce_sum({self.vector(scope, 'float64')})"
        how = self.between(0, 3)
        if how == 0:
            self.features.add("variable_read")
            name = self.pick(self.names_of(scope, ("float64",)))
            return [
                Lines(
                    (name, token),
                    [
                        f"with tf.control_dependencies([{token}]):",
                        f"    {now} = {variable}.read_value()",
                        f"with tf.control_dependencies([{now}]):",
                        f"    {token} = {token} + 1",
                        f"{name} = tf.tanh({name} + {now})",
                    ],
                )
            ]
        call = [f"assign({variable} * 0.5 + {value})", f"assign_add({value})", "assign_add(1.0)"]
        self.features.add("variable_assigned")
        update = f"{variable}.{call[how - 1]}"
        return [
            Lines(
                (token,),
                [
                    f"with tf.control_dependencies([{token}]):",
                    f"    {now} = {update}",
                    f"with tf.control_dependencies([{now}]):",
                    f"    {token} = {token} + 1",
                ],
            )
        ]

    def fails(self, scope: Scope) -> Block:
        """Raises an error in the first iteration in which a certain integer has a certain value."""
        kind, self.error = self.error, None
        self.features |= {"error", f"error_{kind}"}
        at = self.pick(self.names_of(scope, ("int32",)))
        value = self.between(0, 2)
        name = self.pick(self.names_of(scope, ("float64",)))
        if kind == "assert":
            return [_guarded(name, f"tf.debugging.assert_none_equal({at}, {value})")]
        index = f"tf.where(tf.equal({at}, {value}), 9, 0)"
        if kind == "division":
            number = f"12 // ({at} - {value})"
        elif kind == "range":
            number = f"tf.gather([1, 2], {index})"
        else:
            number = f"tf.reshape([1], [1 + {index}])[0]"
        return [Assign((name,), f"{name} + tf.cast({number}, tf.float64)")]


def _guarded(name: str, op: str) -> Lines:
    text = [f"with tf.control_dependencies([{op}]):", f"    {name} = tf.identity({name})"]
    return Lines((name,), text)
