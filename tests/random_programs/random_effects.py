"""Runs random programs with side effects in loops, and compares the order of the side effects.

    python -m tests.random_programs.random_effects --programs 300 --seed 0

A program is a function of int64 scalars for `tf.function`. It prints, calls Python functions,
asserts, and changes variables and a lookup table, in and around loops with `break` and `continue`,
before and after a `return`, in branches, conditions of loops and nested functions. Every print and
call of a Python function has a label of its own, and appends a line to one file: the label and
values that show what the program has read and assigned so far.

Each program is run eagerly, as plain Python, which gives the order of its text; on stock; and with
the library. Results, final states and the lines of each label must be those of the eager run.
Lines of two labels must have the order of the text if a path of edges of the traced graph leads
from one effect to the other (`promised_order`). tf.function makes such edges between ops that use
one resource, and between ops that use none, but not between an op of one kind and an op of the
other kind. So a loop that assigns to a variable and prints is in no order with a print outside.

Where no order is promised, the calls that did not follow the text are counted, for stock and ours.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import itertools
import linecache
import os
import pathlib
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tests.random_programs.promised_order import promised_order
from tests.support import campaign, kernel_runner
from tests.support.counting import counting

_RUN = "tests.random_programs.random_effects:run_seed"
_TIMEOUT_S = 120.0
_PROGRAMS_PER_PROCESS = 150
_CALLS = 3  # of each program, one after the other
_MOST_TRIPS = (5, 3, 2)  # of a loop, by its depth
_LOCALS = ("h0", "h1", "h2")

# ---- the programs


@dataclasses.dataclass(frozen=True)
class Program:
    """A program that `run_seed` runs.

    Attributes:
      seed: Its number.
      text: The source: `program(h0, h1, h2, v, table, note, function, STREAM)`.
      features: Names of the constructs in it.
    """

    seed: int
    text: str
    features: frozenset[str]

    def __str__(self) -> str:
        return ", ".join(sorted(self.features))


class _Writer:
    """Writes the text of one program."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 11])
        self._labels = itertools.count()
        self._numbers = itertools.count()
        self._left = 6 + int(self._rng.integers(8))  # statements
        self._may_fail = self._chance(0.15)
        self._functions: list[str] = []  # lines
        self.features: set[str] = set()

    def text(self) -> str:
        body = self._block([], 0, 3)
        body += self._loop([], 0)
        body += self._block([], 0, 3)
        body += self._return()
        self._left = max(self._left, 1)
        body += self._loop([], 0) if self._chance(0.4) else self._block([], 0, 2)
        lines = [*self._functions, *body, "return h0 + h1 * 5 + h2 * 25"]
        header = f"def program({', '.join(_LOCALS)}, v, table, note, function, STREAM):"
        return "\n".join(["import tensorflow as tf", "", header, *_indented(lines), ""])

    def _pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(self._rng.integers(len(choices)))]

    def _one_of(self, *lines: str) -> list[str]:
        return [self._pick(lines)]

    def _chance(self, probability: float) -> bool:
        return bool(self._rng.random() < probability)

    def _label(self, kind: str) -> str:
        return f"{kind}{next(self._labels)}"

    # ---- expressions; `counters` are the counters of the loops around them

    def _value(self, counters: list[str]) -> str:
        names = [*_LOCALS, *counters, *counters]
        if self._chance(0.25):
            self.features.add("read")
            names = [f"v[{self._pick((0, 1))}]"]
        return f"({self._pick(names)} * {self._pick((1, 2, 3))} + {self._pick(range(5))})"

    def _test(self, counters: list[str], rare: bool = False) -> str:
        of = self._pick((3, 5)) if rare else 2
        return f"{self._value(counters)} % {of} == {self._pick(range(of))}"

    def _shown(self, counters: list[str]) -> str:
        shown = list(counters)
        if self._chance(0.4):
            shown.append(self._pick(_LOCALS))
        if self._chance(0.35):
            shown.append(self._pick(("v[0]", "v[1]", "v[2]")))
        if self._chance(0.15):
            shown.append("table.size()")
        return "".join(f", {name}" for name in shown)

    # ---- statements

    def _block(self, counters: list[str], depth: int, most: int) -> list[str]:
        lines: list[str] = []
        for _ in range(1 + int(self._rng.integers(most))):
            self._left -= 1
            choices: list[tuple[float, Callable[..., list[str]]]] = [
                (3.0, self._print),
                (1.2, self._python),
                (2.5, self._assign),
                (1.0, self._scatter),
                (1.2, self._table),
                (1.5, self._local),
                (0.4, self._assert),
            ]
            if self._left > 0:
                choices += [(1.5, self._branch), (0.7, self._call)]
                choices += [(1.5, self._loop)] * (depth < len(_MOST_TRIPS))
            weights = np.array([weight for weight, _ in choices])
            chosen = choices[int(self._rng.choice(len(choices), p=weights / weights.sum()))][1]
            lines += chosen(counters, depth)
        return lines

    def _print(self, counters: list[str], *unused: Any) -> list[str]:
        self.features.add("print_in_loop" if counters else "print")
        text = f'"{self._label("p")}"{self._shown(counters)}'
        return [f"tf.print({text}, output_stream=STREAM, summarize=-1)"]

    def _python(self, counters: list[str], *unused: Any) -> list[str]:
        shown = f'["{self._label("y")}"{self._shown(counters)}]'
        if self._chance(0.4):
            self.features.add("numpy_function")
            name = self._pick(_LOCALS)
            return [
                f"{name} += tf.ensure_shape(tf.numpy_function(note, {shown}, tf.int64), [])",
            ]
        self.features.add("py_function")
        return [f"tf.py_function(note, {shown}, tf.int64)"]

    def _assign(self, counters: list[str], *unused: Any) -> list[str]:
        self.features.add("assign_in_loop" if counters else "assign")
        name, value = f"v[{self._pick((0, 1))}]", self._value(counters)
        return self._one_of(
            f"{name}.assign({name} * 3 + {value})",
            f"{name}.assign_add({value})",
            f"{name}.assign_sub({value})",
        )

    def _scatter(self, counters: list[str], *unused: Any) -> list[str]:
        self.features.add("scatter")
        index, value = f"{self._value(counters)} % 3", self._value(counters)
        return self._one_of(
            f"v[2].scatter_nd_update([[{index}]], [{value}])",
            f"v[2].scatter_nd_add([[{index}]], [{value}])",
            f"v[2].scatter_update(tf.IndexedSlices({value}, {index}))",
            f"v[2][{self._pick(range(3))}].assign({value})",
            f"v[2].assign(v[2] * 3 + {value})",
        )

    def _table(self, counters: list[str], *unused: Any) -> list[str]:
        self.features.add("table_in_loop" if counters else "table")
        key, name = f"{self._value(counters)} % 4", self._pick(_LOCALS)
        return self._one_of(
            f"table.insert({key}, {self._value(counters)})",
            f"table.insert({key}, {self._value(counters)})",
            f"table.remove(tf.reshape({key}, [1]))",
            f"{name} += tf.ensure_shape(table.lookup({key}), [])",
            f"{name} += table.size()",
        )

    def _local(self, counters: list[str], *unused: Any) -> list[str]:
        return [f"{self._pick(_LOCALS)} = {self._value(counters)} + {self._value(counters)}"]

    def _assert(self, counters: list[str], *unused: Any) -> list[str]:
        test = "h0 == h0"
        if self._may_fail:
            self._may_fail = False
            self.features.add("assert_that_may_fail")
            test = self._test(counters)
        self.features.add("assert")
        return [f'tf.debugging.Assert({test}, ["{self._label("a")}"])']

    def _branch(self, counters: list[str], depth: int) -> list[str]:
        self.features.add("branch_in_loop" if counters else "branch")
        test = self._test(counters)
        lines = [f"if {test}:", *_indented(self._block(counters, depth, 2))]
        if self._chance(0.5):
            lines += ["else:", *_indented(self._block(counters, depth, 2))]
        return lines

    def _call(self, counters: list[str], depth: int) -> list[str]:
        """A call of a function that is called nowhere else."""
        name, a, b = f"f{next(self._numbers)}", self._pick(_LOCALS), self._pick(_LOCALS)
        traced = self._chance(0.7)
        self.features.add("function" if traced else "plain_function")
        body = self._block([], max(depth, 1), 2)
        tail = self._block([], max(depth, 1), 1)
        given = f"{b}, {self._value(counters)}, {self._pick(_LOCALS)}"
        self._functions += [
            *(["@function"] if traced else []),
            f"def {name}({', '.join(_LOCALS)}):",
            *_indented([*body, *self._return(), *tail, "return h0 + h1 + h2"]),
        ]
        return [f"{a} = tf.ensure_shape({name}({given}), [])"]

    def _return(self) -> list[str]:
        """Sometimes a `return`; AutoGraph supports none in a loop."""
        if self._chance(0.7):
            return []
        self.features.add("return")
        test = self._test([])
        return [f"if {test}:", *_indented([*self._print([]), "return h0 + 7"])]

    def _loop(self, counters: list[str], depth: int) -> list[str]:
        number = next(self._numbers)
        counter = f"i{number}"
        self.features.add(f"loop_of_depth_{depth + 1}")
        most = _MOST_TRIPS[min(depth, len(_MOST_TRIPS) - 1)]
        limit = f"{self._value(counters)} % {most + 1}" if self._chance(0.5) else str(most)
        inner = [*counters, counter]
        body = self._block(inner, depth + 1, 3)
        if self._chance(0.5):
            word = self._pick(("break", "break", "continue"))
            self.features.add(word)
            effect = self._print(inner) if self._chance(0.4) else []
            test = self._test(inner, rare=True)
            starts = [k for k, line in enumerate(body) if not line.startswith((" ", "else"))]
            place = self._pick(starts)
            body[place:place] = [f"if {test}:", *_indented([*effect, word])]
        first: list[str] = []
        if self._chance(0.15):
            parallel = self._pick((1, 2))
            options = f"parallel_iterations={parallel}"
            first = [f"tf.autograph.experimental.set_loop_options({options})"]
        end = f"tf.cast({limit}, tf.int64)"
        if self._chance(0.5):
            self.features.add("for")
            return [f"for {counter} in tf.range({end}):", *_indented([*first, *body])]
        self.features.add("while")
        lines = [f"{counter} = tf.constant(-1, tf.int64)", f"e{number} = {end}"]
        test = f"{counter} + 1 < e{number}"
        if self._chance(0.2):
            self.features.add("effect_in_condition")
            locals_ = ", ".join(_LOCALS)
            self._functions += [
                f"def c{number}(i, n, {locals_}):",
                *_indented([*self._block([], len(_MOST_TRIPS), 1), "return i + 1 < n"]),
            ]
            test = f"c{number}({counter}, e{number}, {locals_})"
        return [*lines, f"while {test}:", *_indented([*first, f"{counter} += 1", *body])]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@functools.cache
