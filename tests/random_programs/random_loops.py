"""Runs random programs with loops on stock and with the library, and compares the results.

    python -m tests.random_programs.random_loops --programs 2000 --seed 0

All bits of the results must be equal, except for the sign of zeros in gradients. Three kinds of
difference are accepted and counted separately:

- Gradients differ in their last bits only, and have the same bits when all loops are left to the
  executor (TENSOR_ARRAY_GRAD_LOOPS=off). The reason is that TensorFlow's optimizer changes the
  order of the sums that the graph pass has rewritten.
- Each element of each result, or the error, is what stock gives in one of a hundred runs. Stock's
  AddN of three or more inputs begins with the first input whose buffer no other tensor shares, so
  its sums depend on the order in which the executor runs nodes. Which of two failing nodes is named
  depends on it, too.
- Gradients differ in their last bits only, and the library gives each element stock's bits in one
  of a hundred runs. Nodes after a loop run in another order if the loop is one node.

A program is a pure function of its number. `--show 7` prints the text of program 7, and `--only 7`
runs it alone. With `--hand-back` every loop that runs in one kernel is handed back to the stock
loop after a number of iterations that depends on the program's number. With `--two-threads` a
second thread runs the trailing part of each such loop, after zero to two iterations.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import functools
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tests.random_programs.random_loop_patterns import HELPERS, Patterns
from tests.random_programs.random_loop_text import (
    Assign,
    Block,
    Branch,
    Lines,
    Loop,
    autograph,
    functional,
)
from tests.random_programs.random_loop_values import Scope
from tests.support import campaign, kernel_runner

# Weight and name of each mode in which tests.random_programs.random_loop_runs computes results.
_MODES = (
    (3, "value"),
    (0.8, "dataset"),
    (2.5, "tape_inside"),
    (2, "tape_outside"),
    (1.5, "gradients"),
    (0.8, "second_order"),
    (0.5, "hessian_vector"),
    (0.4, "jacobian"),
    (1.7, "session_v1"),
    (1.0, "session_v2"),
)
# Modes whose graphs are large, and whose programs are therefore small.
_SMALL = ("second_order", "hessian_vector", "jacobian")


@dataclasses.dataclass(frozen=True)
class LoopProgram:
    """A program with loops.

    Attributes:
      seed: Its number.
      mode: How its results are computed.
      style: "autograph" or "while_loop".
      gradient: Whether gradients are computed.
      features: Names of the constructs in it.
      text: The source: `program(x, v)` and the initial values of the variables `v`.
    """

    seed: int
    mode: str
    style: str
    gradient: bool
    features: frozenset[str]
    text: str

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.mode}, {', '.join(sorted(self.features))}"


@functools.cache
def random_loop(seed: int) -> LoopProgram:
    """The program of that number: a function of x, float64 [3, 2], and of variables."""
    rng = np.random.default_rng([seed, 0])
    weights = np.array([weight for weight, _ in _MODES])
    mode = _MODES[int(rng.choice(len(_MODES), p=weights / weights.sum()))][1]
    tf1 = mode.startswith("session")
    style = "autograph" if not tf1 and rng.random() < 0.35 else "while_loop"
    sizes = {"loops": 1 + int(rng.random() < 0.3), "statements": 4} if mode in _SMALL else {}
    made = Patterns(rng, style, tf1, mode == "session_v1", **sizes)
    made.switches = mode not in _SMALL
    made.py_functions = mode in ("value", "dataset")
    # A Session leaves loops that draw with a seed to the executor.
    made.draws = not tf1 and made.chance(0.15)
    # A few programs raise an error, but none in the modes of _SMALL.
    if mode not in _SMALL and rng.random() < 0.06:
        made.error = made.pick(["division", "range", "reshape", "assert"])
    scope: Scope = {}
    block = made.beginning(scope)
    initial = ["0.75"]
    if mode not in _SMALL:
        for k in range(made.pick([0, 0, 1, 2])):
            token = made.name("t")
            made.tokens[token] = k + 1
            initial.append(str(k + 0.5))
            block.append(Assign((token,), "tf.constant(0)", new=True))
    most = made.loops_left
    block += made.block(scope, 0, made.between(1, 3))
    while made.loops_left == most or (made.error and made.loops_left > 0):
        block += made.loop(scope, 0) if made.chance(0.5) else made.statement(scope, 0)
    block += _reads_of_variables(made)
    results = [*scope, *made.tokens, *(f"end_{token}" for token in made.tokens)]
    if not tf1:  # a Session leaves loops with calls to the executor
        _put_into_functions(block, made, np.random.default_rng([seed, 1]))
    body = (autograph if style == "autograph" else functional)(block)
    gradient = mode not in ("value", "dataset") and not (tf1 and made.chance(0.25))
    made.features.add(f"mode_{mode}")
    text = "\n".join(
        [
            "import tensorflow as tf",
            *(HELPERS[name] for name in sorted(made.helpers)),
            "",
            f"VARIABLES = [{', '.join(initial)}]",
            "",
            "def program(x, v):",
            *(f"    {line}" for line in body),
            f"    return [{', '.join(results)}]",
            "",
        ]
    )
    return LoopProgram(seed, mode, style, gradient, frozenset(made.features), text)


def _put_into_functions(block: Block, made: Patterns, rng: np.random.Generator) -> None:
    """In every fourth program, lets a function compute half of the values that are assigned.

    Its own `rng` leaves the other programs as they are.
    """
    if rng.random() > 0.25:
        return
    blocks = [block]
    for statement in (statement for each in blocks for statement in each):
        if isinstance(statement, Branch):
            blocks += statement.blocks
        elif isinstance(statement, Loop):
            blocks.append(statement.body)
        elif isinstance(statement, Assign) and rng.random() < 0.5:
            arrays = "TensorArray" in statement.value or ".write(" in statement.value
            if len(statement.names) == 1 and not arrays:
                statement.value = f"in_a_function(lambda: {statement.value})"
                made.helpers.add("in_a_function")
                made.features.add("value_in_a_function")


def _reads_of_variables(made: Patterns) -> list[Any]:
    """The last value of each variable, read after its last use."""
    return [
        Lines(
            (f"end_{token}",),
            [
                f"with tf.control_dependencies([{token}]):",
                f"    end_{token} = v[{index}].read_value()",
            ],
            new=True,
        )
        for token, index in made.tokens.items()
    ]


# ---- comparing


@dataclasses.dataclass
class Ran:
    """The outcome of one run of a program.

    Attributes:
      values: Results of the program, of each of its two calls.
      gradients: Gradients for the input and the weights.
      effects: The value of each variable at the end.
      error: Class and first line of the error that it raised.
      unbuilt: The Python error, if TensorFlow could not build the program.
      counters: By how much each of the library's counters of loops has risen.
    """

    values: list[np.ndarray] = dataclasses.field(default_factory=list)
    gradients: list[np.ndarray] = dataclasses.field(default_factory=list)
    effects: list[np.ndarray] = dataclasses.field(default_factory=list)
    error: tuple[str, str] | None = None
    unbuilt: str = ""
    counters: dict[str, int] = dataclasses.field(default_factory=dict)


def bits(array: np.ndarray) -> np.ndarray:
    """The bytes of `array`, with each NaN replaced by the same NaN."""
    if array.dtype.kind in "fc" or array.dtype.name == "bfloat16":
        array = np.where(array == array, array, np.full_like(array, np.nan))
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


def same_value(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether dtype, shape and every bit are equal; any NaN equals any NaN."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype == object:
        return bool(np.all(got == want))
    return bool(np.array_equal(bits(got), bits(want)))


def same_gradient(got: np.ndarray, want: np.ndarray) -> bool:
    """As `same_value`, but zeros may differ in sign: the library adds no zero to a first addend."""
    alike = got.dtype == want.dtype and got.shape == want.shape
    return alike and bool(np.array_equal(got, want, equal_nan=True))


# The size of the last bit of a value relative to the value; 2**-52 for dtypes that are not listed.
# The relative error of a sum in which most terms cancel may be _TERMS times as large.
_EPSILON = {"bfloat16": 2.0**-8, "float16": 2.0**-10, "float32": 2.0**-23, "complex64": 2.0**-23}
_TERMS = 64


# How stock ends if its arithmetic optimizer has lost a value; the library's rules repair the graph.
UNOPTIMISED = "TESTS_WITHOUT_ARITHMETIC_OPTIMIZER"  # an environment variable
_LOST = re.compile(r"Retval\[\d+\] does not have value")
_RUNS = 100
# The order in which AddN adds depends on which of its inputs have a buffer that no other tensor
# shares at that time, and so on the order in which the executor runs nodes. Two threads nearly
# always give the same order; with many threads it varies.
_MANY_THREADS = {"TF_NUM_INTEROP_THREADS": "32"}
_OURS: dict[str, str | None] = {"TENSOR_ARRAY_GRAD": None}


def given_by(ran: Ran, runs: Iterable[Ran]) -> bool:
    """Whether each element of each result of `ran` has the same bits in one of `runs`.

    False if one of them ends in another way than `ran`: with another dtype or shape, or without an
    error. Which error it is may vary between runs. Runs are taken only until all elements are
    found; if `ran` ends with an error, until one has it.
    """
    given = [np.zeros(np.shape(result), bool) for result in _results(ran)]
    for run in runs:
        if isinstance(run, Ran) and ran.error and run.error and ran.error != run.error:
            continue
        if not (isinstance(run, Ran) and _outcome(ran) == _outcome(run)):
            return False
        for mask, one, other in zip(given, _results(ran), _results(run), strict=True):
            mask |= _same_elements(one, other)
        if all(mask.all() for mask in given):
            return True
    return False


def _results(ran: Ran) -> list[np.ndarray]:
    # Zeros of gradients may differ in sign. Adding 0 turns -0 into 0.
    return [*ran.values, *(gradient + 0 for gradient in ran.gradients), *ran.effects]


def _outcome(ran: Ran) -> tuple[Any, ...]:
    """The error or none, and the dtypes and shapes of the results of each kind."""
    kinds = (ran.values, ran.gradients, ran.effects)
    return ran.error, ran.unbuilt, [[(x.dtype, x.shape) for x in kind] for kind in kinds]


def _same_elements(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    if got.dtype == object:
        return got == want
    per_element = (*got.shape, got.dtype.itemsize)
    return (bits(got) == bits(want)).reshape(per_element).all(-1)


def only_rounded(program: LoopProgram, got: Ran, want: Ran) -> bool:
    """Whether only gradients differ, and only by last bits of the program's coarsest dtype."""
    others = next(differences(got, want, gradients=False), None)
    return others is None and _close(program, got.gradients, want.gradients)


