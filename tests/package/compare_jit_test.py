"""`python -m tensor_array_grad compare --jit` compiles a program with XLA as well."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from tensor_array_grad import _compiled, _runs
from tensor_array_grad._comparison import Comparison
from tensor_array_grad._report import Reports
from tensor_array_grad._runs import XLA, Run
from tests.support import child

COMPARE = ("-m", "tensor_array_grad", "compare", "--jit")
GRADIENT_INSIDE = """
import tensorflow as tf

@tf.function
def value_and_gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        rows = tf.TensorArray(tf.float32, 40).unstack(x)
        h = tf.zeros([3])
        for i in tf.range(40):
            h = tf.tanh(rows.read(i) + h)
        y = tf.reduce_sum(h)
    return y, tape.gradient(y, x)

y, gradient = value_and_gradient(tf.random.stateless_normal([40, 3], [1, 2]))
print(y.numpy(), gradient.numpy().tolist())
"""
GRADIENT_OUTSIDE = """
import tensorflow as tf

@tf.function
def total(x):
    rows = tf.TensorArray(tf.float32, 4).unstack(x)
    h = tf.zeros([])
    for i in tf.range(4):
        h = tf.tanh(rows.read(i) + h)
    return h

x = tf.ones([4])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = total(x)
print(tape.gradient(y, x).numpy())
"""
SAVES_AND_LOADS = """
import {keras} as keras
import numpy as np
import warnings

warnings.filterwarnings("error", message=".*compile.*")
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input([2]), keras.layers.Dense(3), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.save("model.keras")
loaded = keras.models.load_model("model.keras")
x = np.ones([8, 2], np.float32)
print(loaded.fit(x, x[:, :1], epochs=2, verbose=0).history["loss"])
"""
CHOOSES = """
import tensorflow as tf

@tf.function(jit_compile=False)
def twice(x):
    return 2.0 * x

print(twice(tf.constant(1.5)).numpy())
"""
SPELLS = """
import tensorflow as tf

def spell(x, depth):
    return spell(x, depth - 1) if depth else tf.strings.as_string(x)

@tf.function
def spell_deep(x):
    return spell(x, 30)

print("Error rate 0.3")
print(spell_deep(tf.constant(1)).numpy())
"""
KERAS_SPELLS = """
import keras
import numpy as np
import tensorflow as tf

class Spells(keras.layers.Layer):
    def call(self, x):
        return x * tf.cast(tf.strings.length(tf.strings.as_string(x)), tf.float32)

