"""What `explain()` has found: loops, where they run, how long they take, and why.

This module does not import TensorFlow, so that `python -m tensor_array_grad explain` need not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import html
import json
import pathlib
from collections.abc import Iterable

_LEGEND = (
    "One kernel: this library runs the loop. Executor: TensorFlow runs it, node by node. A loop "
    'without "what to do" needs no change.'
)
COLUMNS = ("loop", "kind", "runs", "iterations", "time", "share", "runs in")
FIGURES = slice(2, 6)  # the columns that have figures
_ORDERS = ("forward", "gradient", "gradient of the gradient")
_SHOWN = 0.005  # rows with a smaller share of the time are shown on request only


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """Where the user's program made a loop. `Loop` describes the fields."""

    file: str = ""
    line: int = 0
    function: str = ""
    layer: str = ""
    order: int = 0
    cause: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loop(Place):
    """A while loop of a program. All graphs in which the program's line made it are one loop.

    Attributes:
      file: The path of the file with the line that made the loop; "" if that is not known, as of a
        loop from a SavedModel.
      line: The number of that line, from 1; 0 if it is not known.
      function: The program's function with that line; the graph's function if it is not known.
      layer: The Keras layer that has the loop; "" if none has.
      name: The loop's name in its graph.
      order: 0 for a forward loop, 1 for the loop of its gradient, 2 for that of the gradient of the
        gradient, and so on.
      inside: The line of the loop around this one, as `file:line`; "" if there is none. Its time
        includes the time of this loop.
      runs: How often it ran.
      iterations: In all runs.
      seconds: In all runs, by a clock. That of an inner loop is part of the outer loop's.
      share: `seconds` as a part of the time that was observed.
      measured: Whether what the executor did is known. It is not if the graph was prepared before.
      runs_in: "one kernel", with two threads "one kernel, two threads": this library runs it.
        "executor": TensorFlow runs it, node by node. "executor, estimated faster": this library
        began to run it, measured, and handed it back.
      reason: Why the executor runs it, in a sentence; "" if it does not.
      cause: The line of the op that is the reason, as `file:line`; "" if there is none.
      gradient: What is linear in its gradient, by which rule, and what stays dense, and why.
      advice: What to do; empty if there is nothing.
    """

    name: str
    inside: str
    runs: int
    iterations: int
    seconds: float
    share: float
    measured: bool
    runs_in: str
    reason: str
    gradient: tuple[str, ...]
    advice: tuple[str, ...]

    @property
    def where(self) -> str:
        """The line, function and layer, as text."""
        place = f"{short(self.file)}:{self.line}" if self.file else self.name
        place += f" in {self.function}" if self.function not in ("", "<module>") else ""
        return place + (f", layer {self.layer}" if self.layer else "")

    @property
    def kind(self) -> str:
        """Forward, gradient or further gradient, and whether it is an inner loop, as text."""
        name = _ORDERS[self.order] if self.order < len(_ORDERS) else f"gradient {self.order}"
        return f"{name}, inside {self.inside}" if self.inside else name

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table with `COLUMNS`."""
        time = _duration(self.seconds)
        figures = (f"{self.runs:,}", f"{self.iterations:,}", time, f"{self.share:.0%}")
        return (self.where, self.kind, *(figures if self.measured else "?" * 4), self.runs_in)

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """What there is to say beside the figures, each with a title."""
        why = self.reason + (f" ({self.cause})" if self.cause and self.reason else "")
        notes = [("why", why), *(("gradient", text) for text in self.gradient)]
        notes += [("what to do", text) for text in self.advice]
        return tuple(note for note in notes if note[1])


@dataclasses.dataclass
class Loops:
    """What `explain()` has found. `str()` formats it as a table.

    Attributes:
      rows: The loops that ran, that with the most time first. Empty until the `with` ends.
      seconds: The time that was observed.
      threads: How many independent ops TensorFlow could run at the same time; 0 until the `with`
        ends. With more threads a loop of heavy ops gains less (docs/guide.md).
    """

    rows: tuple[Loop, ...] = ()
    seconds: float = 0.0
    threads: int = 0

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, every: bool = False) -> str:
        """The loops as a table.

        Args:
          every: Whether to show loops that took less than 0.5 % of the time, too.
        """
        shown = [row for row in self.rows if every or row.share >= _SHOWN or not row.measured]
        if not self.rows:
            return f"No while loop ran in {self.seconds:.2f} s."
        hidden = len(self.rows) - len(shown)
        less = f"took less than {_SHOWN:.1%} of the time each."
        if not shown:
            return f"All loops that ran ({hidden}) {less} {self.total}"
        cells = [COLUMNS, *(row.cells for row in shown)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = []
        for row, line in zip([None, *shown], cells, strict=True):
            lines.append("  ".join(_aligned(line, widths)).rstrip())
            lines += [f"    {title}: {text}" for title, text in (row.notes if row else ())]
        lines += [f"{hidden} more {less}"] * bool(hidden)
        lines.append(f"{self.total} {_LEGEND}")
        return "\n".join(lines)

    @property
    def total(self) -> str:
        """The time of all loops, and the number of threads, in two sentences."""
        seconds = sum(row.seconds for row in self.rows if not row.inside)
        return (
            f"Loops took {seconds:.2f} s of {self.seconds:.2f} s. Threads for independent ops: "
            f"{self.threads}."
        )

    __repr__ = __str__  # what an interactive interpreter shows

    def to_json(self) -> str:
        """`rows`, `seconds` and `threads` as JSON."""
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Loops:
        """The loops of `to_json`."""
        found = json.loads(text)
        lists = ("gradient", "advice")
        rows = [Loop(**row | {name: tuple(row[name]) for name in lists}) for row in found["rows"]]
        return Loops(tuple(rows), found["seconds"], found["threads"])

    @staticmethod
    def of_processes(texts: Iterable[str]) -> Loops:
        """The loops of a program, of which each process wrote `to_json`.

        The time and the number of threads are those of the process that was observed longest.
        """
        found = [Loops.from_json(text) for text in texts]
        longest = max(found, key=lambda each: each.seconds, default=Loops())
        seconds = longest.seconds
        rows = [row for each in found for row in each.rows]
        shares = [dataclasses.replace(row, share=row.seconds / seconds) for row in rows]
        ordered = tuple(sorted(shares, key=lambda row: -row.seconds))
        return Loops(ordered, seconds, longest.threads)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = ["".join(f"<th>{name}</th>" for name in COLUMNS)]
        for row in self.rows:
            rows.append("".join(f"<td>{html.escape(cell)}</td>" for cell in row.cells))
            rows += [
                f'<td colspan="{len(COLUMNS)}">&emsp;{title}: {html.escape(text)}</td>'
                for title, text in row.notes
            ]
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def short(file: str) -> str:
    """The name of a file relative to the working directory, if it is in there."""
    path = pathlib.Path(file)
    with contextlib.suppress(FileNotFoundError, ValueError):  # no working directory, or not in it
        return str(path.relative_to(pathlib.Path.cwd()))
    return path.name


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def _aligned(cells: Iterable[str], widths: Iterable[int]) -> list[str]:
    """Texts to the left, figures to the right."""
    return [
        cell.rjust(width) if FIGURES.start <= i < FIGURES.stop else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
