"""Kernels, gradient functions, the graph pass and loops in one kernel can be active apart."""

from __future__ import annotations

import pytest

from tests.support import kernel_runner

_PARTS = ("kernels", "gradient functions", "graph pass", "loops in one kernel")


def report() -> tuple[list[str], dict[str, int], list[float]]:
    """The parts that are active, what was counted, and a gradient that uses all of them."""
    import tensorflow as tf

    import tensor_array_grad

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            read = tf.TensorArray(tf.float32, 8, clear_after_read=False).unstack(x)
            written = tf.TensorArray(tf.float32, 8)
            for i in tf.range(8):
                written = written.write(i, read.read(i) * x[i])
            y = tf.reduce_sum(written.stack())
        return tape.gradient(y, x)

    found = gradient(tf.range(8.0)).numpy().tolist()
    page = tensor_array_grad.status()
    assert tensor_array_grad.is_enabled()
    assert page.problems == ()
    assert tuple(page.parts) == _PARTS
    assert all(f"{name}: " in str(page) for name in _PARTS)
    return [name for name, part in page.parts.items() if part.active], page.counters, found


@pytest.mark.parametrize(
    ("variable", "off"),
    [
        ("TENSOR_ARRAY_GRAD_KERNELS", "kernels"),
        ("TENSOR_ARRAY_GRAD_LOOPS", "loops in one kernel"),
        (None, None),
    ],
)
def test_one_part_is_switched_off_and_the_others_are_active(variable, off):
    with kernel_runner.Runner("enable", env={variable: "off"} if variable else {}) as runner:
        active, counters, gradient = runner.call("tests.package.parts_test:report")
    assert active == [part for part in _PARTS if part != off]
    assert gradient == [2.0 * i for i in range(8)]
    assert (counters.get("kernels.TensorListFromTensor", 0) > 0) == (off != "kernels")
    assert (counters["loops.runs"] > 0) == (off != "loops in one kernel")
    assert counters["graph.accumulate_into_list"] == counters["graph.slice_sum"] == 1