def random_program(seed: int) -> Program:
    """The program of that number."""
    writer = _Writer(seed)
    text = writer.text()
    return Program(seed, text, frozenset(writer.features))


# ---- running


@dataclasses.dataclass
class Ran:
    """What a program did.

    Attributes:
      lines: The lines that each call has written, in order.
      results: The result of each call.
      state: The variables and the sorted table, after the last call.
      failed: The label of the assertion that failed and ended the program, or "".
      unbuilt: Why TensorFlow could not build or run the program, or "".
      promised: As from `promised_order`.
      counters: By how much each of the library's counters of loops has risen.
    """

    lines: list[list[str]] = dataclasses.field(default_factory=list)
    results: list[int] = dataclasses.field(default_factory=list)
    state: list[Any] = dataclasses.field(default_factory=list)
    failed: str = ""
    unbuilt: str = ""
    promised: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    counters: dict[str, int] = dataclasses.field(default_factory=dict)


@functools.cache
def _file(process: int) -> pathlib.Path:
    return pathlib.Path(tempfile.gettempdir()) / f"random_effects_{process}"


def _note(label: Any, *values: Any) -> np.int64:
    """Appends a line, as tf.print does; returns the sum of the values modulo 5."""
    values = [np.asarray(value) for value in values]
    shown = [tf.compat.as_text(np.asarray(label).item()), *map(str, values)]
    with _file(os.getpid()).open("a") as file:
        file.write(" ".join(shown) + "\n")
    return np.int64(sum(int(np.sum(value)) for value in values) % 5)


