"""Under XLA, no iteration of a backward loop copies a list.

XLA compiles a list to one tensor, and an iteration that has to keep the old one copies all of it,
so that the loop takes quadratic time. The compiled program is read as text: a copy of a tensor of
all n rows in the body of a loop would show in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from tests.lists import first_write_programs as programs

N = 197  # rows; no other size in these programs


def scan(x: Any) -> Any:
    return tf.scan(lambda a, b: tf.tanh(a * b), x)


def scan_backwards(x: Any) -> Any:
    return tf.scan(lambda a, b: tf.tanh(a * b), x, reverse=True)


def map_fn(x: Any) -> Any:
    return tf.map_fn(tf.tanh, x)


def autograph(x: Any) -> Any:
    state, written = tf.zeros([programs.WIDTH]), programs.array(N)
    for i in tf.range(N):
        state = tf.tanh(state * 0.5 + x[i])
        written = written.write(i, state)
    return written.stack()


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    **{f.__name__: f for f in (scan, scan_backwards, map_fn, autograph)},
    **{name: programs.FIRST[name] for name in ("SimpleRNN", "LSTM", "GRU")},
}


def copies_in_loops(name: str) -> int:
    """The number of copies of tensors of N rows in the bodies of the compiled loops."""
    program = PROGRAMS[name]

    @tf.function(jit_compile=True)
    def gradient(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(program(x) ** 2)
        return tape.gradient(loss, x)

    x = tf.ones([N, programs.WIDTH])
    gradient(x)  # Keras makes its variables
    text = gradient.experimental_get_compiler_ir(x)(stage="optimized_hlo")
    bodies = set(re.findall(r"body=%([\w.-]+)", text))
    copies = 0
    for block in re.split(r"\n(?=%|ENTRY)", text):
        called = re.match(r"%([\w.-]+)", block)
        if called and called[1] in bodies:
            copies += len(re.findall(rf"= f32\[{N}\b[^=]* copy\(", block))
    return copies


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_iteration_copies_a_list(ours, stocks, expect_of_stock, name):
    count = "tests.lists.xla_cost_test:copies_in_loops"
    assert ours.call(count, name) == 0
    expect_of_stock(stocks.call(count, name) > 0, f"{name}: stock copies no list")