model = keras.Sequential([Spells(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x = np.ones([8, 2], np.float32)
model.fit(x, x[:, :1], verbose=0)
"""
# Fails in the second run under XLA.
FAILS_LATER = """
import os, pathlib, sys
import tensorflow as tf

@tf.function
def twice(x):
    return 2.0 * x

print(twice(tf.constant(1.5)).numpy())
if os.environ.get("TENSOR_ARRAY_GRAD_COMPILE"):
    if pathlib.Path("seen").exists():
        sys.exit("no more of it")
    pathlib.Path("seen").touch()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def compare(program: str, *options: str, run: Callable[..., Any] = child.python) -> str:
    """The page of the program; compares forks of one process unless `run` is given."""
    pathlib.Path("script.py").write_text(program)
    forks = {"fork_children": True} if run is child.python else {}
    return child.succeeded(run(*COMPARE, *options, "script.py", **forks)).stdout


@pytest.mark.parametrize(
    "program",
    [
        GRADIENT_INSIDE,
        SAVES_AND_LOADS.format(keras="keras"),
        pytest.param(SAVES_AND_LOADS.format(keras="tf_keras"), id="tf_keras"),
    ],
)
def test_xla_compiles_functions_and_keras_models_that_are_loaded_too(program):
    if "tf_keras" in program:
        pytest.importorskip("tf_keras")
    # One program runs in interpreters that are started and import TensorFlow, as for a user.
    run = child.interpreter if program == GRADIENT_INSIDE else child.python
    found = json.loads(compare(program, "--json", "--runs", "1", run=run))
    assert found["compilations"] >= 1
    assert found["compiled_refusal"] == ""
    assert found["compiled_output"].startswith("the same")
    assert found["compiled_differs"] is False
    (wall,) = found["ours_xla"]["wall_s"]
    assert 0 < found["compile_s"] < wall


def test_a_choice_of_the_program_is_left_and_the_page_says_that_nothing_was_compiled():
    page = compare(CHOOSES, "--runs", "1")
    assert "compiled by XLA         0, in 0.00 s" in page
    assert "No tf.function and no Keras model leaves jit_compile open" in page
    assert page.splitlines()[0].split() == [
        *("stock", "ours", "stock", "/", "ours", "ours,", "XLA", "stock", "/", "ours,", "XLA")
    ]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (SPELLS, "Detected unsupported operations .* AsString"),
        (KERAS_SPELLS, "Detected unsupported operations .* AsString"),
        (GRADIENT_OUTSIDE, "UnimplementedError: Support for TensorList crossing the XLA/TF bound"),
    ],
)
def test_a_program_that_xla_refuses_is_compared_all_the_same(program, message):
    page = compare(program, "--runs", "2")
    (line,) = [line for line in page.splitlines() if line.startswith("output, XLA")]
    assert re.search(f"none: .*{message}", line)
    assert "XLA" not in page.splitlines()[0]


def test_a_run_that_xla_refuses_leaves_the_figures_of_the_earlier_runs():
    found = json.loads(compare(FAILS_LATER, "--json", "--runs", "3"))
    assert len(found["ours_xla"]["wall_s"]) == 1
    assert len(found["ours"]["wall_s"]) == 3
    assert found["compiled_refusal"] == "no more of it"
    assert found["compilations"] == 1


# ---- which functions and models get the option ---------------------------------------------------

# Cases of a kind share one process, because the import of TensorFlow takes seconds.
FUNCTIONS = """
import json
import sys
import tensorflow as tf
from tensor_array_grad import _compiled

for module, expression in json.loads(sys.argv[1]):
    before = _compiled.options_added()
    made = eval(expression, {"__name__": module, "tf": tf})
    print(made._jit_compile, _compiled.options_added() - before)
"""
FUNCTION_CASES = {
    ("script", "tf.function(abs)"): "True 1",
    ("script", "tf.function(autograph=False)(abs)"): "True 1",
    ("script", "tf.compat.v2.function(abs)"): "True 1",
    ("script", "tf.compat.v1.function(abs)"): "True 1",
    ("script", "__import__('tensorflow.compat.v2').compat.v2.function(abs)"): "True 1",
    ("script", "__import__('tensorflow.compat.v1').compat.v1.function(abs)"): "True 1",
    ("script", "tf.function(abs, None, True, None)"): "True 1",
    ("script", "tf.function(abs, None, True, False)"): "False 0",
    ("script", "tf.function(abs, jit_compile=True)"): "True 0",
    ("script", "tf.function(abs, experimental_compile=False)"): "False 0",
    ("keras.src.backend", "tf.function(abs)"): "None 0",
    ("tf_keras.src.engine", "tf.compat.v2.function(abs)"): "None 0",
    ("tensorflow_probability.python.mcmc", "tf.compat.v2.function(abs)"): "None 0",
    ("keras_like", "tf.function(abs)"): "True 1",
}


def test_the_option_is_added_to_a_function_that_leaves_it_open():
    found = run(FUNCTIONS, json.dumps(list(FUNCTION_CASES)))
    assert dict(zip(FUNCTION_CASES, found, strict=True)) == FUNCTION_CASES


MODELS = """
import importlib
import sys
import numpy as np
from tensor_array_grad import _compiled

keras = importlib.import_module(sys.argv[1])
for arguments in sys.argv[2:]:
    before = _compiled.options_added()
    model = keras.Sequential([keras.layers.Input([2]), keras.layers.Dense(1)])
    eval(f"model.compile({arguments})")
    model.fit(np.ones([4, 2]), np.ones([4]), verbose=0)
    assert type(model).compile == type(model).compile
    added = _compiled.options_added() - before
    print(bool(model.jit_compile), bool(model.run_eagerly), added)
"""
MODEL_CASES = {
    "'sgd', 'mse'": "True False 1",
    "'sgd', 'mse', None, None, None, False, 2": "True False 1",
    "'sgd', 'mse', None, None, None, False, 1, False": "False False 0",
    "'sgd', 'mse', jit_compile=False": "False False 0",
    "'sgd', 'mse', run_eagerly=True": "False True 0",
    "'sgd', 'mse', None, None, None, True": "False True 0",
}


@pytest.mark.parametrize("keras", ["keras", "tf_keras"])
def test_the_option_is_added_to_a_model_that_leaves_it_open(keras):
    pytest.importorskip(keras)
    found = run(MODELS, keras, *MODEL_CASES)
    assert dict(zip(MODEL_CASES, found, strict=True)) == MODEL_CASES


def run(program: str, *arguments: str) -> list[str]:
    switches = {_compiled.SWITCH: "1"}
    done = child.python("-m", "tensor_array_grad", "-c", program, *arguments, **switches)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# ---- the page and the reason ---------------------------------------------------------------------


def comparison(outputs: list[str], refusal: str = "", **reports: int) -> Comparison:
    runs = {"stock": ["1.0"], "ours": ["1.0"]} | ({XLA: outputs} if outputs else {})
    made = {name: [Run(1.0, 1.0, 1, text) for text in texts] for name, texts in runs.items()}
    compiled = Reports(**{"processes": 1, **reports})
    return Comparison(made, Reports(1), compiled, refusal)


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        ({}, True),
        ({"compilations": 1}, True),  # the program asks for it itself
        ({"jit_options_added": 1}, False),  # but the function was not called
        ({"silent": 1}, False),
        ({"processes": 0}, False),
    ],
)
def test_that_nothing_leaves_the_option_open_is_said_only_if_it_is_known(reports, said):
    page = str(comparison(["1.0"], **reports))
    assert ("leaves jit_compile open" in page) == said


