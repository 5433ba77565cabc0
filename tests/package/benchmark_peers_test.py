"""The benchmarks beside PyTorch and JAX, which need not be installed."""

import json

import pytest

from benchmarks import harness, peers
from tests.package.benchmark_fakes import PLAN, FakeServer


@pytest.fixture
def no_package(monkeypatch):
    """Makes PyTorch and JAX look as if they were not installed."""
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: None)


def test_a_package_that_is_not_installed_is_named_with_the_extra_that_installs_it(no_package):
    assert peers.missing() == {
        "torch": "torch is not installed; pip install 'tensor_array_grad[peers]' installs it",
        "jax": "jax is not installed; pip install 'tensor_array_grad[peers]' installs it",
    }


def _compare_peers(n=10, smaller=None, **arguments):
    asked = []
    libraries = {column.library: None for column in peers.COLUMNS}
    servers = {name: FakeServer(name, asked, **arguments) for name in libraries}
    return peers.compare("read", n, servers, PLAN, smaller), asked


def test_stock_and_ours_are_measured_without_the_packages(no_package):
    row, asked = _compare_peers(seconds=2.0)
    forwards = ["stock", "ours", "ours_jit"]
    assert asked == [*forwards, *reversed(forwards), *forwards]
    assert row.seconds == {
        "stock": 2.0,
        "ours": 2.0,
        "ours, XLA": 2.0,
        "PyTorch": None,
        "JAX lax.scan": None,
    }
    assert peers.line(row) == "| read | 10 | 2 s | 2 s | 2 s | - | - |"


def test_installed_peers_are_measured_in_turn(monkeypatch):
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: object())
    row, asked = _compare_peers(seconds=0.5)
    # The server `stock` also measures PyTorch and JAX.
    assert asked[:5] == ["stock", "ours", "ours_jit", "stock", "stock"]
    assert set(row.seconds.values()) == {0.5}


def test_a_column_that_would_take_too_long_is_left_out_of_the_larger_size(no_package):
    slow, _ = _compare_peers(seconds=PLAN.limit_s / 10)
    row, asked = _compare_peers(n=40, smaller=slow)
    assert asked == []
    assert row.notes["stock"] == "not run, it would take too long"
    assert "stock: not run, it would take too long; ours: not run" in peers.line(row)


def test_peers_are_written_as_json_lines(no_package, tmp_path):
    row, _ = _compare_peers(seconds=2.0)
    harness.write_rows([row], {"cores": 2}, tmp_path / "peers.jsonl")
    (line,) = (tmp_path / "peers.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["case"], record["n"], record["machine"]) == ("read", 10, {"cores": 2})
    assert (record["seconds"]["ours"], record["seconds"]["PyTorch"]) == (2.0, None)
