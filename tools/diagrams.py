"""Draws the diagrams of the documents: `python tools/diagrams.py` writes docs/images/*.svg.

A diagram is 400 units wide, so that its text can be read on a phone. It has a background of its
own and two sets of colours, because the page around it may be light or dark. Needs the standard
library only.
"""

from __future__ import annotations

import html
import pathlib
from collections.abc import Callable

_WIDTH = 400
_SHOWN = 600  # width in pixels, if the page is wide enough
_LINE = 14  # units between two lines of text
_STYLE = """
:root { --page: #ffffff; --ink: #24292f; --line: #57606a; --box: #eef1f4; --mark: #b6e3c5; }
@media (prefers-color-scheme: dark) {
  :root { --page: #22272e; --ink: #e6edf3; --line: #9aa5b1; --box: #343b44; --mark: #1f6b3a; }
}
text { font: 11.5px system-ui, sans-serif; fill: var(--ink); text-anchor: middle; }
.left { text-anchor: start; }
.head { font-weight: 600; }
.page { fill: var(--page); }
.box { fill: var(--box); stroke: var(--line); }
.mark { fill: var(--mark); stroke: var(--line); }
.arrow { fill: none; stroke: var(--line); stroke-width: 1.4; marker-end: url(#tip); }
.wire { fill: none; stroke: var(--line); }
.dashed { stroke-dasharray: 4 3; }
#tip path { fill: var(--line); }
"""
_TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
    'orient="auto"><path d="M0 0 8 4 0 8z"/></marker>'
)


class Drawing:
    """An SVG document. Its methods add shapes and texts."""

    def __init__(self, height: int, title: str) -> None:
        self._height = height
        self._title = title
        self._parts: list[str] = []

    def text(self, x: float, y: float, text: str, style: str = "") -> None:
        """One line of text, centred at x. With the style `left`, it begins at x."""
        self._parts.append(f'<text x="{x:g}" y="{y:g}" class="{style}">{html.escape(text)}</text>')

    def box(self, x: float, y: float, w: float, h: float, text: str = "", style: str = "") -> None:
        """A rectangle with the top left corner (x, y), and lines of text in its middle."""
        corner = 4 if text else 1
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{corner}" '
            f'class="{style or "box"}"/>'
        )
        lines = text.splitlines()
        first = y + h / 2 + 4 - _LINE * (len(lines) - 1) / 2
        for number, line in enumerate(lines):
            self.text(x + w / 2, first + _LINE * number, line)

    def arrow(self, *points: float, style: str = "arrow") -> None:
        """A line through (x, y), (x, y), ... with a tip at its end."""
        path = " ".join(f"{value:g}" for value in points)
        self._parts.append(f'<path d="M{path}" class="{style}"/>')

    def svg(self) -> str:
        """The document."""
        height = self._height * _SHOWN // _WIDTH
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{_SHOWN}" height="{height}" '
                f'viewBox="0 0 {_WIDTH} {self._height}">',
                f"<title>{html.escape(self._title)}</title>",
                f"<style>{_STYLE}</style>",
                _TIP,
                f'<rect width="{_WIDTH}" height="{self._height}" rx="8" class="page"/>',
                *self._parts,
                "</svg>\n",
            ]
        )


def _row(drawing: Drawing, x: float, y: float, count: int, marked: int) -> None:
    """An array of `count` elements. Number `marked` is set; none is if `marked` is `count`."""
    for i in range(count):
        drawing.box(x + 22 * i, y, 22, 18, style="mark" if i == marked else "box")


def _two_ops(drawing: Drawing, top: float, name: str) -> None:
    """Two ops `name`, one below the other, to the right of an array."""
    for y in (top, top + 34):
        drawing.box(190, y, 196, 28, name)


def list_gradient() -> Drawing:
    """The gradient of a loop that reads an array: one list, or one path, per iteration."""
    drawing = Drawing(430, "Gradient of a loop that reads an array, on stock and with the library")
    drawing.text(12, 24, "Stock: each iteration makes and adds n elements", "left head")
    for number, marked in enumerate((7, 6, 5)):
        y = 38 + 28 * number
        drawing.text(12, y + 13, f"gradient of read {marked}", "left")
        _row(drawing, 124, y, 8, marked)
        drawing.text(318, y + 13, "+" if number < 2 else "+ ...", "left")
    drawing.text(12, 142, "n iterations, n elements in each: the time grows with n x n.", "left")
    drawing.arrow(12, 160, 388, 160, style="wire dashed")
    drawing.text(12, 184, "Library: each iteration changes one path of one list", "left head")
    drawing.box(150, 198, 100, 24, "root", "mark")
    for child in range(4):
        x = 14 + 96 * child
        changed = child == 2
        drawing.arrow(200, 222, x + 42, 250, style="arrow" if changed else "wire")
        drawing.box(x, 250, 84, 24, "node", "mark" if changed else "box")
        for leaf in range(4):
            drawing.arrow(x + 42, 274, x + 11 + 21 * leaf, 300, style="wire")
            written = changed and leaf == 1
            drawing.box(x + 21 * leaf, 300, 21, 20, style="mark" if written else "box")
    drawing.arrow(248, 274, 238, 299)
    drawing.text(237, 340, "gradient of read 9")
    drawing.text(12, 366, "A node has 32 children (4 in the picture), so a path", "left")
    drawing.text(12, 380, "of 4 nodes reaches a million elements.", "left")
    drawing.text(12, 404, "n iterations, one path in each: the time grows with n.", "left")
    return drawing