def _close(program: LoopProgram, got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> bool:
    """Whether results differ by last bits of the program's coarsest dtype at most."""
    features = [name.split("_")[-1] for name in program.features]
    rtol = _TERMS * max((_EPSILON.get(name, 2.0**-52) for name in features), default=0.0)
    return len(got) == len(want) and all(
        _close_array(one, other, rtol) for one, other in zip(got, want, strict=True)
    )


def _close_array(got: np.ndarray, want: np.ndarray, rtol: float) -> bool:
    if got.dtype.kind in "OS":  # strings
        return same_value(got, want)
    return got.shape == want.shape and np.allclose(
        got, want, rtol, rtol * _largest(want), equal_nan=True
    )


def _largest(array: np.ndarray) -> float:
    """The largest finite magnitude in an array."""
    sizes = np.abs(array)
    return float(np.max(sizes, initial=0, where=np.isfinite(sizes)))


def repaired(program: LoopProgram, got: Ran, want: Ran) -> bool:
    """Whether `want`, of stock without an optimizer that loses a value, has the values of `got`."""
    return not (got.error or want.error) and _close(program, _results(got), _results(want))


def differences(got: Any, want: Any, gradients: bool = True) -> Iterator[str]:
    """Yields a description of each difference between two runs of one program."""
    if not hasattr(got, "values") or not hasattr(want, "values"):
        yield f"the process: stock {want}, ours {got}"
        return
    if got.unbuilt != want.unbuilt:
        yield f"building: stock {want.unbuilt!r}, ours {got.unbuilt!r}"
    if got.error != want.error:
        yield f"error: stock {want.error}, ours {got.error}"
    if want.error or want.unbuilt or got.error or got.unbuilt:
        return
    kinds = (("values", same_value), ("gradients", same_gradient), ("effects", same_value))
    for kind, same in kinds:
        if kind == "gradients" and not gradients:
            continue
        ours, stocks = getattr(got, kind), getattr(want, kind)
        if len(ours) != len(stocks):
            yield f"{kind}: stock has {len(stocks)}, ours {len(ours)}"
        for k, (one, other) in enumerate(zip(ours, stocks, strict=False)):
            if not same(one, other):
                yield f"{kind}[{k}]: stock {other.tolist()}, ours {one.tolist()}"


@dataclasses.dataclass
class Tally:
    """What has been compared so far."""

    programs: int = 0
    values: int = 0
    errors: int = 0
    unbuilt: int = 0
    differences: int = 0
    rounded: int = 0
    unsteady: int = 0
    reordered: int = 0
    repaired: int = 0
    unexpected: list[int] = dataclasses.field(default_factory=list)
    features: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    counters: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def add(
        self,
        program: LoopProgram,
        got: Any,
        want: Any,
        without_loops: Callable[[], Any] = Ran,
        stock_again: Callable[[], Iterable[Any]] = tuple,
        ours_again: Callable[[], Iterable[Any]] = tuple,
        unoptimised: Callable[[], Any] = Ran,
    ) -> list[str]:
        """Counts two runs of `program`.

        Args:
          program: The program.
          got: Its run with the library.
          want: Its run on stock.
          without_loops: Runs it with the library, with all loops left to the executor.
          stock_again: Yields further runs on stock.
          ours_again: Yields further runs with the library.
          unoptimised: Runs it on stock without the optimizer that loses values (stock_bugs.md).

        Returns:
          A description of each difference that is not accepted.
        """
        found = list(differences(got, want))
        ran = isinstance(got, Ran) and isinstance(want, Ran)
        rounded = found and ran and only_rounded(program, got, want)
        if rounded and next(differences(without_loops(), got), None) is None:
            self.rounded += 1
            found = []
        if found and ran and given_by(got, stock_again()):
            self.unsteady += 1
            found = []
        if found and rounded and given_by(want, ours_again()):
            self.reordered += 1
            found = []
        lost = ran and want.error is not None and _LOST.match(want.error[1])
        if found and lost and repaired(program, got, unoptimised()):
            self.repaired += 1
            found = []
        self.programs += 1
        self.differences += len(found)
        self.features.update(program.features)
        if isinstance(want, (kernel_runner.Died, kernel_runner.Hung, kernel_runner.Error)):
            return found
        self.values += len(want.values) + len(want.gradients) + len(want.effects)
        self.errors += want.error is not None
        self.unbuilt += bool(want.unbuilt)
        if want.unbuilt or (want.error and "error" not in program.features):
            self.unexpected.append(program.seed)
        self.counters.update(getattr(got, "counters", {}))
        return found

    def merge(self, other: Tally) -> None:
        for field in dataclasses.fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if isinstance(mine, collections.Counter):
                mine.update(theirs)
            else:
                setattr(self, field.name, mine + theirs)

    def __str__(self) -> str:
        loops = {name: count for name, count in sorted(self.counters.items()) if count}
        return (
            f"{self.programs} programs, {self.values} values compared, {self.errors} errors "
            f"compared, {self.differences} differences. Accepted: {self.rounded} programs whose "
            f"gradients differ in their last bits, but not because of a loop in one kernel, "
            f"{self.unsteady} whose results vary between runs of stock, {self.reordered} whose "
            f"last bits vary between runs of the library, and {self.repaired} of which stock's "
            f"optimizer loses a value. "
            f"Not built by TensorFlow: {self.unbuilt}. "
            f"Counted: {loops or 'no loop ran in one kernel'}"
        )


_RUN = "tests.random_programs.random_loop_runs:run_seed"
_RUN_TEXT = "tests.random_programs.random_loop_runs:run_text"
_TIMEOUT_S = 120.0
_PROGRAMS_PER_PROCESS = 150  # TensorFlow keeps some memory of every function


class Pair:
    """Two long-lived child processes, one with stock's kernels and one with the library.

    Args:
      library: As for `kernel_runner.Runner`.
      stock: The runner of stock; a new one if it is None.
    """

    def __init__(
        self, library: str | None = "enable", stock: kernel_runner.Runner | None = None
    ) -> None:
        self.stock = stock or kernel_runner.Runner()
        self.ours = kernel_runner.Runner(library, env=_OURS)
        self._library = library
        self._others: dict[str, kernel_runner.Runner] = {}  # by their environments

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *unused: object) -> None:
        for runner in (self.stock, self.ours, *self._others.values()):
            runner.close()

    def _other(self, library: str | None, env: Mapping[str, str | None]) -> kernel_runner.Runner:
        """A runner with another environment, which is made when it is first needed."""
        key = f"{library} {env}"
        if key not in self._others:
            self._others[key] = kernel_runner.Runner(library, env=dict(env))
        return self._others[key]

    def run(self, seed: int, settings: Mapping[str, int] | None = None) -> tuple[Any, Any]:
        """Runs program `seed` with the library and on stock at the same time; returns both runs."""
        return self._both(_RUN, (seed, settings), (seed,))

    def run_text(self, seed: int, text: str) -> tuple[Any, Any]:
        """The same for program `seed` with another text."""
        return self._both(_RUN_TEXT, (seed, text), (seed, text))

    def _both(self, function: str, ours: Sequence[Any], stock: Sequence[Any]) -> tuple[Any, Any]:
        for runner, arguments in ((self.ours, ours), (self.stock, stock)):
            runner.start_call(function, *arguments)
        return self.ours.finish_call(_TIMEOUT_S), self.stock.finish_call(_TIMEOUT_S)

    def run_stock(self, seed: int) -> Iterator[Any]:
        """Yields runs of program `seed` on stock, in which nodes run in different orders.

        Every other run executes the iterations of a loop one after the other, as the interpreter
        does. In the other runs, later iterations may have begun when an AddN runs, and may no
        longer hold a tensor that it adds. AddN begins with the first input whose buffer no other
        tensor shares, so this may change the order of its sum.
        """
        for _ in range(_RUNS // 2):
            yield self.stock.call(_RUN, seed, None, True, timeout=_TIMEOUT_S)
            yield self._other(None, _MANY_THREADS).call(_RUN, seed, timeout=_TIMEOUT_S)

    def run_ours(self, seed: int) -> Iterator[Any]:
        """Yields runs of program `seed` with the library; nodes run in different orders."""
        for _ in range(_RUNS):
            yield self._other(self._library, _OURS | _MANY_THREADS).call(
                _RUN, seed, timeout=_TIMEOUT_S
            )

    def run_without_loops(self, seed: int) -> Any:
        """Runs program `seed` with the library, with every loop left to the executor."""
        off = _OURS | {"TENSOR_ARRAY_GRAD_LOOPS": "off"}
        return self._other(self._library, off).call(_RUN, seed, timeout=_TIMEOUT_S)

    def run_unoptimised(self, seed: int) -> Any:
        """Runs program `seed` on stock without its arithmetic optimizer."""
        return self._other(None, {UNOPTIMISED: "1"}).call(_RUN, seed, timeout=_TIMEOUT_S)

    def refresh(self) -> None:
        """Replaces both processes by new ones, which frees their memory."""
        for runner in (self.stock, self.ours):
            runner.restart()


def compare(
    pair: Pair, seeds: Iterable[int], options: Sequence[str] = (), quiet: bool = False
) -> Tally:
    """Runs the programs of these numbers; prints a line for each difference."""
    tally = Tally()
    start = time.monotonic()
    for count, seed in enumerate(seeds, 1):
        program = random_loop(seed)
        got, want = pair.run(seed, dict(campaign.SETTINGS[option](seed) for option in options))
        runs = (pair.run_without_loops, pair.run_stock, pair.run_ours, pair.run_unoptimised)
        again = (functools.partial(run, seed) for run in runs)
        for difference in tally.add(program, got, want, *again):
            print(f"seed {seed}: {difference}; program: {program}", flush=True)
        if count % _PROGRAMS_PER_PROCESS == 0:
            pair.refresh()
        if count % 20 == 0 and not quiet:
            rate = count / (time.monotonic() - start)
            print(f"\r{count} programs, {rate:.1f}/s ", end="", file=sys.stderr, flush=True)
    return tally


def _job(seeds: Sequence[int], library: str | None, options: Sequence[str]) -> Tally:
    with Pair(library) as pair:
        names = [campaign.SETTINGS[option](0)[0] for option in options]
        if names and not pair.ours.call(
            "tests.random_programs.random_loop_runs:has_settings", names
        ):
            raise SystemExit(f"random_loops: this library does not have {', '.join(names)}")
        return compare(pair, seeds, options)


def main() -> None:
    """Parses the command line and runs."""
    parser = campaign.parser(__doc__, programs=2000)
    parser.add_argument("--jobs", type=int, default=1, help="number of pairs of processes")
    parser.add_argument(
        "--library", default="enable", help="'enable', or 'none' to compare stock with itself"
    )
    args = campaign.parse(parser, lambda seed: f"# {random_loop(seed)}\n{random_loop(seed).text}")
    seeds = campaign.seeds(args)
    library = None if args.library == "none" else args.library
    parts = [seeds[k :: args.jobs] for k in range(args.jobs)]
    tally = Tally()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(_job, part, library, campaign.options(args)) for part in parts if part]
        for job in jobs:
            tally.merge(job.result())
    print(f"\nfeatures: {dict(sorted(tally.features.items()))}")
    print(f"programs that failed unexpectedly: {sorted(tally.unexpected)}")
    print(tally)
    sys.exit(1 if tally.differences else 0)


if __name__ == "__main__":
    # Run the `main` of the imported module, because the children return objects of its classes, and
    # the classes of `__main__` are different ones.
    from tests.random_programs import random_loops

    random_loops.main()
