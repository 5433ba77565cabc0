"""`explain` finds the loops of twelve programs, with their lines, kinds and reasons.

Comments in the programs say what it must find: `# loop: KIND, WHERE; ...` in the line that makes
loops, `# cause` in the line of an op that is the reason.
"""

from __future__ import annotations

import json
import pathlib
import re

import pytest

from tensor_array_grad.explained import Loops
from tests.support import child

PROGRAMS = pathlib.Path(__file__).parent / "programs"
# These need a process of their own: they switch TF2 off, configure devices, or fail.
ALONE = ("tf1_cond.py", "distributed.py", "fails.py")
TOGETHER = sorted(path.name for path in PROGRAMS.glob("*.py") if path.name not in ALONE)
_MARK = re.compile(r"# loop: (.*)")


def marked(program: str) -> set[tuple[int, str, str]]:
    """Line, kind and place of each loop that the comments of a program name."""
    found = set()
    for number, line in enumerate((PROGRAMS / program).read_text().splitlines(), 1):
        if mark := _MARK.search(line):
            for loop in mark[1].split("; "):
                kind, _, where = loop.rpartition(", ")
                found.add((number, kind, where))
    return found


def line_with(program: str, text: str) -> int:
    lines = (PROGRAMS / program).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def observed(program: str, loops: Loops) -> set[tuple[int, str, str]]:
    """The same of the loops that `explain` has found. How many threads ran is left to measuring."""
    found = set()
    for row in loops.rows:
        assert not row.file or pathlib.Path(row.file) == PROGRAMS / program
        kind = "forward" if row.order == 0 else "gradient"
        place = "executor" if row.runs_in == "executor" else "one kernel"
        found.add((row.line, kind + (", inside" if row.inside else ""), place))
    return found


def check_figures(loops: Loops) -> None:
    for row in loops.rows:
        assert row.measured
        assert row.runs > 0
        assert row.seconds > 0
        assert row.share == pytest.approx(row.seconds / loops.seconds)
    assert sum(row.seconds for row in loops.rows if not row.inside) < loops.seconds


@pytest.fixture(scope="module")
def together() -> dict[str, Loops]:
    pytest.importorskip("tensorflow_probability")
    files = [str(PROGRAMS / name) for name in TOGETHER]
    done = child.succeeded(child.python("-m", "tests.explain.run_program", *files))
    found = json.loads(done.stdout.splitlines()[-1])
    return {name: Loops.from_json(json.dumps(loops)) for name, loops in found.items()}


@pytest.mark.parametrize("program", [name for name in TOGETHER if name != "saved_model.py"])
def test_lines_and_kinds(program, together):
    assert observed(program, together[program]) == marked(program)
    check_figures(together[program])


def test_iterations_of_nested_loops(together):
    loops = {(row.line, row.order): row for row in together["nested.py"].rows}
    inner, outer, middle = sorted({line for line, _ in loops})
    for order in (0, 1):
        assert (loops[outer, order].runs, loops[outer, order].iterations) == (1, 5)
        assert (loops[middle, order].runs, loops[middle, order].iterations) == (5, 20)
        assert (loops[inner, order].runs, loops[inner, order].iterations) == (20, 60)
        assert loops[inner, order].inside.endswith(f"nested.py:{middle}")


def test_the_layers_of_keras(together):
    rows = together["keras_layers.py"].rows
    assert {row.layer.rsplit("_", 1)[0] for row in rows} == {"first", "second", "leaky"}
    assert {(row.runs, row.iterations) for row in rows} == {(2, 80)}


def test_a_queue_is_the_reason(together):
    (row,) = (row for row in together["autograph_loops.py"].rows if row.runs_in == "executor")
    assert (row.runs, row.iterations) == (1, 50)
    assert row.reason.startswith("QueueDequeueV2 has a state")
    assert row.cause.endswith(f"autograph_loops.py:{line_with('autograph_loops.py', '# cause')}")
    assert "dequeue_many" in row.advice[0]


def test_python_in_a_loop_is_named(together):
    line = line_with("called_functions.py", "# cause")
    (row,) = (row for row in together["called_functions.py"].rows if row.function == "python")
    assert f"called_functions.py:{line} calls Python" in row.advice[0]


def test_a_saved_model_has_names_only(together):
    (row,) = together["saved_model.py"].rows
    assert (row.file, row.line, row.order, row.iterations) == ("", 0, 0, 100)
    assert "while" in row.name
    assert "while_body" in row.function
    assert row.where == f"{row.name} in {row.function}"


@pytest.mark.parametrize("program", ALONE)
def test_the_command(program):
    path = str(PROGRAMS / program)
    done = child.interpreter("-m", "tensor_array_grad", "explain", "--json", path)
    alone = child.python(path, TENSOR_ARRAY_GRAD="on")
    loops = Loops.from_json(done.stdout)
    assert observed(program, loops) == marked(program)
    check_figures(loops)
    assert done.returncode == alone.returncode == (1 if program == "fails.py" else 0)
    assert alone.stdout in done.stderr  # the program's own output
    assert "too far" in done.stderr or program != "fails.py"
