"""What a comparison of stock and this library has found, as text and as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from tensor_array_grad._counters import with_prefix
from tensor_array_grad._report import Reports
from tensor_array_grad._runs import OURS, STOCK, XLA, Run

_KEYS = {XLA: "ours_xla"}  # the names in JSON that differ from those on the page
_FIGURES = ("wall_s", "cpu_s", "peak_bytes", "start_wall_s", "start_cpu_s")
_NO_RATIO = ("start_wall_s", "start_cpu_s")  # no library changes them
_MEGABYTE = 1_000_000
# Two floating-point numbers are the same but for rounding if they differ by no more than this part
# of the larger one.
_ROUNDING = 1e-5
_XLA_ROUNDING = 1e-3  # the same for XLA, which computes some functions in another way
_FLOAT = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?")
_CONTEXT = 40  # characters on each side of the first difference


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The runs of one program. Times are in seconds.

    Attributes:
      runs: By library: stock, ours, and `XLA` if at least one such run ended well.
      reports: Of the runs with the library.
      compiled: Of the runs that XLA compiled and that ended well; None if none were asked for.
      refusal: The error of the run that XLA compiled and that failed, if one did. It is the last
        run of its kind. The figures are those of the runs before it.
    """

    runs: Mapping[str, Sequence[Run]]
    reports: Reports
    compiled: Reports | None = None
    refusal: str = ""

    @property
    def exit_status(self) -> int:
        """1 if the output with the library differs, or if the library was not active; else 0."""
        return 1 if self.differs() or self.reports.inactive else 0

    def differs(self, library: str = OURS) -> bool:
        """Whether the output with `library` differs although all runs of stock agree."""
        accepted = _XLA_ROUNDING if library == XLA else _ROUNDING
        return self._stock_agrees() and self._farthest(library)[0] > accepted

    def output(self, library: str = OURS) -> str:
        """Says whether stock and `library` printed the same; empty if there is no run of it."""
        if library not in self.runs:
            return ""
        if not self._stock_agrees():
            return "differs, between two runs of stock as well"
        rounding, text = self._farthest(library)
        if self.differs(library):
            first = first_difference(self.runs[STOCK][0].output, text, library)
            return f"DIFFERS: {first}"
        if rounding > 0:
            return f"the same but for rounding: the largest relative difference is {rounding:.1e}"
        return "the same in all runs"

    def _stock_agrees(self) -> bool:
        return self._farthest(STOCK)[0] <= _ROUNDING

    def _farthest(self, library: str) -> tuple[float, str]:
        """The output that differs most from that of stock's first run, after its `rounding`.

        Without a run of `library`, it is an empty one that does not differ.
        """
        stock = self.runs[STOCK][0].output
        texts = [run.output for run in self.runs.get(library, ())]
        return max(((rounding(stock, text), text) for text in texts), default=(0.0, ""))

    def to_json(self) -> str:
        """The figures as JSON: a list per library and figure, and what the library did."""
        facts: dict[str, object] = {
            _KEYS.get(name, name): {
                figure: [getattr(run, figure) for run in runs] for figure in _FIGURES
            }
            for name, runs in self.runs.items()
        }
        facts["ratios"] = {
            _KEYS.get(name, name): {
                figure: self.ratio(figure, name)
                for figure in ("wall_s", "work_wall_s", "cpu_s", "work_cpu_s")
            }
            for name in self.runs
            if name != STOCK
        }
        facts |= {
            "output": self.output(),
            "differs": self.differs(),
            "processes": self.reports.processes,
            "processes_without_report": self.reports.silent,
            "inactive": self.reports.inactive,
            "parts_off": self.reports.parts_off,
            "threads": self.reports.threads,
            "loops_in_one_kernel": self.reports.counters["loops.prepared"],
            "loops_handed_back": self.reports.counters["loops.handed_back"],
            "loops_left": with_prefix(self.reports.counters, "loops.left."),
            "rewrites": with_prefix(self.reports.counters, "graph."),
        }
        if self.compiled is not None:
            facts |= {
                "compilations": self.compiled.compilations,
                "compile_s": self.compiled.compile_s,
                "compiled_output": self.output(XLA),
                "compiled_differs": self.differs(XLA),
                "compiled_refusal": self.refusal,
            }
        return json.dumps(facts)

    def __str__(self) -> str:
        others = [name for name in self.runs if name != STOCK]
        rows = [["", STOCK, *(cell for name in others for cell in (name, f"stock / {name}"))]]
        for name, figure in (("wall time", "wall_s"), ("processor time", "cpu_s")):
            rows += [self._row(name, figure, "{:.2f} s".format)]
            if self._has_starts():
                rows += [self._row(f"{name}, start", f"start_{figure}", "{:.2f} s".format)]
                rows += [self._row(f"{name}, rest", f"work_{figure}", "{:.2f} s".format)]
        rows += [self._row("peak memory", "peak_bytes", lambda n: f"{n / _MEGABYTE:,.0f} MB")]
        widths = [12, *(width for name in others for width in (12, len(name) + 10))]
        lines = [
            f"{name:22}" + "".join(f"{cell:>{n}}" for cell, n in zip(cells, widths, strict=True))
            for name, *cells in rows
        ]
        facts = [("output", self.output()), *self._compiled_facts(), *self._counts()]
        lines += [f"{name:22}  {fact}" for name, fact in facts]
        return "\n".join([*lines, *self._remarks()])

    def _row(self, name: str, figure: str, shown: Callable[[float], str]) -> list[str]:
        """The medians of a figure over the runs of each library."""
        row = [name]
        for library, runs in self.runs.items():
            row += [shown(statistics.median(getattr(run, figure) for run in runs))]
            if library != STOCK:
                ratio = self.ratio(figure, library)
                text = "-" if ratio is None else f"{ratio:.2f}"
                row += ["" if figure in _NO_RATIO else text]
        return row

    def ratio(self, figure: str, library: str = OURS) -> float | None:
        """The median of a figure on stock by that with `library`; None if it is not known.

        `work_wall_s` and `work_cpu_s` are those without the start of the program.
        """
        stock, other = (
            [getattr(run, figure) for run in self.runs[name]] for name in (STOCK, library)
        )
        if None in stock or None in other or not statistics.median(other):
            return None
        return float(statistics.median(stock) / statistics.median(other))

    def _has_starts(self) -> bool:
        """Whether all runs have run an op, so that what came before it is known."""
        return all(run.start_wall_s is not None for runs in self.runs.values() for run in runs)

    def _compiled_facts(self) -> list[tuple[str, str]]:
        """What is known of the runs that XLA compiled."""
        if self.compiled is None:
            return []
        if XLA not in self.runs:
            return [("output, XLA", f"none: {self.refusal}")]
        compiled = self.compiled
        time = f"{compiled.compilations}, in {compiled.compile_s:.2f} s of the wall time"
        facts = [("output, XLA", self.output(XLA)), ("compiled by XLA", time)]
        if self.refusal:
            run = f"run {len(self.runs[XLA]) + 1}, which is left out: {self.refusal}"
            facts += [("failed, XLA", run)]
        return facts

    def _counts(self) -> list[tuple[str, str]]:
        """How many threads there were, and what the library did with the loops."""
        counters = self.reports.counters
        if not self.reports.processes:
            return []
        facts = [("threads for ops", f"{self.reports.threads}")] * bool(self.reports.threads)
        facts += [("loops in one kernel", f"{counters['loops.prepared']}")]
        if handed_back := counters["loops.handed_back"]:
            facts += [("loops handed back", f"{handed_back} times, to stock")]
        left, rewrites = (with_prefix(counters, prefix) for prefix in ("loops.left.", "graph."))
        facts += [("loops left to stock", f"{n}: {why}") for why, n in left.items()]
        facts += [(f"rewritten: {rule}", f"{n}") for rule, n in rewrites.items() if n]
        return facts

    def _remarks(self) -> list[str]:
        """Why the library does not help this program, or why that is not known."""
        reports, compiled = self.reports, self.compiled if XLA in self.runs else None
        lines = []
        if compiled and compiled.processes and not compiled.silent + compiled.jit_options_added:
            lines += [
                "No tf.function and no Keras model leaves jit_compile open, so XLA compiled only "
                "what it compiles in the other runs too."
            ]
        if not reports.processes:
            return [
                *lines,
                "No process had the library: none imported TensorFlow and kept its environment.",
            ]
        lines += [f"The library was not active: {why}" for why in reports.inactive]
        lines += [f"Not active: {part}" for part in reports.parts_off]
        used = any(
            count
            for name, count in reports.counters.items()
            if name.startswith(("kernels.", "graph.", "loops.prepared"))
        )
        if reports.silent:
            lines += [
                f"{reports.silent} of {reports.processes} processes ended without a report (fork, "
                "os._exit or signal), so what the library did there is not counted."
            ]
        elif not used and not reports.inactive:
            lines += [
                "No kernel of the library ran, and no graph was rewritten. (In functions with "
                "jit_compile=True, the library changes gradients only.)"
            ]
        return lines


