"""What `python -m tensor_array_grad compare` has found, as text and as JSON."""

from __future__ import annotations

import collections
import dataclasses
import json
import math
import pathlib
import statistics
from collections.abc import Callable

from tensor_array_grad import _outputs
from tensor_array_grad._counters import with_prefix

LIBRARIES = ("stock", "ours")
XLA = "ours, XLA"  # with the library and `jit_compile=True`, if the comparison was asked for it
_KEYS = {XLA: "ours_xla"}  # the names in JSON that differ from those on the page
_FIGURES = ("wall_s", "cpu_s", "peak_bytes")
_MEGABYTE = 1_000_000


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of the program."""

    wall_s: float
    cpu_s: float  # of the process and of the child processes that it has waited for
    peak_bytes: int  # the highest resident memory of one process
    output: str  # standard output of the program


@dataclasses.dataclass(frozen=True)
class Reports:
    """What the processes with the library reported (`_report`): the mean of all runs."""

    processes: int = 0  # that had the library
    silent: int = 0  # of these, that ended without a report
    inactive: tuple[str, ...] = ()  # why the library was not active, in the processes where so
    parts_off: tuple[str, ...] = ()  # parts that were not active in a process where others were
    # Those of `status()`, added up.
    counters: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    compilations: int = 0  # by XLA
    compile_s: float = 0.0  # seconds that they took
    jit_options_added: int = 0  # functions and Keras models that `_compiled` has compiled

    @staticmethod
    def read(folder: pathlib.Path, runs: int) -> Reports:
        """Reads the reports of `runs` runs, from `folder` and the folders in it."""
        texts = [path.read_text() for path in folder.rglob("*.json")]
        reports = [json.loads(text) for text in texts if text]
        total: collections.Counter[str] = collections.Counter()
        for report in reports:
            total.update(report["counters"])
        return Reports(
            math.ceil(len(texts) / runs),  # one process in any run is not hidden
            math.ceil((len(texts) - len(reports)) / runs),
            tuple(sorted({report["inactive"] for report in reports} - {""})),
            tuple(sorted({part for report in reports for part in report["parts_off"]})),
            collections.Counter({name: round(count / runs) for name, count in total.items()}),
            round(sum(report["compilations"] for report in reports) / runs),
            sum(report["compile_s"] for report in reports) / runs,
            math.ceil(sum(report["jit_options_added"] for report in reports) / runs),
        )


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

    runs: dict[str, list[Run]]
    reports: Reports
    compiled: Reports | None = None
    refusal: str = ""

    @property
    def differs(self) -> bool:
        """Whether the output with the library differs although all runs of stock agree."""
        return self._differs("ours")

    @property
    def compiled_differs(self) -> bool:
        """The same for the runs that XLA compiled; false if there are none."""
        return XLA in self.runs and self._differs(XLA)

    @property
    def output(self) -> str:
        """Says whether stock and this library printed the same on standard output."""
        return self._output("ours")

    @property
    def compiled_output(self) -> str:
        """The same for the runs that XLA compiled; empty if there are none."""
        return self._output(XLA) if XLA in self.runs else ""

    def _differs(self, library: str) -> bool:
        accepted = _outputs.XLA_ROUNDING if library == XLA else _outputs.ROUNDING
        stock_agrees = self._farthest("stock")[0] <= _outputs.ROUNDING
        return stock_agrees and self._farthest(library)[0] > accepted

    def _output(self, library: str) -> str:
        if self._farthest("stock")[0] > _outputs.ROUNDING:
            return "differs, between two runs of stock as well"
        rounding, text = self._farthest(library)
        if self._differs(library):
            first = _outputs.first_difference(self.runs["stock"][0].output, text, library)
            return f"DIFFERS: {first}"
        if rounding > 0:
            return f"the same but for rounding: the largest relative difference is {rounding:.1e}"
        return "the same in all runs"

    @property
    def loops_left(self) -> dict[str, int]:
        """How many loops were left to TensorFlow's executor, by reason."""
        return with_prefix(self.reports.counters, "loops.left.")

    @property
    def rewrites(self) -> dict[str, int]:
        """How often the graph pass applied each rule."""
        return with_prefix(self.reports.counters, "graph.")

    def median(self, library: str, figure: str) -> float:
        """The median of `wall_s`, `cpu_s` or `peak_bytes` over the runs of a library."""
        return float(statistics.median(getattr(run, figure) for run in self.runs[library]))

    def to_json(self) -> str:
        """The figures as JSON: a list per library and figure, and what the library did."""
        figures: dict[str, object] = {
            _KEYS.get(name, name): {
                figure: [getattr(run, figure) for run in runs] for figure in _FIGURES
            }
            for name, runs in self.runs.items()
        }
        return json.dumps(
            figures
            | {
                "output": self.output,
                "differs": self.differs,
                "processes": self.reports.processes,
                "processes_without_report": self.reports.silent,
                "inactive": self.reports.inactive,
                "parts_off": self.reports.parts_off,
                "loops_in_one_kernel": self.reports.counters["loops.prepared"],
                "loops_handed_back": self.reports.counters["loops.handed_back"],
                "loops_left": self.loops_left,
                "rewrites": self.rewrites,
            }
            | self._compiled_facts()
        )

    def _compiled_facts(self) -> dict[str, object]:
        if self.compiled is None:
            return {}
        return {
            "compilations": self.compiled.compilations,
            "compile_s": self.compiled.compile_s,
            "compiled_output": self.compiled_output,
            "compiled_differs": self.compiled_differs,
            "compiled_refusal": self.refusal,
        }

    def __str__(self) -> str:
        others = [name for name in self.runs if name != "stock"]
        rows = [["", "stock", *(cell for name in others for cell in (name, f"stock / {name}"))]]
        rows += [self._row("wall time", "wall_s", _seconds)]
        rows += [self._row("processor time", "cpu_s", _seconds)]
        rows += [self._row("peak memory", "peak_bytes", _megabytes)]
        widths = [12, *(width for name in others for width in (12, len(name) + 10))]
        lines = [
            f"{name:22}" + "".join(f"{cell:>{n}}" for cell, n in zip(cells, widths, strict=True))
            for name, *cells in rows
        ]
        lines += [f"{'output':22}  {self.output}", *self._compiled_lines(), *self._reasons()]
        return "\n".join(lines)

    def _compiled_lines(self) -> list[str]:
        """What is to be said of the runs that XLA compiled."""
        if self.compiled is None:
            return []
        if XLA not in self.runs:
            return [f"{'output, XLA':22}  none: {self.refusal}"]
        compiled = self.compiled
        lines = [f"{'output, XLA':22}  {self.compiled_output}"]
        lines += [
            f"{'compiled by XLA':22}  {compiled.compilations}, "
            f"in {compiled.compile_s:.2f} s of the wall time"
        ]
        if self.refusal:
            number = len(self.runs[XLA]) + 1
            lines += [f"{'failed, XLA':22}  run {number}, which is left out: {self.refusal}"]
        if compiled.processes and not compiled.silent and not compiled.jit_options_added:
            lines += [
                "No tf.function and no Keras model leaves jit_compile open, so XLA compiled only "
                "what it compiles in the other runs too."
            ]
        return lines

    def _farthest(self, library: str) -> tuple[float, str]:
        """The output that differs most from that of stock's first run, after its `rounding`."""
        stock = self.runs["stock"][0].output
        return max((_outputs.rounding(stock, run.output), run.output) for run in self.runs[library])

    def _row(self, name: str, figure: str, shown: Callable[[float], str]) -> list[str]:
        values = {library: self.median(library, figure) for library in self.runs}
        stock = values.pop("stock")
        row = [name, shown(stock)]
        for value in values.values():
            row += [shown(value), f"{stock / value:.2f}" if value else "-"]
        return row

    def _reasons(self) -> list[str]:
        """The lines that say why the library helps this program, or why it does not."""
        reports = self.reports
        if not reports.processes:
            return [
                "No process had the library: none imported TensorFlow and kept its environment."
            ]
        prepared = reports.counters["loops.prepared"]
        counts = [("loops in one kernel", f"{prepared}")]
        if handed_back := reports.counters["loops.handed_back"]:
            counts += [("loops handed back", f"{handed_back} times, to stock")]
        counts += [("loops left to stock", f"{n}: {why}") for why, n in self.loops_left.items()]
        counts += [(f"rewritten: {rule}", f"{n}") for rule, n in self.rewrites.items() if n]
        lines = [f"The library was not active: {why}" for why in reports.inactive]
        lines += [f"Not active: {part}" for part in reports.parts_off]
        lines += [f"{name:22}  {what}" for name, what in counts]
        ours = [with_prefix(reports.counters, "kernels."), self.rewrites]
        used = prepared or any(count for counts in ours for count in counts.values())
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


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s"


def _megabytes(size: float) -> str:
    return f"{size / _MEGABYTE:,.0f} MB"
