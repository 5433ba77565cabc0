"""Random loops that index a tensor give stock's gradients."""

from __future__ import annotations

from tests.random_programs import random_slices

_METHODS_SEEN_BY = 100  # programs


def test_gradients_of_random_loops_equal_those_of_stock(ours, stocks, capfd):
    counts = random_slices.compare((ours, stocks), range(0, 60, 5))
    assert counts["different"] == 0, capfd.readouterr().out
    assert counts["programs"] == 12
    assert counts["values"] > 12


def test_the_programs_contain_every_kind_of_read_method_and_place():
    programs = [random_slices.random_program(seed) for seed in range(_METHODS_SEEN_BY)]
    text = " ".join(line for program in programs for line in program.text)
    for part in (
        "...",
        "tf.newaxis",
        "::-1",
        "tf.slice",
        "axis=",
        "batch_dims=",
        "gather_nd",
        "[[",
    ):
        assert part in text, part
    assert {program.method for program in programs} >= {*random_slices.slice_programs.METHODS}
    assert {place for program in programs for place in program.places} == {
        "body",
        "branch",
        "other",
        "inner",
    }
    assert random_slices.random_program(3) == random_slices.random_program(3)