def test_a_refusal_after_other_runs_is_shown_below_their_figures():
    lines = str(comparison(["1.0", "1.0"], "no more")).splitlines()
    assert "failed, XLA             run 3, which is left out: no more" in lines
    assert "output, XLA             the same in all runs" in lines


@pytest.mark.parametrize(("output", "differs"), [("1.0001", False), ("1.01", True), ("a", True)])
def test_another_output_under_xla_is_a_fact_of_its_own(output, differs):
    found = comparison([output])
    assert (found.differs(XLA), found.differs()) == (differs, False)
    assert json.loads(found.to_json())["compiled_differs"] is differs
    stock = [*found.runs["stock"], dataclasses.replace(found.runs["stock"][0], output="b")]
    unsteady = dataclasses.replace(found, runs=found.runs | {"stock": stock})
    assert not unsteady.differs(XLA)
    assert not comparison([], "refused").differs(XLA)


TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\n'
LOG = "I0000 00:00:17.5  2236 service.cc:153] XLA service: unsupported operations {{node a}}\n"
GRAPH_ERROR = "a.b.InvalidArgumentError: Graph execution error:\n\nDetected at node n:\n"


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        (TRACEBACK + "a.b.InvalidArgumentError: no", "a.b.InvalidArgumentError: no"),
        (TRACEBACK + "KeyboardInterrupt\n" + LOG, "KeyboardInterrupt"),
        ("Error: XLA\n" + TRACEBACK + "ValueError: no", "ValueError: no"),
        (TRACEBACK + "ValueError: in user code:\n\n    ValueError: no", "ValueError: no"),
        (
            TRACEBACK + GRAPH_ERROR,
            "a.b.InvalidArgumentError: Graph execution error: Detected at node n:",
        ),
        (TRACEBACK + GRAPH_ERROR + "XLA compilation needs x\n\t[[m]]", "XLA compilation needs x"),
        (TRACEBACK + GRAPH_ERROR + "on XLA_CPU_JIT: {{node b}}\n", "on XLA_CPU_JIT: {{node b}}"),
        (
            TRACEBACK + "E: unsupported operations: A\n" + TRACEBACK + "ValueError: wrapped",
            "E: unsupported operations: A",
        ),
        (LOG + "no data\n", "no data"),
        ("Error rate 0.3\nno data\n", "no data"),
        (LOG, ""),
        ("", ""),
    ],
)
def test_the_reason_is_the_line_that_says_most(errors, expected):
    assert _runs.reason(errors) == expected


@pytest.mark.parametrize(
    ("status", "errors", "expected"),
    [
        (1, "x" * 5000 + "\nValueError: no\n" + "y\n" * 5000, "ValueError: no"),
        (3, "", "the program ended with 3"),
        (-11, "ValueError: an earlier one\n", "the program was ended by SIGSEGV"),
    ],
)
def test_a_failure_has_its_reason_and_the_end_of_the_output(status, errors, expected):
    failed = _runs.Failed("ours", status, "Error: on standard output\n", errors)
    assert failed.reason == expected
    assert str(failed).startswith("ours: the program ")
    assert str(failed).endswith(errors[-100:])
