"""The table, the JSON rows and the pictures of a benchmark."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Sequence
from typing import Any, cast

import matplotlib
from matplotlib.figure import Figure

from benchmarks.rows import OURS_JIT, RESULTS, STOCK_JIT, STOCK_KERNELS, Other, Row
from benchmarks.series import Series
from tensor_array_grad.demo import curves
from tensor_array_grad.demo.curves import OURS_COLOUR, STOCK_COLOUR, Curve

_NOISE = 0.05  # relative error of a ratio, caused by the timer and the scheduler
_HEADING = "## Last results\n"
_MODES = {True: "With oneDNN:\n\n", False: "Without oneDNN:\n\n"}
_PAGE = 1 << 20  # bytes; peaks that differ by less than this, or a twentieth, count as equal

_COLUMNS = (
    "case | n | stock | +- | ours | +- | stock / ours | cpu ratio | asked "
    "| stock peak MB | ours peak MB"
)
_OTHER_COLUMNS = (
    "case | n | stock | ours | stock kernels | XLA | first call | XLA, ours | first call "
    "| XLA / XLA, ours | note"
)
_SERIES_COLUMNS = (
    "case | n | stock | +- | ours | +- | median | mean | second call | cpu ratio | asked "
    "| in one kernel | handed back | passed on"
)
# The files of results that are shown as tables in README.md.
_TABLES = ("lists", "loops", "ops", "short", "first_call", "cores", "indexing", "v3", "programs")
# The picture near the top of the package's README.md: its panels, each a case of one of the files.
GAINS = {
    "tf.scan": ("lists", "scan"),
    "x[i]": ("indexing", "index"),
    "Keras LSTM": ("lists", "lstm"),
}
# A picture is as wide as the screen of a phone, in inches, so that its text can be read there.
_WIDTH, _COLUMNS_OF_PANELS = 5.0, 3
_STYLE: Any = {
    "figure.figsize": (_WIDTH, 2.1),
    "savefig.dpi": 180,
    "font.size": 8,
    "axes.titlesize": 8,
    "figure.labelsize": 8,
    "lines.linewidth": 1.5,
    "lines.markersize": 3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.w_pad": 0.06,
    "figure.constrained_layout.h_pad": 0.06,
}


def _header(columns: str) -> str:
    return f"| {columns} |\n|---|{'---:|' * columns.count('|')}"


def header(of_series: bool = False) -> str:
    """The header of a table; `of_series`: of rows whose calls were timed one by one."""
    return _header(_SERIES_COLUMNS if of_series else _COLUMNS)


def line(row: Row) -> str:
    """One row of the table.

    Args:
      row: The row of results.

    Returns:
      A line of Markdown.
    """
    times = [row.stock_s, row.stock_spread_s, row.ours_s, row.ours_spread_s]
    cells = [f"{row.case}: {row.what}", f"{row.n:,}", *map(seconds, times)]
    cells += _figures_of_series(row, row.series) if row.series else _figures(row)
    note = f" {row.note.splitlines()[-1]}" if row.note else ""
    return f"| {' | '.join(cells)} |{note}"


def _figures(row: Row) -> list[str]:
    return [
        _ratio(row.ratio),
        _ratio(row.cpu_ratio),
        f"{row.target:g}" if row.target else "-",
        _megabytes(row.stock_peak_bytes),
        _megabytes(row.ours_peak_bytes),
    ]


def _figures_of_series(row: Row, found: Series) -> list[str]:
    runs = (found.in_one_kernel, found.handed_back, found.passed_on)
    return [
        _ratio(row.ratio, row.target),
        _ratio(found.mean, row.target),
        _ratio(found.second, found.second_target),
        _ratio(row.cpu_ratio),
        f"{row.target:g}, {found.second_target:g}",
        *(f"{count:,}" for count in runs),
    ]


def _ratio(value: float | None, target: float = 0.0) -> str:
    """A ratio, in bold type if it is below `target`."""
    if value is None:
        return "-"
    return f"**{value:,.2f}**" if value < target else f"{value:,.2f}"


def table_of_others(rows: Sequence[Row]) -> str:
    """The table of other ways to run the cases, for the rows that have such measurements.

    Args:
      rows: The rows of results.

    Returns:
      Markdown with a heading; empty if no row has such a measurement.
    """
    measured = [row for row in rows if row.others]
    if not measured:
        return ""
    lines = [_line_of_others(row) for row in measured]
    heading = "With `jit_compile=True` (XLA), and with the library on stock's kernels:"
    return "\n".join(["", heading, "", _header(_OTHER_COLUMNS), *lines, ""])


def _line_of_others(row: Row) -> str:
    jit, ours = (row.others.get(name, Other()) for name in (STOCK_JIT, OURS_JIT))
    kept = row.others.get(STOCK_KERNELS, Other())
    ratio = jit.seconds / ours.seconds if jit.seconds and ours.seconds else None
    times = [row.stock_s, row.ours_s, kept.seconds, jit.seconds, jit.first_s]
    notes = {name: other.note for name, other in row.others.items() if other.note}
    cells = [
        row.case,
        f"{row.n:,}",
        *map(seconds, [*times, ours.seconds, ours.first_s]),
        "-" if ratio is None else f"{ratio:,.2f}",
        "; ".join(f"{name}: {note}" for name, note in notes.items()).replace("|", "/"),
    ]
    return f"| {' | '.join(cells)} |"


def seconds(value: float | None) -> str:
    """A duration, formatted in s, ms, us or ns."""
    if value is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def complaints(rows: Sequence[Row]) -> list[str]:
    """The failures: a ratio below its target, a peak above stock's, a case that failed.

    Args:
      rows: The rows of results.

    Returns:
      A sentence for each failure.
    """
    found = []
    for row in rows:
        name = f"{row.case} at n={row.n:,}"
        if row.ours_s is None:
            found.append(f"{name} failed: {row.note}")
        for what, ratio, target in _asked(row):
            if ratio is not None and ratio < target * (1 - _NOISE):
                found.append(f"{name}: {what} {ratio:.2f}, asked {target:g}")
        stock, ours = row.stock_peak_bytes, row.ours_peak_bytes
        if stock is not None and ours is not None and ours > stock + max(_PAGE, stock // 20):
            found.append(f"{name}: peak {_megabytes(ours)} MB, stock {_megabytes(stock)} MB")
    return found


def _asked(row: Row) -> list[tuple[str, float | None, float]]:
    """What is asked of a row: the name of each ratio, the ratio, and its target."""
    asked = [("ratio", row.ratio, row.target), ("cpu ratio", row.cpu_ratio, row.cpu_target)]
    if row.series:
        asked.append(("ratio of the means", row.series.mean, row.target))
        asked.append(("ratio of the second calls", row.series.second, row.series.second_target))
    return asked


def judge(rows: Sequence[Row]) -> int:
    """Prints the complaints.

    Args:
      rows: The rows of results.

    Returns:
      The exit code: 0 if there are no complaints, else 1.
    """
    found = complaints(rows)
    for complaint in found:
        print("BELOW TARGET", complaint)
    return 1 if found else 0


def keep(rows: Sequence[Row], facts: dict[str, Any], stem: pathlib.Path) -> None:
    """Writes `stem`.jsonl, one line per row. Other rows that the file has are kept.

    Args:
      rows: The new rows. They replace rows of the same case and size, with or without oneDNN.
      facts: The machine; written with every row.
      stem: Path without its suffix.
    """
    path = stem.with_suffix(".jsonl")
    new = [dataclasses.asdict(row) | {"machine": facts} for row in rows]
    held = {(r["case"], r["n"], _onednn(r)): r for r in [*_read(path), *new]}
    path.write_text("".join(f"{json.dumps(record)}\n" for record in held.values()))


def write(rows: Sequence[Row], facts: dict[str, Any], stem: pathlib.Path) -> None:
    """Writes `rows` by `keep`, and draws the `first_rows` of the file.

    Args:
      rows: The new rows.
      facts: The machine.
      stem: Path without its suffix.
    """
    keep(rows, facts, stem)
    path = stem.with_suffix(".jsonl")
    print("Written:", path, *draw(first_rows(path), stem).values())


def draw(rows: Sequence[Row], stem: pathlib.Path) -> dict[str, pathlib.Path]:
    """Draws the ratios as `stem`.png, and cases of more than two sizes as `stem`_growth.png.

    Args:
      rows: The rows of results.
      stem: Path without its suffix.

    Returns:
      The paths of the pictures, by what they show.
    """
    pictures = {"Stock's time divided by ours.": stem.with_suffix(".png")}
    growing = {name: sizes for name, sizes in _by_case(rows).items() if len(sizes) > 2}
    with matplotlib.rc_context(_STYLE):
        _draw_ratios(rows, *pictures.values())
        if growing:
            growth = stem.with_name(f"{stem.name}_growth.png")
            pictures["Time of a call with its gradient, by the number of steps."] = growth
            _draw_growth(growing, growth)
    return pictures


def files_of_results() -> list[pathlib.Path]:
    """The files of the tables that were measured."""
    files = [RESULTS / f"{table}.jsonl" for table in _TABLES]
    return [path for path in files if path.exists()]


def rewrite_readme(readme: pathlib.Path, results: Sequence[pathlib.Path]) -> None:
    """Replaces the tables and pictures at the end of the page by those of `results`.

    Args:
      readme: The page. Everything after its heading of results is replaced.
      results: `.jsonl` files, beside which the pictures are drawn.
    """
    page = readme.read_text().split(_HEADING)[0] + _HEADING
    for path in results:
        page += f"\n### {path.stem}\n\n"
        for what, picture in draw(first_rows(path), path.with_suffix("")).items():
            page += f"![{what}]({picture.relative_to(readme.parent).as_posix()})\n\n"
        page += "\n".join(map(_table, _by_onednn(path)))
    readme.write_text(page)


def _table(records: Sequence[dict[str, Any]]) -> str:
    """The tables of records that were all measured with, or all without oneDNN."""
    rows = _rows(records)
    text = f"{_MODES[_onednn(records[0])]}{header(any(row.series for row in rows))}\n"
    text += "".join(f"{line(row)}\n" for row in rows) + table_of_others(rows)
    machines = dict.fromkeys(json.dumps(record["machine"]) for record in records)
    text += "\nMachine, with its load when each part was measured:\n\n"
    return text + "".join(f"    {machine}\n" for machine in machines)


def gains(results: pathlib.Path) -> list[Curve]:
    """The times of the cases of GAINS.

    Args:
      results: The folder of the `.jsonl` files.

    Returns:
      One curve for each case.
    """
    return [
        _curve(title, [row for row in first_rows(results / f"{table}.jsonl") if row.case == case])
        for title, (table, case) in GAINS.items()
    ]


def draw_gains(lines: Sequence[Curve], path: pathlib.Path) -> None:
    """Draws one panel per curve, with the times and the ratio at the end.

    Args:
      lines: The curves.
      path: The `.png` file to write.
    """
    label = "time of a call with its gradient, by the number of its steps"
    curves.save(path, lines, _STYLE, label)


def _read(path: pathlib.Path) -> list[dict[str, Any]]:
    """The records of a `.jsonl` file; none if there is no file."""
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines()]


def _onednn(record: dict[str, Any]) -> bool:
    """Whether oneDNN was on when a record was measured."""
    return cast(bool, record["machine"]["onednn"])


def _by_onednn(path: pathlib.Path) -> list[list[dict[str, Any]]]:
    """The records of a file in one list with oneDNN, the first, and one without it."""
    found: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for record in _read(path):
        found[_onednn(record)].append(record)
    return [records for records in found.values() if records]


def first_rows(path: pathlib.Path) -> list[Row]:
    """The rows of which the pictures are drawn: those with oneDNN, and others where it has none."""
    rows = [row for records in reversed(_by_onednn(path)) for row in _rows(records)]
    return list({(row.case, row.n): row for row in rows}.values())


def _row(record: dict[str, Any]) -> Row:
    fields = {name: value for name, value in record.items() if name != "machine"}
    fields["others"] = {name: Other(**other) for name, other in fields["others"].items()}
    if fields.get("series"):
        fields["series"] = Series(**fields["series"])
    return Row(**fields)


def _rows(records: Sequence[dict[str, Any]]) -> list[Row]:
    return list(map(_row, records))


def _by_case(rows: Sequence[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.case, []).append(row)
    return grouped


def _draw_ratios(rows: Sequence[Row], path: pathlib.Path) -> None:
    """Draws one bar per case, the ratio at its largest size, with a mark at the target."""
    judged = [row for row in rows if row.ratio is not None and row.target]
    largest = {row.case: row for row in sorted(judged, key=lambda row: row.n)}
    shown = sorted(largest.values(), key=lambda row: -(row.ratio or 0.0))
    ratios = [row.ratio or 1.0 for row in shown]
    places = range(len(shown))
    figure = Figure(figsize=(_WIDTH, 0.6 + 0.2 * len(shown)), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.barh(places, [ratio - 1.0 for ratio in ratios], left=1.0, color=OURS_COLOUR)
    axes.axvline(1.0, color=STOCK_COLOUR, lw=1.5, label="stock")
    asked = [(row.target, p) for row, p in zip(shown, places, strict=True) if row.target != 1.0]
    if asked:
        axes.plot(*zip(*asked, strict=True), "k|", ms=8, label="asked for, if not 1")
    for ratio, place in zip(ratios, places, strict=True):
        axes.annotate(
            curves.ratio(ratio, 1.0),
            (max(ratio, 1.0), place),
            xytext=(0.4, 0.0),
            textcoords="offset fontsize",
            va="center",
            weight="bold",
        )
    low, high = min([1.0, *ratios]), max([4.0, *ratios])
    axes.set_xlim(low / 1.1, high * (high / low) ** 0.2)
    axes.set_xticks([])
    axes.minorticks_off()
    axes.set_yticks(places, [f"{row.case}, {row.n:,}" for row in shown])
    axes.invert_yaxis()
    axes.set_xlabel("stock's time / our time, log scale")
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    figure.savefig(path)


def _draw_growth(cases: dict[str, list[Row]], path: pathlib.Path) -> None:
    """Draws one panel per case: time over n on logarithmic axes, where a slope is a power of n."""
    height = -(-len(cases) // _COLUMNS_OF_PANELS)
    figure = Figure(figsize=(_WIDTH, 0.7 + 1.2 * height), layout="constrained")
    panels = figure.subplots(height, _COLUMNS_OF_PANELS, sharey=True, squeeze=False)
    for axes in panels.flat[len(cases) :]:
        axes.set_axis_off()
    lines = [_curve(name, rows) for name, rows in cases.items()]
    curves.draw(panels.flat[: len(cases)], lines, times=False)
    figure.legend(handles=curves.LEGEND, loc="outside upper center", ncols=2, frameon=False)
    figure.supxlabel("steps")
    figure.supylabel("time of a call")
    figure.savefig(path)


def _curve(name: str, rows: Sequence[Row]) -> Curve:
    return Curve(
        name,
        stock={row.n: row.stock_s for row in rows if row.stock_s},
        ours={row.n: row.ours_s for row in rows if row.ours_s},
    )


def _megabytes(value: int | None) -> str:
    return "-" if value is None else f"{value / 1e6:,.1f}"


if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent
    rewrite_readme(here / "README.md", files_of_results())
    draw_gains(gains(here / "results"), here.parent / "docs/images/gains.png")
