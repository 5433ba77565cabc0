"""The same loops in PyTorch and JAX: `python -m benchmarks.peers [--quick] [case ...]`.

There are four loops with their gradients: `read` reads its input from an array, `scan` is
`tf.scan`, `index` reads `x[i]`, `plain` has no array. They are measured in eager PyTorch, in JAX as
a compiled `lax.scan`, on stock, on ours, and on ours with `jit_compile=True`. PyTorch reads a row
from the result of `unbind`, or with `x[i]`. The time of the gradient of `x[i]` is quadratic in the
number of steps, in PyTorch and in JAX (in the body of the scan). The measurements alternate, each
in a separate process, and all must compute the same gradient. `pip install '.[peers]'` installs
PyTorch and JAX. A package that is not installed is left out.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import harness, indexing, lists
from benchmarks.case import Case, Prepared, of_call
from benchmarks.harness import Attempt, Plan, Server
from benchmarks.rows import OURS_JIT
from benchmarks.traced import of_loss, values

_SIZES = (1_600, 6_400, 25_600)
_PACKAGES = ("torch", "jax")

Gradient = Callable[[], npt.NDArray[Any]]


@dataclasses.dataclass(frozen=True)
class Column:
    """One way to run the loops: a column of the table.

    Attributes:
      title: The heading of the column.
      library: `stock`, `ours` or `ours_jit`: the library of the server. PyTorch and JAX do not use
        it.
      suffix: The part of its cases' names that follows the name of the loop.
      package: The package that must be installed, if any.
    """

    title: str
    library: str = "stock"
    suffix: str = ""
    package: str | None = None


COLUMNS = (
    Column("stock"),
    Column("ours", "ours"),
    Column("ours, XLA", OURS_JIT),
    Column("PyTorch", suffix=".torch", package="torch"),
    Column("JAX lax.scan", suffix=".jax", package="jax"),
)


@dataclasses.dataclass(frozen=True)
class PeerRow:
    """One loop at one size: a line of the table and of the JSON file.

    Attributes:
      case: Name of the loop.
      n: Number of iterations.
      seconds: Median time by column; `None` if the column was not measured.
      spread_s: Median absolute deviation by column.
      notes: Why a column was not measured, by column.
    """

    case: str
    n: int
    seconds: Mapping[str, float | None]
    spread_s: Mapping[str, float | None]
    notes: Mapping[str, str]


# PyTorch and JAX are imported inside the functions that use them, so only in the forked child of a
# server. Listing the cases then needs neither package, and processes that measure TensorFlow do not
# import them.
def _torch(loss: Callable[[Any], Any]) -> Callable[[int], Prepared]:
    """A case of n steps: PyTorch's gradient of `loss` in an input of n rows."""

    def build(n: int) -> Prepared:
        import torch

        # The rows are too small to divide among threads, which would only wait for each other.
        torch.set_num_threads(1)
        x = torch.from_numpy(values(n)).requires_grad_()

        def gradient() -> npt.NDArray[Any]:
            (found,) = torch.autograd.grad(loss(x), x)
            return np.asarray(found)

        return of_call(gradient)

    return build


def _torch_read(indexed: bool) -> Callable[[Any], Any]:
    def loss(x: Any) -> Any:
        h = x.new_zeros(x.shape[1])
        for row in (x[i] for i in range(len(x))) if indexed else x.unbind():
            h = h * 0.5 + row
        return (h * h).sum()

    return loss


def _torch_scan(x: Any) -> Any:
    h, total = x[0], (x[0] * x[0]).sum()
    for row in x.unbind()[1:]:
        h = h * 0.5 + row
        total = total + (h * h).sum()
    return total


def _torch_plain(x: Any) -> Any:
    row = x.mean(0)
    h = row.new_zeros(row.shape)
    for _ in range(len(x)):
        h = (h * 0.5 + row).tanh()
    return h.sum()


def _jax(loss: Callable[[Any], Any]) -> Callable[[int], Prepared]:
    """A case of n steps: the compiled gradient of `loss` in an input of n rows, in JAX."""

    def build(n: int) -> Prepared:
        import jax

        x, compiled = jax.numpy.asarray(values(n)), jax.jit(jax.grad(loss))
        return of_call(lambda: np.asarray(compiled(x)))

    return build


def _jax_read(x: Any) -> Any:
    import jax

    h, _ = jax.lax.scan(lambda h, row: (h * 0.5 + row, None), jax.numpy.zeros_like(x[0]), x)
    return (h * h).sum()


def _jax_scan(x: Any) -> Any:
    import jax

    def step(h: Any, row: Any) -> tuple[Any, Any]:
        h = h * 0.5 + row
        return h, h

    _, held = jax.lax.scan(step, x[0], x[1:])
    return (x[0] * x[0]).sum() + (held * held).sum()


def _jax_index(x: Any) -> Any:
    import jax

    step = lambda h, i: (h * 0.5 + x[i], None)  # noqa: E731
    h, _ = jax.lax.scan(step, jax.numpy.zeros_like(x[0]), jax.numpy.arange(len(x)))
    return (h * h).sum()


def _jax_plain(x: Any) -> Any:
    import jax

    row = x.mean(0)

    def step(h: Any, _: None) -> tuple[Any, None]:
        return jax.numpy.tanh(h * 0.5 + row), None

    h, _ = jax.lax.scan(step, jax.numpy.zeros_like(row), None, length=len(x))
    return h.sum()


