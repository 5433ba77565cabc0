"""Runs this library's own ops with attributes and inputs that are changed at random.

    python -m tests.loops.mutated_attributes --cases 20000 --seed 1

A case is a node that the library has put into the graph of a real program (`own_nodes`), with an
attribute or inputs changed (`mutations`). The node runs in a worker process, as an eager op,
because TensorFlow checks least of it then: the construction of its kernel gets what the case has. A
RunLoop whose frame calls functions runs in a Session, since an eager op does not find them.

What is a fault:

- The process ends, or a call takes long and does not react to its cancellation.
- An error of an op other than RunLoop that has another class than SECURITY.md promises, or an error
  without a message.
- A wrong value. RunLoop may stop after any iteration, and the loop after it continues. So
  TensorFlow runs the loop of the changed frame, in the same process and without RunLoop, once from
  the inputs and once from RunLoop's results. Both must end with the same values or with an error,
  and if RunLoop reported an error, so must the loop from the inputs. If RunLoop passed its inputs
  on, they are compared with its results. AddSlices and the accumulating ops are compared with the
  stock ops of which they are the sum. SliceGradients and the loop stacks have no stock counterpart
  whose value could be compared; the tests of their C++ code and `list_parity_test` do that.

A changed frame may loop forever. It is then cancelled after a second; such cases are counted apart.
A case that ends the process counts as "dies on stock" if the loop, run by TensorFlow alone in a
fresh process, ends it as well.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import pathlib
import pickle
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2
from tensorflow.python.eager import cancellation, context, execute

from tensor_array_grad import _loader
from tests.loops import own_nodes
from tests.loops.mutated_nodes import Case, cases
from tests.loops.mutated_results import (
    LIMIT_S,
    NotComparable,
    Result,
    compare_loop,
    compare_sum,
    same,
)
from tests.loops.own_nodes import PREFIX, RUN_LOOP
from tests.support import campaign, kernel_runner

_THIS = "tests.loops.mutated_attributes"
_TIMEOUT_S = 40.0  # after which a cancelled call has hung
_CASES_PER_PROCESS = 1000
_PROMISED = ("InvalidArgumentError", "UnimplementedError", "ResourceExhaustedError")


# The last case that this process ran, and its result.
_last: dict[str, Any] = {}


def _plain(value: attr_value_pb2.AttrValue) -> Any:
    """The value of an attribute as `execute` takes it."""
    kind = value.WhichOneof("value")
    if kind != "list":
        return None if kind is None else getattr(value, kind)
    fields = value.list.ListFields()
    return list(fields[0][1]) if fields else []


@contextlib.contextmanager
def _cancelled_after(seconds: float) -> Iterator[cancellation.CancellationManager]:
    manager = cancellation.CancellationManager()
    timer = threading.Timer(seconds, manager.start_cancel)
    timer.start()
    try:
        with cancellation.CancellationManagerContext(manager):
            yield manager
    finally:
        timer.cancel()


def _run_in_session(case: Case, library: Any) -> Result:
    """Runs a RunLoop that calls functions, which an eager op does not find, in a Session."""
    graph = graph_pb2.GraphDef(library=library)
    names = [f"input_{i}" for i in range(len(case.inputs))]
    for name, value in zip(names, case.inputs, strict=True):
        graph.node.add(name=name, op="Placeholder").attr[
            "dtype"
        ].type = value.dtype.as_datatype_enum
    node = graph.node.add(name="node", input=names)
    node.op = case.node.op
    for name in ("T", "U", "frame"):
        node.attr[name].CopyFrom(case.node.attr[name])
    feeds = {name: v.dtype.as_datatype_enum for name, v in zip(names, case.inputs, strict=True)}
    before = _runs()
    try:
        outputs = [f"node:{i}" for i in range(case.outputs())]
        with contextlib.closing(own_nodes.Computation(graph, feeds, outputs)) as computation:
            values = computation([own_nodes.serialized(v) for v in case.inputs], LIMIT_S)
    except tf.errors.DeadlineExceededError:
        return Result("endless")
    except tf.errors.OpError as error:
        kind = "error" if _runs() > before else "rejected"
        return Result(kind, f"{type(error).__name__}: {error.message}")
    except Exception as error:
        return Result("refused", f"{type(error).__name__}: {error}")
    kind = "ran" if _runs() > before else "passed on"
    return Result(kind, values=tuple(own_nodes.parsed(value) for value in values))


def _runs() -> int:
    return _loader.bind().counters().get("loops.runs", 0)


def run_node(case: Case, library: Any) -> Result:
    """Runs the node of `case`, which may call the functions of `library`."""
    if case.program.startswith("called_") and case.node.op == RUN_LOOP:
        return _run_in_session(case, library)
    attributes = [part for name, v in case.node.attr.items() for part in (name, _plain(v))]
    is_loop = case.node.op == RUN_LOOP
    before = _runs()
    ran = lambda: _runs() > before  # noqa: E731
    try:
        with _cancelled_after(LIMIT_S) as manager:
            values = execute.execute_with_cancellation(
                *(case.node.op.encode(), case.outputs(), case.inputs, tuple(attributes)),
                *(context.context(), manager),
            )
    except tf.errors.CancelledError:
        return Result("endless" if ran() else "error")
    except tf.errors.OpError as error:
        kind = "error" if ran() or not is_loop else "rejected"
        return Result(kind, f"{type(error).__name__}: {error.message}")
    except Exception as error:
        return Result("refused", f"{type(error).__name__}: {error}")
    return Result("ran" if ran() or not is_loop else "passed on", values=tuple(values))


def run(path: str, seed: int) -> tuple[str, str]:
    """Runs the node of a case; called in a worker process.

    Returns:
      `Result.kind` and what is wrong, if anything is.
    """
    worker = cases(path)
    case = worker.case(seed)
    for number, setting in enumerate(campaign.SETTINGS.values()):
        name, iterations = setting(seed)
        getattr(_loader.bind(), name)(iterations if seed % 4 == number else -1)
    if seed % 100 == 0:
        context.context().clear_kernel_cache()
    result = run_node(case, worker.library)
    _last.update(seed=seed, case=case, result=result)
    problem = ""
    if result.kind in ("error", "rejected"):
        kind, _, text = result.text.partition(": ")
        if not text.strip():
            problem = f"an error without a message: {kind}"
        elif (case.node.op != RUN_LOOP or result.kind == "rejected") and kind not in _PROMISED:
            problem = f"not a promised error: {result.text[:300]}"
    return f"{case.node.op.removeprefix(PREFIX)}: {result.kind}", problem


def compare(path: str, seed: int) -> tuple[str, str]:
    """Compares the result of the last `run` in this process with what TensorFlow computes.

    If `run` was not called before, only computes it with TensorFlow.

    Returns:
      What was done, and what is wrong, if anything is.
    """
    worker = cases(path)
    is_last = _last.get("seed") == seed
    case: Case = _last["case"] if is_last else worker.case(seed)
    result: Result | None = _last["result"] if is_last else None
    try:
        if case.node.op != RUN_LOOP:
            return "compared", "" if result is None else compare_sum(case, result)
        if result is not None and result.kind == "passed on":
            pairs = zip(case.inputs, result.values, strict=False)
            changed = not all(same(a, b) for a, b in pairs)
            return "compared", "an input was changed on its way" if changed else ""
        return "compared", compare_loop(case, result, worker.library)
    except NotComparable:
        return "not comparable", ""


def collect(path: str, names: Sequence[str]) -> int:
    """Writes the nodes of these programs into a file; called in a worker process.

    Returns:
      How many nodes there are.
    """
    collection = own_nodes.collect(names)
    pathlib.Path(path).write_bytes(pickle.dumps(collection))
    return len(collection.nodes)


class Campaign:
    """Runs cases in worker processes that `ours` makes, and counts what happens."""

    def __init__(self, ours: kernel_runner.Runner, path: str):
        self._ours = ours
        self._path = path
        self.counts: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []

    def run(self, seeds: Sequence[int]) -> None:
        for number, seed in enumerate(seeds, 1):
            self._run(seed)
            if number % _CASES_PER_PROCESS == 0:
                self._ours.restart()

    def _call(self, function: str, seed: int) -> Any:
        self._ours.start_call(f"{_THIS}:{function}", self._path, seed)
        return self._ours.finish_call(_TIMEOUT_S)

    def _run(self, seed: int) -> None:
        self.counts["cases"] += 1
        got = self._call("run", seed)
        if not isinstance(got, tuple):
            on_stock = self._call("compare", seed)
            self._ours.restart()
            if type(on_stock) is type(got) and not isinstance(got, kernel_runner.Error):
                self.counts["dies on stock"] += 1
            else:
                self._fault(seed, str(got))
            return
        kind, problem = got
        self.counts[kind] += 1
        if problem:
            self._fault(seed, problem)
        if kind.split(": ")[1] not in ("ran", "error", "passed on"):
            return
        compared = self._call("compare", seed)
        if not isinstance(compared, tuple):
            if isinstance(compared, kernel_runner.Error):
                self._fault(seed, str(compared))
            self.counts["dies on stock"] += 1
            return
        self.counts[compared[0]] += 1
        if compared[1]:
            self._fault(seed, compared[1])

    def _fault(self, seed: int, what: str) -> None:
        self.counts["faults"] += 1
        self.faults.append(f"case {seed}: {what}")
        print(self.faults[-1], flush=True)


def collected(ours: kernel_runner.Runner, path: str, names: Sequence[str]) -> int:
    """Collects the nodes of these programs into the file `path`."""
    count = ours.call(f"{_THIS}:collect", path, list(names), timeout=600.0)
    if not isinstance(count, int):
        raise RuntimeError(f"{count}\n{ours.log()}")
    return count


def main() -> None:
    """Parses the command line and runs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1, help="number of the first case")
    parser.add_argument("--only", type=int, help="number of the one case to run")
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + args.cases)
    if args.only is not None:
        seeds = range(args.only, args.only + 1)
    with tempfile.TemporaryDirectory() as folder, kernel_runner.Runner("enable") as ours:
        path = f"{folder}/nodes"
        print(collected(ours, path, list(own_nodes.PROGRAMS)), "nodes")
        campaign_run = Campaign(ours, path)
        campaign_run.run(seeds)
    for what, count in sorted(campaign_run.counts.items()):
        print(f"{count:7,} {what}")
    sys.exit(1 if campaign_run.counts["faults"] else 0)


if __name__ == "__main__":
    main()
