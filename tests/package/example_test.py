"""The examples at small size, as `compare` runs them: on stock, and with the library."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support import child

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
DISTRIBUTED = str(EXAMPLES / "distributed.py")
LIBRARY = ("-m", "tensor_array_grad")

TFP = ("tensorflow_probability", "tf_keras")

# For each example: the packages that it needs in addition to those of the tests, the number of its
# loops that run in one kernel, summed over its processes, and the number of its slice gradients
# that are summed in place.
EXPECTED: dict[str, tuple[tuple[str, ...], int, int]] = {
    "indexing": ((), 2, 1),
    "crf_tagger": ((), 2, 4),
    "lstm_fit": ((), 2, 0),
    "saved_model": ((), 2, 0),
    "stream_filter": ((), 0, 0),
    "distributed": ((), 4, 0),
    "hidden_markov": (TFP, 2, 1),
    "kalman_smoother": ((*TFP, "statsmodels"), 2, 0),
    "nuts": (TFP, 1, 0),
}

NOTEBOOK = EXAMPLES / "quick_start.ipynb"

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the tests lie outside a checkout")


def test_all_examples_are_tested():
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == {*EXPECTED, "common"}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs an example. The interpreters that it starts are forks, with the library if it has it."""
    return child.succeeded(
        child.python(*arguments, "--steps", "9", fork_children=True, **environment)
    )


@functools.cache
def printed(name: str) -> str:
    """What the example prints on stock TensorFlow."""
    return run(str(EXAMPLES / f"{name}.py")).stdout


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_prints_the_same_on_stock_and_with_the_library(name):
    needs, loops, slice_sums = EXPECTED[name]
    missing = [package for package in needs if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"pip install {' '.join(missing)}")
    command = (*LIBRARY, "compare", "--runs", "1", "--json")
    found = json.loads(run(*command, str(EXAMPLES / f"{name}.py")).stdout)
    assert found["output"] == "the same in all runs"
    assert found["loops_in_one_kernel"] == loops
    assert found["rewrites"]["slice_sum"] == slice_sums


@pytest.mark.parametrize("name", [name for name, (needs, *_) in EXPECTED.items() if not needs])
def test_an_example_prints_finite_numbers(name):
    output = printed(name)
    assert re.search(r"\d\.\d{6}", output)
    assert not re.search(r"\b(nan|inf)\b", output)


def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    pytest.importorskip("matplotlib")
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    program = tmp_path / "quick_start.py"  # autograph reads the source of functions
    program.write_text("\n\n".join(sources))
    done = child.succeeded(child.python(str(program), MPLBACKEND="Agg"))
    assert re.search(r"loops +2 in one kernel", done.stdout)
    assert re.search(r"graph.slice_sum 1\n", done.stdout)
    rows = re.findall(r"([\d,]+) steps: +([\d.]+) ms and +([\d.]+) ms", done.stdout)
    loop = next(
        n for n, line in enumerate(program.read_text().splitlines(), 1) if " in tf.range" in line
    )
    kinds = re.findall(rf"quick_start.py:{loop} in decayed_sum +(\w+) .* one kernel", done.stdout)
    assert sorted(kinds) == ["forward", "gradient"]
    assert [row[0] for row in rows] == ["200", "800", "3,200"]
    assert all(float(seconds) > 0 for row in rows for seconds in row[1:])


def test_the_notebook_is_stored_without_outputs():
    notebook = json.loads(NOTEBOOK.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)


@pytest.fixture
def losses() -> str:
    """What examples/distributed.py prints on stock TensorFlow, with either strategy."""
    return printed("distributed")


def test_workers_of_a_parameter_server_have_the_library(losses):
    done = run(*LIBRARY, DISTRIBUTED, "--strategy", "parameter_server", TENSOR_ARRAY_GRAD_LOG="1")
    assert done.stdout == losses
    # The example kills its workers, so they do not report to `compare`.
    # A worker does not know the lines of the program that made its functions.
    loops = re.findall(r"loop (\S+): runs in one kernel", done.stderr)
    assert set(loops) == {"while", "gradient_tape/while/while_grad"}


def task(
    cluster: dict[str, list[str]], kind: str, index: int, with_library: bool
) -> tuple[list[str], dict[str, str]]:
    """The arguments of Python and the environment of one process of a cluster."""
    config = json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})
    runner = LIBRARY if with_library else ()
    return [*runner, DISTRIBUTED], {"TF_CONFIG": config, "TENSOR_ARRAY_GRAD_LOG": "1"}


@pytest.mark.parametrize("with_library", [0, 1])
def test_losses_are_those_of_stock_if_one_worker_has_the_library(losses, with_library):
    cluster = {"worker": child.free_addresses(2)}

    def worker(index: int) -> subprocess.CompletedProcess[str]:
        arguments, environment = task(cluster, "worker", index, index == with_library)
        return run(*arguments, **environment)

    with ThreadPoolExecutor() as pool:
        workers = list(pool.map(worker, range(2)))
    assert workers[0].stdout == losses
    values = [float(value) for value in re.findall(r"loss ([\d.]+)", losses)]
    assert len(values) == 5
    assert values == sorted(set(values), reverse=True)
    runs = [done.stderr.count("runs in one kernel") for done in workers]
    assert runs == [2 * (index == with_library) for index in range(2)]


def test_losses_are_those_of_stock_if_a_parameter_server_and_a_worker_lack_the_library(losses):
    chief, ps, *workers = child.free_addresses(4)
    cluster = {"chief": [chief], "ps": [ps], "worker": workers}
    strategy = ("--strategy", "parameter_server", "--steps", "9")
    with contextlib.ExitStack() as stack:
        servers = []
        for kind, index, with_library in (
            ("ps", 0, False),
            ("worker", 0, False),
            ("worker", 1, True),
        ):
            arguments, environment = task(cluster, kind, index, with_library)
            command = [sys.executable, *arguments, *strategy]
            environment = child.environment_of(**environment)
            server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
            stack.enter_context(server)
            stack.callback(server.kill)
            servers.append(server)
        arguments, environment = task(cluster, "chief", 0, True)
        assert run(*arguments, *strategy, **environment).stdout == losses
        for server in servers:
            server.kill()
        logs = [server.communicate()[1] for server in servers]
    assert [log.count("runs in one kernel") for log in logs] == [0, 0, 2]