def _case(name: str, what: str, build: Callable[[int], Prepared]) -> Case:
    return Case(name, what, _SIZES, build)


LOOPS = ("read", "scan", "index", "plain")
CASES = (
    _case("read", "tf.while_loop, reads", of_loss(lists.LOSSES["read"])),
    _case("read.torch", "PyTorch, unbind", _torch(_torch_read(indexed=False))),
    _case("read.jax", "JAX, lax.scan", _jax(_jax_read)),
    _case("scan", "tf.scan", of_loss(lists.LOSSES["scan"])),
    _case("scan.torch", "PyTorch, unbind", _torch(_torch_scan)),
    _case("scan.jax", "JAX, lax.scan", _jax(_jax_scan)),
    _case("index", "tf.while_loop, x[i]", of_loss(indexing.index)),
    _case("index.torch", "PyTorch, x[i]", _torch(_torch_read(indexed=True))),
    _case("index.jax", "JAX, lax.scan, x[i]", _jax(_jax_index)),
    _case("plain", "tf.while_loop, without arrays", of_loss(lists.LOSSES["plain"])),
    _case("plain.torch", "PyTorch", _torch(_torch_plain)),
    _case("plain.jax", "JAX, lax.scan", _jax(_jax_plain)),
)


def missing() -> dict[str, str]:
    """For each package that is not installed, a sentence that says how to install it."""
    return {
        package: f"{package} is not installed; pip install 'tensor_array_grad[peers]' installs it"
        for package in _PACKAGES
        if importlib.util.find_spec(package) is None
    }


def compare(
    loop: str, n: int, servers: Mapping[str, Server], plan: Plan, smaller: PeerRow | None = None
) -> PeerRow:
    """Measures one loop at one size in every column, in turn.

    Args:
      loop: One of `LOOPS`.
      n: Number of iterations.
      servers: One for each library of `COLUMNS`.
      plan: How much to measure.
      smaller: The row of the next smaller size. A column that failed at that size, or would take
        too long at `n` if its time is quadratic, is left out.

    Returns:
      The row.

    Raises:
      AssertionError: The results of two columns differ.
    """
    known, absent = {case.name: case for case in CASES}, missing()
    notes = _left_out(smaller, n, plan)
    attempts: dict[str, Attempt] = {}
    for column in COLUMNS:
        if column.package in absent:
            notes[column.title] = absent[column.package]
        else:
            measure = servers[column.library].measure
            attempts[column.title] = functools.partial(
                measure, known[loop + column.suffix], n, plan
            )
    found = harness.alternate(attempts, plan, notes)
    measured = {title: runs for title, runs in found.items() if runs}
    for title, runs in measured.items():
        harness.check_same(f"{loop}, n={n}, {title}", next(iter(measured.values()))[0], runs[0])
    pairs = {
        column.title: harness.middle_and_spread(m.seconds for m in found.get(column.title, ()))
        for column in COLUMNS
    }
    return PeerRow(
        case=loop,
        n=n,
        seconds={title: middle for title, (middle, _) in pairs.items()},
        spread_s={title: spread for title, (_, spread) in pairs.items()},
        notes=notes,
    )


def _left_out(smaller: PeerRow | None, n: int, plan: Plan) -> dict[str, str]:
    """The columns that are not measured at `n`, and why."""
    if smaller is None:
        return {}
    notes = dict(smaller.notes)
    for title, seconds in smaller.seconds.items():
        if seconds is not None and seconds * (n / smaller.n) ** 2 > plan.limit_s:
            notes[title] = "not run, it would take too long"
    return notes


def header() -> str:
    """The header of the table."""
    titles = [column.title for column in COLUMNS]
    return f"| loop | n | {' | '.join(titles)} |\n|---|{'---:|' * (1 + len(titles))}"


def line(row: PeerRow) -> str:
    """One row of the table, then why columns were left out, except missing packages."""
    from benchmarks import report  # not at the top, so servers do not import matplotlib

    cells = [report.seconds(row.seconds[column.title]) for column in COLUMNS]
    text = f"| {row.case} | {row.n:,} | {' | '.join(cells)} |"
    known = missing().values()
    reasons = [f"{k}: {v.splitlines()[-1]}" for k, v in row.notes.items() if v not in known]
    return f"{text} {'; '.join(reasons)}".rstrip()


def _versions() -> dict[str, str]:
    return {
        package: importlib.metadata.version(package)
        for package in _PACKAGES
        if package not in missing()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints each row when it is complete, and writes the JSON rows.

    Args:
      arguments: The command line; `None` means that of this process.

    Returns:
      The exit code, always 0: no ratio is asked for.
    """
    options = harness.parser_for("python -m benchmarks.peers").parse_args(arguments)
    plan, rows = harness.plan_for(options), []
    facts = harness.machine() | _versions()
    print(facts, *missing().values(), header(), sep="\n", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    libraries = sorted({column.library for column in COLUMNS})
    with harness.servers_for("benchmarks.peers", libraries) as servers:
        for case in harness.matching([c for c in CASES if c.name in LOOPS], options.cases):
            row = None
            for n in case.sizes_within(plan.largest_n):
                row = compare(case.name, n, servers, plan, row)
                rows.append(row)
                print(line(row), flush=True)
                harness.write_rows(rows, facts, options.out / "peers.jsonl")
    return 0


if __name__ == "__main__":
    sys.exit(main())
