"""Some hundred cases of `mutated_attributes`: own ops with changed attributes and inputs."""

from __future__ import annotations

import pathlib

from tests.loops import mutated_attributes
from tests.support import kernel_runner

_PROGRAMS = (
    *("recurrence", "nested", "branches_in_branches", "strings_that_grow"),
    *("slices_in_a_branch", "slices_gathered_in_the_other_branch", "called_in_the_body"),
    "accumulates_outside_of_loops",
)
_CASES = 200


def test_changed_attributes_and_inputs_end_no_process_and_give_no_wrong_value(
    tmp_path: pathlib.Path,
) -> None:
    with kernel_runner.Runner("enable") as runner:
        path = str(tmp_path / "nodes")
        assert mutated_attributes.collected(runner, path, _PROGRAMS) > 30
        campaign = mutated_attributes.Campaign(runner, path)
        campaign.run(range(_CASES))
    assert not campaign.faults
    counts = campaign.counts
    for what in ("rejected", "passed on", "ran"):
        assert counts[f"RunLoop: {what}"] > 5, counts
    assert counts["compared"] > _CASES // 2, counts