def rounding(stock: str, ours: str) -> float:
    """The largest relative difference of two floating-point numbers in the same place.

    0 if the texts are equal but for the amount of white space, with which NumPy aligns numbers;
    infinity if they differ in anything but finite floating-point numbers.
    """
    if stock == ours:
        return 0.0
    texts = [[" ".join(part.split()) for part in _FLOAT.split(text)] for text in (stock, ours)]
    if texts[0] != texts[1]:
        return float("inf")
    numbers = [map(float, _FLOAT.findall(text)) for text in (stock, ours)]
    pairs = [(a, b) for a, b in zip(*numbers, strict=True) if a != b or math.isinf(a)]
    if not all(math.isfinite(number) for pair in pairs for number in pair):
        return float("inf")
    return max((abs(a - b) / max(abs(a), abs(b)) for a, b in pairs), default=0.0)


def first_difference(stock: str, ours: str, name: str = "ours") -> str:
    """Shows the first line that differs in both texts; `name` is that of `ours`."""
    lines = stock.splitlines(), ours.splitlines()
    for number, (mine, theirs) in enumerate(zip(*lines, strict=False), 1):
        if mine != theirs:
            column = next(i for i, (a, b) in enumerate(zip_longest(mine, theirs)) if a != b)
            shown = [_around(line, column) for line in (mine, theirs)]
            return f"line {number} is {shown[0]} on stock and {shown[1]} on {name}"
    if len(lines[0]) == len(lines[1]):
        return "only the ends of lines differ"
    return f"stock printed {len(lines[0])} lines, {name} {len(lines[1])}"


def _around(line: str, column: int) -> str:
    first, last = max(0, column - _CONTEXT), column + _CONTEXT
    return "..." * (first > 0) + repr(line[first:last]) + "..." * (last < len(line))