def run_seed(seed: int, eagerly: bool = False, settings: Mapping[str, int] | None = None) -> Ran:
    """Runs the program of that number.

    Args:
      seed: The number.
      eagerly: Whether to run it as plain Python, and not in a tf.function.
      settings: Functions of the bindings to call first, with their arguments.
    """
    return run_text(random_program(seed).text, seed, eagerly, settings)


def run_text(
    text: str, seed: int = 0, eagerly: bool = False, settings: Mapping[str, int] | None = None
) -> Ran:
    """As `run_seed`, of a program with that text."""
    for name, value in (settings or {}).items():
        from tensor_array_grad import _loader

        getattr(_loader.bind(), name)(value)
    ran = Ran()
    path = _file(os.getpid())
    with counting() as counts, warnings.catch_warnings(), contextlib.suppress(FileNotFoundError):
        warnings.simplefilter("ignore")
        _run(text, seed, eagerly, f"file://{path}", ran)
        path.unlink()
    ran.counters = {name: count for name, count in counts.items() if name.startswith("loops.")}
    return ran


def _run(text: str, seed: int, eagerly: bool, stream: str, ran: Ran) -> None:
    function = (lambda traced: traced) if eagerly else tf.function
    v = [tf.Variable(value, dtype=tf.int64) for value in (1, 2, [3, 4, 5])]
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, default_value=-1)
    program = function(_compiled(text, seed)["program"])
    rest = (v, table, _note, function, stream)
    for call in range(_CALLS):
        inputs = [tf.constant(k, tf.int64) for k in (call, seed % 4 + call, 2)]
        _file(os.getpid()).write_text("")
        try:
            if not eagerly and call == 0:
                ran.promised = promised_order(program.get_concrete_function(*inputs, *rest).graph)
            ran.results.append(int(program(*inputs, *rest)))
        except tf.errors.InvalidArgumentError as error:
            found = re.search(r"(assertion failed: \[|Summarized data: b')(a\d+)", error.message)
            ran.failed, ran.unbuilt = (found.group(2), "") if found else ("", error.message)
        except Exception as error:
            ran.unbuilt = f"{type(error).__name__}: {error}"
        ran.lines.append(_file(os.getpid()).read_text().splitlines())
        if ran.failed or ran.unbuilt:
            return
    ran.state = [variable.numpy().tolist() for variable in v]
    keys, values = table.export()
    ran.state.append(sorted(zip(keys.numpy().tolist(), values.numpy().tolist(), strict=True)))


