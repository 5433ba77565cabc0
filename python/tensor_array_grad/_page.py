"""Writes what `explain` has found as one page, with the lines of the program beside the table."""

from __future__ import annotations

import html
import linecache
from collections.abc import Iterable, Sequence

from tensor_array_grad.explained import COLUMNS, FIGURES, Loop, Loops

_AROUND = 6  # lines of the program that are shown before and after each loop
_COLORS = {
    "executor": "214, 69, 65",
    "executor, estimated faster": "230, 150, 40",
}  # where a loop runs
_OWN = "60, 150, 90"  # one kernel, with or without a second thread
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
  color: #1c1e21; background: #fff }
table { border-collapse: collapse; width: 100% } th { text-align: left; font-weight: 600 }
th, td { padding: .3rem .7rem .3rem 0; vertical-align: top }
tr.loop td { border-top: 1px solid #ddd } td.note { padding-left: 1.5rem }
td.figure, th.figure { text-align: right; white-space: nowrap }
.note b { font-weight: 600; color: #555 } a { color: inherit }
pre { background: #f7f7f8; overflow-x: auto; padding: .6rem 0; border-radius: 6px;
  font-size: 13px }
pre span { display: block; padding: 0 .8rem; white-space: pre }
pre i { color: #888; font-style: normal }
.place { border-radius: 4px; padding: .05rem .4rem } p.legend span { margin-right: 1.2rem }
"""


def page(loops: Loops, command: Sequence[str]) -> str:
    """An HTML page that needs no other file and no network."""
    title = "Loops of " + " ".join(command)
    legend = "".join(
        f'<span class="place" style="background: rgba({color}, .35)">{name}</span>'
        for name, color in [("one kernel", _OWN), *_COLORS.items()]
    )
    figures = COLUMNS[FIGURES]
    head = "".join(
        f'<th class="{"figure" if name in figures else ""}">{name}</th>' for name in COLUMNS
    )
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{html.escape(title)}</h1>",
            f"<p>{loops.total}</p>",
            f'<p class="legend">{legend}</p><table><tr>{head}</tr>',
            *(_rows(loop) for loop in loops.rows),
            "</table>",
            *(_source(file, loops.rows) for file in _files(loops.rows)),
            "</body></html>",
        ]
    )


def _rows(loop: Loop) -> str:
    """The row of a loop, and one for each note."""
    where, kind, *figures, runs_in = map(html.escape, loop.cells)
    link = f'<a href="#{_anchor(loop)}">{where}</a>' if _has_source(loop.file) else where
    cells = [f"<td>{link}</td><td>{kind}</td>"]
    cells += [f'<td class="figure">{figure}</td>' for figure in figures]
    cells += [f'<td><span class="place" style="{_color(loop, 0.35)}">{runs_in}</span></td>']
    rows = [f'<tr class="loop">{"".join(cells)}</tr>']
    note = f'<tr><td class="note" colspan="{len(loop.cells)}">'
    rows += [f"{note}<b>{title}</b> {html.escape(text)}</td></tr>" for title, text in loop.notes]
    return "\n".join(rows)


def _source(file: str, rows: Sequence[Loop]) -> str:
    """The lines of a file around its loops, coloured by where those run and by their share."""
    # The loop with the most time, which is the last one here, gives the colour.
    loops = {row.line: row for row in reversed(rows) if row.file == file}
    text = linecache.getlines(file)
    lines, last = [], 0
    for number in sorted({n for line in loops for n in range(line - _AROUND, line + _AROUND + 1)}):
        if not 1 <= number <= len(text):
            continue
        if last and number > last + 1:
            lines.append("<span><i>  ...</i></span>")
        last = number
        loop = loops.get(number)
        mark = (
            f' id="{_anchor(loop)}" style="{_color(loop, 0.15 + 0.6 * min(1, loop.share))}"'
            if loop
            else ""
        )
        share = f"{loop.share:5.0%}" if loop else " " * 5
        code = html.escape(text[number - 1].rstrip("\n"))
        lines.append(f"<span{mark}><i>{number:5} {share} </i> {code}</span>")
    return f"<h2>{html.escape(file)}</h2><pre>{''.join(lines)}</pre>"


def _files(rows: Iterable[Loop]) -> list[str]:
    """The files with loops, that with the most time first."""
    return list(dict.fromkeys(row.file for row in rows if _has_source(row.file)))


def _has_source(file: str) -> bool:
    return bool(file and linecache.getlines(file))


def _anchor(loop: Loop) -> str:
    return html.escape(f"{loop.file}:{loop.line}")


def _color(loop: Loop, strength: float) -> str:
    return f"background: rgba({_COLORS.get(loop.runs_in, _OWN)}, {strength:.2f})"
