"""Finds texts of a picture that overlap each other or leave the picture."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from unittest import mock

from matplotlib.text import Text
from matplotlib.transforms import Bbox


class Drawn:
    """The texts that matplotlib draws while `watch` is active.

    Attributes:
      boxes: For each text, the string, its box in pixels, and the box of its picture. A picture
        may be drawn several times; the box is that of the last time.
    """

    def __init__(self) -> None:
        self.boxes: dict[int, tuple[str, Bbox, Bbox]] = {}

    def problems(self) -> list[str]:
        """One line for each text that leaves its picture, and for each two that overlap."""
        held = list(self.boxes.values())
        found = [
            f"{text!r} leaves the picture: {box.extents} of {picture.extents}"
            for text, box, picture in held
            if box.x0 < picture.x0
            or box.y0 < picture.y0
            or box.x1 > picture.x1
            or box.y1 > picture.y1
        ]
        for (text, box, _), (other, its_box, _) in itertools.combinations(held, 2):
            if Bbox.intersection(box, its_box) is not None:
                found.append(f"{text!r} overlaps {other!r}")
        return found


@contextlib.contextmanager
def watch() -> Iterator[Drawn]:
    """Context that records the texts of the one picture that is drawn in it."""
    drawn, draw = Drawn(), Text.draw

    def record(self: Text, renderer: object, *args: object, **kwargs: object) -> object:
        result = draw(self, renderer, *args, **kwargs)
        if self.get_visible() and self.get_text().strip():
            box = Text.get_window_extent(self, renderer)  # without the arrow of an annotation
            # Frozen, because `savefig` changes the resolution while it draws.
            picture = self.get_figure(root=True).bbox.frozen()
            drawn.boxes[id(self)] = (self.get_text(), box, picture)
        return result

    with mock.patch.object(Text, "draw", record):
        yield drawn