def _compiled(text: str, seed: int) -> dict[str, Any]:
    file = f"<random effects {seed}>"  # AutoGraph reads the source from `linecache`
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    module: dict[str, Any] = {"__name__": f"random_effects_{seed}"}
    exec(compile(text, file, "exec"), module)
    return module


# ---- comparing


def faults(got: Any, eager: Any, promised: set[tuple[str, str]]) -> Iterator[str]:
    """Yields a description of each way in which a run breaks what TensorFlow promises.

    After a failed assertion only effects count that are in order with it: others may still happen,
    or happen no more.
    """
    if not isinstance(got, Ran) or not isinstance(eager, Ran):
        yield f"the process: {got}, eagerly {eager}"
        return
    if got.unbuilt != eager.unbuilt or got.failed != eager.failed:
        yield f"ended by {(got.failed, got.unbuilt)}, eagerly {(eager.failed, eager.unbuilt)}"
        return
    if got.results != eager.results or got.state != eager.state:
        yield f"results {got.results} {got.state}, eagerly {eager.results} {eager.state}"
    for call, (lines, wanted) in enumerate(zip(got.lines, eager.lines, strict=True)):
        labels = sorted({line.split()[0] for line in [*lines, *wanted]})
        ends = got.failed if call == len(got.lines) - 1 else ""
        if ends:
            labels = [label for label in labels if tuple(sorted((label, ends))) in promised]
        groups = [(label, label) for label in labels]
        groups += [pair for pair in itertools.combinations(labels, 2) if pair in promised]
        for group in groups:
            one, other = ([x for x in all_ if x.split()[0] in group] for all_ in (lines, wanted))
            if one != other:
                yield f"call {call}: {'/'.join(dict.fromkeys(group))} {one}, eagerly {other}"


