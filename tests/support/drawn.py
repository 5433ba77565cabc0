"""Finds texts of a picture that overlap each other or leave the picture."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from unittest import mock

from matplotlib.text import Text
from matplotlib.transforms import Bbox


class Drawn:
    """The texts that matplotlib draws while `watch` is active, in any number of pictures.

    Attributes:
      boxes: For each text, its box in pixels and the box of its picture. A picture may be drawn
        several times; the box is that of the last time.
    """

    def __init__(self) -> None:
        self.boxes: dict[Text, tuple[Bbox, Bbox]] = {}

    def texts(self) -> list[str]:
        """The strings, in the order in which they were first drawn."""
        return [text.get_text() for text in self.boxes]

    def problems(self) -> list[str]:
        """One line for each text that leaves its picture, and for each two that overlap."""
        found = [
            f"{text.get_text()!r} leaves the picture: {box.extents} of {picture.extents}"
            for text, (box, picture) in self.boxes.items()
            if Bbox.union([box, picture]).extents.tolist() != picture.extents.tolist()
        ]
        for text, other in itertools.combinations(self.boxes, 2):
            if text.get_figure(root=True) is not other.get_figure(root=True):
                continue
            if Bbox.intersection(self.boxes[text][0], self.boxes[other][0]) is not None:
                found.append(f"{text.get_text()!r} overlaps {other.get_text()!r}")
        return found


@contextlib.contextmanager
def watch() -> Iterator[Drawn]:
    """Context that records the texts of the pictures that are drawn in it."""
    drawn, draw = Drawn(), Text.draw

    def record(self: Text, renderer: object, *args: object, **kwargs: object) -> object:
        result = draw(self, renderer, *args, **kwargs)
        if self.get_visible() and self.get_text().strip():
            box = Text.get_window_extent(self, renderer)  # without the arrow of an annotation
            # Frozen, because `savefig` changes the resolution while it draws.
            drawn.boxes[self] = (box, self.get_figure(root=True).bbox.frozen())
        return result

    with mock.patch.object(Text, "draw", record):
        yield drawn
