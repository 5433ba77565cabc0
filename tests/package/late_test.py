"""If functions or Sessions were made before enable(), it logs one warning with their numbers."""

from __future__ import annotations

import pytest

from tests.support import child

LATE = "tensor_array_grad was enabled late: "
MADE_EARLIER = """
import tensorflow as tf, tensor_array_grad
@tf.function
def doubled(x):
    return tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x + x), [0, x])[1]
x = tf.Variable(1.0)
with tf.GradientTape() as tape:
    y = doubled(x)
tape.gradient(y, x)
assert doubled(tf.constant([1.0])).numpy().tolist() == [4.0]
with tf.compat.v1.Session(graph=tf.Graph()):
    pass
tensor_array_grad.enable()
tensor_array_grad.enable()
"""


def test_functions_and_sessions_that_were_made_before_enable_are_counted_in_one_warning():
    done = child.code(MADE_EARLIER)
    assert done.stderr.count(LATE) == 1
    assert LATE + "2 tf.function traces and 1 Sessions were made before." in done.stderr


def test_eager_list_ops_before_enable_are_counted():
    code = """
import tensorflow as tf, tensor_array_grad
tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=1, element_dtype=tf.float32)
tensor_array_grad.enable()
"""
    assert LATE + "1 tf.function traces and 0 Sessions" in child.code(code).stderr


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import keras",
        "x = tf.constant(1.0) + tf.random.normal([3])",
        "v = tf.Variable([1.0])\nv.assign_add([1.0])",
        "tf.function(lambda x: x + 1)",
        "tf.function(lambda x: x + 1)(1.0); import gc; gc.collect()",
        "with tf.Graph().as_default(): tf.compat.v1.placeholder(tf.float32)",
        "list(tf.data.Dataset.range(3).batch(2))",
    ],
)
def test_no_warning_is_logged_if_no_function_or_session_was_made(before):
    done = child.code(
        f"import tensorflow as tf, tensor_array_grad\n{before}\n"
        "tensor_array_grad.enable()\nassert tensor_array_grad.is_enabled()\n"
    )
    assert LATE not in done.stderr


def test_devices_can_be_configured_after_enable():
    child.code("""
import tensorflow as tf, tensor_array_grad
tensor_array_grad.enable()
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
assert len(tf.config.list_logical_devices("CPU")) == 2
""")


def test_functions_made_after_load_op_library_are_not_counted_as_late():
    code = """
import tensorflow as tf, tensor_array_grad
tf.load_op_library(tensor_array_grad.library_path())
print(tf.function(lambda x: x + 1)(1.0).numpy())
tensor_array_grad.enable()
"""
    assert LATE not in child.code(code).stderr
