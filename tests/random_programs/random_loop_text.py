"""The text of a random loop program: statements, and two ways to print them as Python.

Statements assign to names, as in an imperative program. `autograph` prints them as they are, with
`for`, `while` and `if`. `functional` prints them with tf.while_loop, tf.cond and tf.switch_case:

    while i < 3:                     def body_1(i, h):
        h = h * 0.5           ->         h = h * 0.5
        i = i + 1                        return (i + 1, h)
                                     i, h = tf.while_loop(test_1, body_1, (0, h))

The loop variables are the names that the body assigns and that exist before the loop.
"""

from __future__ import annotations

import dataclasses
import random

_INDENT = "    "


@dataclasses.dataclass
class Assign:
    """`names = value`; `new` if the names do not exist before."""

    names: tuple[str, ...]
    value: str
    new: bool = False

    def lines(self) -> list[str]:
        return [f"{', '.join(self.names)} = {self.value}"]


@dataclasses.dataclass
class Lines:
    """Any lines that assign the existing `names`, for example under control dependencies."""

    names: tuple[str, ...]
    text: list[str]
    new: bool = False

    def lines(self) -> list[str]:
        return self.text


@dataclasses.dataclass
class Branch:
    """`if` with two blocks (`test` is a bool), or a switch over several (`test` is an int32)."""

    test: str
    blocks: list[Block]
    number: int
    switch: bool = False


@dataclasses.dataclass
class Loop:
    """A loop with a counter.

    Attributes:
      counter: Name of the counter, which exists in the loop and, in functional text, after it.
      start: Its first value.
      test: The condition.
      step: What is added to the counter after each iteration.
      number: Makes names unique, and determines the order of the loop variables.
      range: Arguments of tf.range, for `for` in autograph text; None for `while`.
      options: Keyword arguments of tf.while_loop.
      passed: Names that are loop variables although the body need not assign to them.
      shapes: The shape of each name for shape_invariants; None for a loop without them.
    """

    counter: str
    start: str
    test: str
    step: str
    body: Block
    number: int
    range: str | None = None
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    passed: tuple[str, ...] = ()
    shapes: dict[str, str] | None = None


Statement = Assign | Lines | Branch | Loop
Block = list[Statement]


def assigned(block: Block) -> list[str]:
    """The names from outside of `block` that it assigns, in order."""
    found: list[str] = []
    own: set[str] = set()
    for statement in block:
        if isinstance(statement, (Assign, Lines)):
            names = list(statement.names)
            if statement.new:
                own.update(names)
        elif isinstance(statement, Branch):
            names = [name for part in statement.blocks for name in assigned(part)]
        else:
            names = [*assigned(statement.body), *statement.passed]
            own.add(statement.counter)
        found += [name for name in names if name not in own]
    return list(dict.fromkeys(found))


def _indented(lines: list[str]) -> list[str]:
    return [_INDENT + line for line in lines]


def functional(block: Block) -> list[str]:
    """`block` with tf.while_loop, tf.cond and tf.switch_case."""
    lines: list[str] = []
    for statement in block:
        if isinstance(statement, Branch):
            lines += _functional_branch(statement)
        elif isinstance(statement, Loop):
            lines += _functional_loop(statement)
        else:
            lines += statement.lines()
    return lines


def _functional_branch(branch: Branch) -> list[str]:
    names: list[str] = []
    for block in branch.blocks:
        names += assigned(block)
    names = list(dict.fromkeys(names))
    # Each block gets the names as default arguments, since it assigns them.
    header = ", ".join(f"{name}={name}" for name in names)
    result = ", ".join(names)
    lines: list[str] = []
    functions = [f"branch_{branch.number}_{k}" for k in range(len(branch.blocks))]
    for function, block in zip(functions, branch.blocks, strict=True):
        body = [*functional(block), f"return {result}"]
        lines += [f"def {function}({header}):", *_indented(body)]
    if branch.switch:
        call = f"tf.switch_case({branch.test}, [{', '.join(functions)}])"
    else:
        call = f"tf.cond({branch.test}, {', '.join(functions)})"
    return [*lines, f"{result} = {call}"]


def loop_variables(loop: Loop) -> list[str]:
    """The loop variables in an order that depends on the loop's number alone."""
    names = [name for name in assigned(loop.body) if name != loop.counter]
    names = list(dict.fromkeys([loop.counter, *names, *loop.passed]))
    random.Random(loop.number).shuffle(names)
    return names


def _functional_loop(loop: Loop) -> list[str]:
    names = loop_variables(loop)
    header, comma = ", ".join(names), "," if len(names) == 1 else ""
    started = [loop.start if name == loop.counter else name for name in names]
    after = [f"{name} + {loop.step}" if name == loop.counter else name for name in names]
    options = dict(loop.options)
    if loop.shapes is not None:
        shapes = [f"tf.TensorShape({loop.shapes.get(name, '[]')})" for name in names]
        options["shape_invariants"] = f"({', '.join(shapes)}{comma})"
    arguments = "".join(f", {key}={value}" for key, value in options.items())
    number = loop.number
    return [
        f"def test_{number}({header}):",
        f"{_INDENT}return {loop.test}",
        f"def body_{number}({header}):",
        *_indented([*functional(loop.body), f"return ({', '.join(after)}{comma})"]),
        f"{header}{comma} = tf.while_loop(",
        f"{_INDENT}test_{number}, body_{number}, ({', '.join(started)}{comma}){arguments})",
    ]


def autograph(block: Block) -> list[str]:
    """`block` with the statements of Python, for tf.function to convert."""
    lines: list[str] = []
    for statement in block:
        if isinstance(statement, Branch):
            lines += _autograph_branch(statement)
        elif isinstance(statement, Loop):
            lines += _autograph_loop(statement)
        else:
            lines += statement.lines()
    return lines


def _autograph_branch(branch: Branch) -> list[str]:
    lines: list[str] = []
    for k, block in enumerate(branch.blocks[:-1]):
        test = f"tf.equal({branch.test}, {k})" if branch.switch else branch.test
        lines += [f"{'elif' if k else 'if'} {test}:", *_indented(autograph(block))]
    return [*lines, "else:", *_indented(autograph(branch.blocks[-1]))]


def _autograph_loop(loop: Loop) -> list[str]:
    options = dict(loop.options)
    if loop.shapes is not None:
        unknown = [name for name, shape in loop.shapes.items() if "None" in shape]
        pairs = [f"({name}, tf.TensorShape({loop.shapes[name]}))" for name in unknown]
        options["shape_invariants"] = f"[{', '.join(pairs)}]"
    body = autograph(loop.body)
    if options:
        arguments = ", ".join(f"{key}={value}" for key, value in options.items())
        body = [f"tf.autograph.experimental.set_loop_options({arguments})", *body]
    if loop.range is not None:
        return [f"for {loop.counter} in tf.range({loop.range}):", *_indented(body)]
    return [
        f"{loop.counter} = {loop.start}",
        f"while {loop.test}:",
        *_indented([*body, f"{loop.counter} = {loop.counter} + {loop.step}"]),
    ]
