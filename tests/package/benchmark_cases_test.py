"""The benchmarks: each case computes the right values."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import case as cases
from benchmarks import first_call, indexing, lists, loops, peers, traced, v3


def _named(module):
    return [pytest.param(case, id=case.name) for case in module.CASES]


@pytest.mark.parametrize("case", _named(v3))
@pytest.mark.parametrize("n", [1, 7])
def test_each_v3_case_computes_the_values_of_numpy(case, n):
    prepared = case.build(n)
    assert prepared.expected is not None
    assert cases.check(prepared).size == np.size(prepared.expected)
    assert prepared.run() > 0


@pytest.mark.parametrize("name", list(lists.LOSSES))
def test_each_loop_case_has_the_gradient_of_eager_mode(name):
    n = 80  # in one case, two inner loops of 40 iterations
    (case,) = (case for case in lists.CASES if case.name == name)
    rows = np.random.default_rng(n).standard_normal((n, 32), np.float32)
    eager = lists.gradient_of(lists.LOSSES[name])(tf.constant(rows)).numpy().ravel()
    assert np.abs(eager).max() > 0
    np.testing.assert_allclose(cases.check(case.build(n)), eager, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["simple_rnn", "simple_rnn_input", "lstm", "gru", "hessian_vector", "short"]
)
def test_layer_hessian_and_short_cases_have_a_nonzero_gradient(name):
    (case,) = (case for case in lists.CASES if case.name == name)
    gradient = cases.check(case.build(7))
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 0


def _kalman_in_numpy(series, transition, state_noise, noise):
    """The log-likelihood from the joint distribution of all observations, without a filter."""
    series, transition = np.asarray(series, np.float64), np.asarray(transition, np.float64)
    n = len(series)
    added, observed = np.diag(np.exp(state_noise)), np.diag(np.exp(noise))
    power = [np.linalg.matrix_power(transition, k) for k in range(n + 1)]
    variance, covariance = np.eye(2), np.zeros((2 * n, 2 * n))
    for t in range(n):
        variance = transition @ variance @ transition.T + added
        for later in range(t, n):
            block = power[later - t] @ variance
            covariance[2 * later : 2 * later + 2, 2 * t : 2 * t + 2] = block
            covariance[2 * t : 2 * t + 2, 2 * later : 2 * later + 2] = block.T
    covariance += np.kron(np.eye(n), observed)
    y = series.ravel()
    _, log_determinant = np.linalg.slogdet(2 * np.pi * covariance)
    return -0.5 * (y @ np.linalg.solve(covariance, y) + log_determinant)


def test_the_kalman_filter_finds_the_likelihood_of_the_joint_distribution():
    arguments = loops.kalman_arguments(12)
    expected = _kalman_in_numpy(*(value.numpy() for value in arguments))
    assert loops.kalman_log_likelihood(*arguments).numpy() == pytest.approx(expected, rel=1e-5)


def test_the_markov_model_sums_over_all_paths():
    n = 4
    emissions, transition = (
        value.numpy().astype(np.float64) for value in loops.markov_arguments(n)
    )
    follows = np.exp(transition) / np.exp(transition).sum(1, keepdims=True)
    paths = itertools.product(range(loops.STATES), repeat=n)
    total = sum(
        np.exp(sum(emissions[t, state] for t, state in enumerate(path)))
        * np.prod([follows[a, b] for a, b in itertools.pairwise(path)])
        / loops.STATES
        for path in paths
    )
    found = loops.markov_log_likelihood(*loops.markov_arguments(n)).numpy()
    assert found == pytest.approx(np.log(total), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "loss", "arguments"),
    [
        ("kalman", loops.kalman_log_likelihood, loops.kalman_arguments(9)),
        ("markov", loops.markov_log_likelihood, loops.markov_arguments(9)),
    ],
)
def test_each_filter_case_has_the_value_and_gradients_of_eager_mode(name, loss, arguments):
    (case,) = (case for case in loops.CASES if case.name == name)
    eager = traced.value_and_gradients_of(loss)(*arguments).numpy()
    found = cases.check(case.build(9))
    # The Kalman case computes no gradient for the first argument, the series.
    expected = eager if name == "markov" else np.delete(eager, np.arange(1, 1 + 9 * 2))
    assert np.abs(expected).min() > 0
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_the_plain_loop_applies_a_tanh_in_each_iteration():
    (case,) = (case for case in loops.CASES if case.name == "plain_forward")
    row, h = traced.rows(1)[0].numpy(), 0.0
    for _ in range(5):
        h = np.tanh(h * 0.5 + row)
    assert cases.check(case.build(5)) == pytest.approx(h.sum(), rel=1e-4)


def _chains_in_numpy(x, n):
    value = np.zeros_like(x)
    for _ in range(n):
        value = value + x
        for _ in range(10):
            value = np.tanh(value)
    return value.sum()


def test_chains_apply_ten_tanh_in_each_iteration():
    x = traced.rows(4, 6)
    assert loops.chains(x, 3).numpy() == pytest.approx(_chains_in_numpy(x.numpy(), 3), rel=1e-5)


def test_determinants_are_those_of_numpy():
    x = traced.rows(3, 64 * 64)
    matrices = x.numpy().reshape(3, 64, 64) * 0.02 + np.eye(64)
    expected = np.linalg.det(matrices).sum()
    assert loops.determinants(x).numpy() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "name", [c.name for c in loops.CASES if c.name not in ("kalman", "markov")]
)
def test_each_loop_case_but_the_filters_has_nonzero_values(name):
    (case,) = (case for case in loops.CASES if case.name == name)
    values = cases.check(case.build(3))
    assert np.isfinite(values).all()
    assert np.abs(values).max() > 1e-5


@pytest.mark.parametrize("name", ["scan_lstm", "third_derivative", "nested", "many_loops"])
def test_each_first_call_has_nonzero_values(name):
    (case,) = (case for case in first_call.CASES if case.name == name)
    values = cases.check(case.build(3))
    assert np.isfinite(values).all()
    assert np.abs(values).max() > 1e-5


def test_a_case_compiled_by_xla_computes_the_same_values():
    (case,) = (case for case in lists.CASES if case.name == "read")
    prepared = case.build(20)
    np.testing.assert_allclose(
        cases.check(prepared.compiled()), cases.check(prepared), rtol=1e-4, atol=1e-6
    )


def _peer_cases():
    for case in peers.CASES:
        loop, _, package = case.name.partition(".")
        yield pytest.param(case, loop, package, id=case.name)


@pytest.mark.parametrize(("case", "loop", "package"), list(_peer_cases()))
def test_each_peer_computes_the_gradient_of_tensorflow(case, loop, package):
    if package:
        pytest.importorskip(package)
    losses = {**lists.LOSSES, "index": indexing.index}
    eager = tf.convert_to_tensor(lists.gradient_of(losses[loop])(traced.rows(12))).numpy().ravel()
    assert np.abs(eager).max() > 0
    np.testing.assert_allclose(cases.check(case.build(12)), eager, rtol=1e-4, atol=1e-5)