def one_kernel() -> Drawing:
    """A while loop before and after the pass that puts RunLoop in front of it."""
    drawing = Drawing(420, "A while loop in the executor, and with RunLoop in front of it")
    drawing.text(90, 24, "Stock", "head")
    drawing.text(290, 24, "Library", "head")
    for x in (90, 290):
        drawing.box(x - 40, 38, 80, 24, "values in")
        drawing.box(x - 40, 380, 80, 24, "values out")
    drawing.arrow(90, 62, 90, 96)
    drawing.box(12, 96, 156, 234, style="page")
    drawing.box(12, 96, 156, 234, style="wire")
    names = ("Enter, Merge", "condition", "Switch", "body", "NextIteration")
    for number, name in enumerate(names):
        drawing.box(36, 108 + 36 * number, 108, 24, name)
        if number:
            drawing.arrow(90, 96 + 36 * number, 90, 108 + 36 * number)
    drawing.arrow(144, 264, 158, 264, 158, 120, 144, 120)
    drawing.text(90, 300, "the executor runs every")
    drawing.text(90, 314, "node in each iteration")
    drawing.arrow(90, 330, 90, 380)
    drawing.arrow(290, 62, 290, 96)
    kernel = "RunLoop, one kernel:\nruns the iterations\non one thread"
    drawing.box(206, 96, 168, 96, kernel, "mark")
    drawing.arrow(290, 192, 290, 246)
    drawing.text(296, 214, "values after the", "left")
    drawing.text(296, 228, "last iteration", "left")
    rest = (
        "the stock loop: ends\nif the condition is false,\nruns the rest if RunLoop\nstopped early"
    )
    drawing.box(206, 246, 168, 84, rest)
    drawing.arrow(290, 330, 290, 380)
    return drawing


def gradient_array() -> Drawing:
    """A forward array, and its gradient arrays by source."""
    drawing = Drawing(286, "A V3 array and its gradient arrays")
    drawing.text(12, 24, "forward array", "left head")
    _row(drawing, 12, 34, 5, 2)
    _two_ops(drawing, 12, "TensorArrayReadV3, index 2")
    drawing.arrow(122, 40, 156, 40, 156, 26, 189, 26)
    drawing.arrow(122, 46, 156, 46, 156, 60, 189, 60)
    drawing.text(12, 100, "TensorArrayGradV3 finds or makes one array per source:", "left")
    drawing.text(12, 130, 'source "gradients"', "left head")
    _row(drawing, 12, 140, 5, 2)
    _two_ops(drawing, 118, "TensorArrayWriteV3, index 2")
    drawing.arrow(190, 132, 156, 132, 156, 146, 124, 146)
    drawing.arrow(190, 166, 156, 166, 156, 152, 124, 152)
    drawing.text(288, 198, "writes to one slot are summed")
    drawing.text(12, 216, 'source "gradients_1"', "left head")
    _row(drawing, 12, 226, 5, 5)
    drawing.text(12, 270, "Another call of tf.gradients has another source.", "left")
    return drawing


def architecture() -> Drawing:
    """The parts of the library and what they use."""
    drawing = Drawing(452, "Parts of the library")
    drawing.box(12, 12, 176, 40, "program:\ngraph or eager op")
    drawing.box(200, 12, 88, 40, "cc/api")
    drawing.box(300, 12, 88, 40, "Python\npackage")
    drawing.box(12, 84, 276, 40, "TensorFlow: registry of kernels,\ngraph passes, executor", "mark")
    drawing.box(300, 84, 88, 40, "cc/bind")
    drawing.arrow(100, 52, 100, 84)
    drawing.arrow(288, 36, 308, 84)
    drawing.arrow(344, 52, 344, 84)
    drawing.box(12, 176, 76, 54, "cc/rewrite:\nrules")
    drawing.box(106, 176, 84, 54, "cc/compile,\ncc/run:\nRunLoop")
    drawing.box(208, 176, 94, 54, "cc/kernels:\none per op")
    for x, label in ((50, "graph"), (148, "graph"), (250, "op by name")):
        drawing.arrow(x, 124, x, 176)
        drawing.text(x + 4, 154, label, "left")
    drawing.arrow(350, 124, 350, 190, 302, 190)
    drawing.arrow(208, 203, 190, 203)
    drawing.box(12, 280, 76, 54, "cc/flow:\nframes,\nliveness")
    drawing.arrow(50, 230, 50, 280)
    drawing.arrow(118, 230, 78, 280)
    drawing.box(100, 280, 90, 54, "cc/lists:\npersistent list,\nloop stack")
    drawing.box(204, 280, 84, 54, "cc/slices:\nslice\ngradients")
    drawing.box(312, 280, 76, 54, "cc/resource,\ncc/array:\nV3 array")
    drawing.arrow(140, 230, 140, 280)
    drawing.arrow(172, 230, 214, 280)
    drawing.arrow(220, 230, 178, 280)
    drawing.arrow(252, 230, 252, 280)
    drawing.arrow(302, 214, 350, 214, 350, 280)
    drawing.arrow(297, 230, 297, 356)
    drawing.box(204, 356, 98, 40, "cc/device:\nCPU, CUDA")
    drawing.arrow(246, 334, 246, 356)
    drawing.box(12, 418, 376, 24, "cc/base: memory, counters, log")
    for x, y in ((50, 334), (145, 334), (253, 396), (350, 334)):
        drawing.arrow(x, y, x, 418)
    return drawing


DIAGRAMS: tuple[Callable[[], Drawing], ...] = (
    list_gradient,
    one_kernel,
    gradient_array,
    architecture,
)

if __name__ == "__main__":
    folder = pathlib.Path(__file__).resolve().parent.parent / "docs" / "images"
    for diagram in DIAGRAMS:
        (folder / f"{diagram.__name__}.svg").write_text(diagram().svg())