def out_of_order(got: Ran, eager: Ran) -> int:
    """In how many calls the lines do not have the order of the text."""
    calls = list(zip(got.lines, eager.lines, strict=False))
    return sum(one != other for one, other in (calls[:-1] if got.failed else calls))


def _run_on_stock(
    stocks: kernel_runner.Runner, seed: int, known: dict[int, tuple[Any, Any]] | None
) -> tuple[Any, Any]:
    """The eager run of program `seed`, and its run as a function; `known` has those of before."""
    if known is not None and seed in known:
        return known[seed]
    runs = []
    for eagerly in (True, False):
        stocks.start_call(_RUN, seed, eagerly)
        runs.append(stocks.finish_call(_TIMEOUT_S))
    eager, want = runs
    if known is not None:
        known[seed] = eager, want
    return eager, want


def compare(
    pair: tuple[kernel_runner.Runner, kernel_runner.Runner],
    seeds: Iterable[int],
    options: Sequence[str] = (),
    verbose: bool = False,
    on_stock: dict[int, tuple[Any, Any]] | None = None,
) -> collections.Counter[str]:
    """Runs the programs of these numbers with the library and on stock; prints each fault.

    Args:
      pair: A runner with the library, and one of stock.
      seeds: The numbers.
      options: Keys of `campaign.SETTINGS`.
      verbose: Whether to print also what is in another order, or not built.
      on_stock: The eager run and the run as a function of each program that ran on stock before;
        the others are added to it.

    Returns:
      How many programs, calls and lines were compared, and how many differ.
    """
    counts: collections.Counter[str] = collections.Counter()
    for number, seed in enumerate(seeds, 1):
        ours, stocks = pair
        ours.start_call(_RUN, seed, False, dict(campaign.SETTINGS[name](seed) for name in options))
        eager, want = _run_on_stock(stocks, seed, on_stock)
        got = ours.finish_call(_TIMEOUT_S)
        counts["programs"] += 1
        promised = getattr(want, "promised", set())
        if getattr(want, "unbuilt", ""):
            counts["unbuilt"] += 1
            if verbose or want.unbuilt != getattr(got, "unbuilt", None):
                print(f"seed {seed}: not built: {want.unbuilt.splitlines()[0]}", flush=True)
            continue
        for name, run in (("stock", want), ("ours", got)):
            for fault in faults(run, eager, promised):
                counts[f"faults of {name}"] += 1
                print(f"seed {seed}: {name}: {fault}", flush=True)
        if isinstance(got, Ran) and isinstance(want, Ran) and isinstance(eager, Ran):
            counts["calls"] += len(want.lines)
            counts["lines"] += sum(map(len, want.lines))
            counts["failed"] += bool(want.failed)
            counts["promised pairs"] += len(promised)
            unlike = [out_of_order(run, eager) for run in (want, got)]
            counts["calls of stock in another order"] += unlike[0]
            counts["calls of ours in another order"] += unlike[1]
            if verbose and any(unlike):
                print(f"seed {seed}: in another order: stock {unlike[0]}, ours {unlike[1]} calls")
            counts.update({k: v for k, v in got.counters.items() if v})
        if number % _PROGRAMS_PER_PROCESS == 0:
            for runner in pair:
                runner.restart()
    return counts


def main() -> None:
    """Parses the command line and runs."""
    parser = campaign.parser(__doc__, programs=300)
    parser.add_argument(
        "--verbose", action="store_true", help="print also what is in another order, or not built"
    )
    args = campaign.parse(
        parser, lambda seed: f"# {random_program(seed)}\n{random_program(seed).text}"
    )
    seeds = campaign.seeds(args)
    with kernel_runner.Runner("enable") as ours, kernel_runner.Runner() as stocks:
        counts = compare((ours, stocks), seeds, campaign.options(args), args.verbose)
    print(dict(counts))
    sys.exit(1 if counts["faults of ours"] or counts["faults of stock"] else 0)


if __name__ == "__main__":
    # Run the `main` of the imported module, because the children return objects of its classes, and
    # the classes of `__main__` are different ones.
    from tests.random_programs import random_effects

    random_effects.main()
