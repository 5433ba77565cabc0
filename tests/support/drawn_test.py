"""tests/support/drawn.py notices texts that overlap, and texts that leave the picture."""

import io

import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from tests.support import drawn


def _problems(*texts, **options):
    figure = Figure(figsize=(4.0, 2.0))
    for x, y, text in texts:
        figure.text(x, y, text, **options)
    with drawn.watch() as found:
        figure.savefig(io.BytesIO(), dpi=120)
    assert found.texts() == [text for _, _, text in texts]
    return found.problems()


def test_texts_beside_each_other_are_no_problem():
    assert _problems((0.1, 0.5, "left"), (0.6, 0.5, "right")) == []


def test_overlapping_texts_are_found():
    problems = _problems((0.1, 0.5, "left"), (0.12, 0.5, "right"), (0.1, 0.1, "below"))
    assert problems == ["'left' overlaps 'right'"]


def test_a_text_that_leaves_the_picture_is_found():
    (problem,) = _problems((0.9, 0.5, "a long text"))
    assert problem.startswith("'a long text' leaves the picture")


def test_texts_of_two_pictures_do_not_overlap():
    with drawn.watch() as found:
        for _ in range(2):
            figure = Figure()
            figure.text(0.5, 0.5, "middle")
            figure.savefig(io.BytesIO())
    assert (found.texts(), found.problems()) == (["middle", "middle"], [])


def test_texts_that_are_not_drawn_have_no_box():
    figure = Figure()
    figure.text(0.5, 0.5, "hidden", visible=False)
    figure.text(0.5, 0.5, " ")
    with drawn.watch() as found:
        figure.savefig(io.BytesIO())
    assert found.texts() == []


def test_tick_labels_are_watched_too():
    figure = Figure(figsize=(4.0, 2.0))
    axes = figure.subplots()
    axes.set_xticks([0.0, 0.01, 1.0], ["zero", "nearly zero", "one"])
    with drawn.watch() as found:
        figure.savefig(io.BytesIO())
    assert "'zero' overlaps 'nearly zero'" in found.problems()
