"""Fixtures for all test files: devices, modes, counted events, and processes that run programs.

The import of `tests.support.gpus` enables the library.
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf

from tensor_array_grad import _loader
from tests.support import child, kernel_runner, memory, modes, skips, sweeps
from tests.support.gpus import GPUS, why_not
from tests.support.hand_back import NEVER, hand_back

if "PYTHONPATH" in os.environ:  # some tests change the folder, and start processes there
    paths = os.environ["PYTHONPATH"].split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, paths))
memory.collect_rarely()
gc.freeze()  # the tests that measure memory collect often, and TensorFlow is no garbage


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "run all cases of tests marked `sweep`, and fail if stock lacks a fault"
    parser.addoption("--sweep", action="store_true", help=text)
    text = "fail if a reason skips more tests than tests/support/skips.py expects"
    parser.addoption("--strict-skips", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    if not GPUS and os.environ.get("TENSOR_ARRAY_GRAD_GPU_REQUIRED") == "1":
        raise pytest.UsageError("TENSOR_ARRAY_GRAD_GPU_REQUIRED=1, but the tests would use no GPU")
    config.addinivalue_line("markers", "sweep(n): without --sweep, only every n-th case runs")


@pytest.hookimpl(trylast=True)  # after -k and -m
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips the tests that cannot run on the GPU of this machine, and shortens sweeps."""
    for item in items:
        reason = why_not(item.nodeid)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))
    if not config.getoption("sweep"):
        left_out = set(sweeps.left_out(items))
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives each worker of `pytest -n 2` one half of the tests, of which idle workers take some.

    The tests of a module then share its fixtures, such as builds and processes. By default, the
    next test goes to the worker that is idle, and both workers would make the fixtures.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


def _unexpected_skips(config: pytest.Config) -> list[str]:
    """What `skips.excess` says of this run; nothing in a worker of pytest-xdist or with --sweep."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.getoption("sweep"):
        return []
    return skips.excess(report.longrepr[2] for report in reporter.stats.get("skipped", []))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Ends the processes that the tests share. With --strict-skips, judges the skips."""
    child.end()
    passed = session.exitstatus == pytest.ExitCode.OK
    if passed and session.config.getoption("strict_skips") and _unexpected_skips(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Prints for which reasons more tests were skipped than expected."""
    found = _unexpected_skips(config)
    if found:
        terminalreporter.section("more skips than tests/support/skips.py expects")
        terminalreporter.write_line("\n".join(found))


@pytest.fixture(params=["CPU", "GPU"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """The CPU and the GPU, in turn; eager ops of the test run on that device."""
    if request.param == "GPU" and not GPUS:
        pytest.skip("no GPU is visible, or our kernels are not active on it")
    name = f"/{request.param}:0"
    with tf.device(name):
        yield name


@pytest.fixture(params=modes.NAMES)
def mode(request: pytest.FixtureRequest, device: str) -> modes.Mode:
    """Each way to run a program, on each device: see `modes.Mode`."""
    return modes.Mode(request.param, device)


class Counted:
    """Events counted by the library since the fixture was made, by name."""

    def __init__(self) -> None:
        self._before: dict[str, int] = _loader.bind().counters()

    def __getitem__(self, name: str) -> int:
        """How often event `name` happened: 0 if the library has no such counter yet."""
        return _loader.bind().counters().get(name, 0) - self._before.get(name, 0)

    def all(self) -> dict[str, int]:
        """The increase of every counter that has changed, by name."""
        now = _loader.bind().counters()
        moved = {name: count - self._before.get(name, 0) for name, count in now.items()}
        return {name: count for name, count in moved.items() if count}


@pytest.fixture
def counted() -> Iterator[Counted]:
    """Counts the library's events from the start of the test.

    Until the test ends, measured times do not cause a loop to be handed back, because the counts
    must not depend on how busy the machine is.
    """
    with hand_back(NEVER):
        yield Counted()


@pytest.fixture(scope="session", params=["CPU", "GPU"] if GPUS else None)
def ours(request: pytest.FixtureRequest) -> Iterator[kernel_runner.Runner]:
    """Child processes that run programs on this library's kernels, on each device."""
    with kernel_runner.Runner("enable", gpu=getattr(request, "param", "CPU") == "GPU") as runner:
        yield runner


@pytest.fixture
def expect_of_stock(request: pytest.FixtureRequest) -> Callable[[bool, str], None]:
    """Asserts that stock has a fault: the function takes whether it has, and a text otherwise.

    Without --sweep, the text is a warning. The faults of stock depend on its release, the C library
    and the processor, and the library is right without them.
    """

    def judge(has_it: bool, text: str) -> None:
        if not has_it and request.config.getoption("sweep"):
            pytest.fail(text)
        if not has_it:
            warnings.warn(text, stacklevel=2)

    return judge


@pytest.fixture(scope="session")
def stocks() -> kernel_runner.Runner:
    """Child processes that run programs on TensorFlow's own kernels."""
    return child.stock()
