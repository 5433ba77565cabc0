"""enable() replaces the kernels of whole families of ops, once, and reports why if it cannot."""

from __future__ import annotations

import doctest
import inspect
import os
import sys
import types

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import kernels as registry

import tensor_array_grad
from tensor_array_grad import _loader, _tf_private, drop_in
from tests.support import child

FAMILIES = _loader.bind().families()
OPS = [op for ops in FAMILIES.values() for op in ops]


def write_and_read(value):
    """Writes `value` to a V3 array of one element and returns what is read from it."""
    handle, flow = tf.raw_ops.TensorArrayV3(size=1, dtype=value.dtype)
    flow = tf.raw_ops.TensorArrayWriteV3(handle=handle, index=0, value=value, flow_in=flow)
    return tf.raw_ops.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=value.dtype)


def test_our_kernels_run_in_each_mode(mode, counted):
    np.testing.assert_array_equal(mode(write_and_read)(np.array([1.5, 2.5])), [1.5, 2.5])
    assert counted["kernels.TensorArrayWriteV3"] == 1
    assert counted["kernels.TensorArrayReadV3"] == 1


@pytest.mark.parametrize("op", OPS)
def test_every_op_of_the_families_exists_in_tensorflow(op):
    assert op in dir(tf.raw_ops)


@pytest.mark.parametrize("op", OPS)
def test_every_op_with_a_stock_kernel_has_a_kernel_of_ours(op):
    found = registry.get_registered_kernels_for_op(op).kernel
    kernels = [(kernel.device_type, kernel.priority) for kernel in found]
    ours = [device for device, priority in kernels if priority > 0]
    assert ("CPU", 0) in kernels, "stock has no kernel: the op's name is wrong"
    gpu = {"GPU"} if _loader.bind().build_facts()["gpu_kernels"] == "yes" else set()
    assert ours.count("CPU") == 1
    # As in stock, a stack's kernels for a GPU are one for each dtype of the pushed tensor.
    assert set(ours) == {"CPU"} | gpu


def test_the_library_finds_no_missing_kernel():
    assert _loader.bind().missing_kernels() == []


def test_enabling_again_registers_nothing_more():
    before = tensor_array_grad.status().kernels
    gradient = _tf_private.gradient_function("TensorListGather")
    tensor_array_grad.enable()
    assert tensor_array_grad.is_enabled()
    assert tensor_array_grad.status().kernels == before
    assert _tf_private.gradient_function("TensorListGather") is gradient


def test_the_graph_pass_is_on_and_can_be_switched_off():
    assert tensor_array_grad.status().graph_pass
    switch = tensor_array_grad.graph_pass(False)
    assert not tensor_array_grad.status().graph_pass
    with switch:
        assert not tensor_array_grad.status().graph_pass
    assert tensor_array_grad.status().graph_pass


def test_the_switch_of_the_graph_pass_nests_and_survives_errors():
    def fail_inside():
        with tensor_array_grad.graph_pass(False):
            with tensor_array_grad.graph_pass(True):
                assert tensor_array_grad.status().graph_pass
            assert not tensor_array_grad.status().graph_pass
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        fail_inside()
    assert tensor_array_grad.status().graph_pass


def test_a_refusal_that_the_user_has_not_chosen_is_an_error(monkeypatch):
    reason = "this build lacks kernels for X on CPU"
    refused = types.SimpleNamespace(active=False, cause="missing kernel", reason=reason)
    bindings = types.SimpleNamespace(
        library_decision=lambda: refused, kernel_decision=lambda: refused
    )
    monkeypatch.setattr(_loader, "bind", lambda: bindings)
    with pytest.raises(tensor_array_grad.LoadError, match="lacks kernels for X on CPU"):
        drop_in.enable()


def test_the_private_gradient_registry_can_be_read_and_replaced():
    stock = _tf_private.gradient_function("Erfc")
    assert callable(stock)
    try:
        _tf_private.replace_gradient("Erfc", lambda op, grad: 7.0 * grad)
        x = tf.constant(0.5)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.math.erfc(x)
        assert tape.gradient(y, x).numpy() == 7.0
    finally:
        _tf_private.replace_gradient("Erfc", stock)
    with pytest.raises(LookupError, match="NoSuchOp"):
        _tf_private.gradient_function("NoSuchOp")


@pytest.mark.parametrize("value", ["0", "1"])
def test_whether_onednn_is_enabled_is_known(value):
    program = "from tensor_array_grad import _tf_private; print(_tf_private.is_onednn_enabled())"
    # TensorFlow reads the variable when it is imported.
    done = child.interpreter("-c", program, TF_ENABLE_ONEDNN_OPTS=value)
    assert child.succeeded(done).stdout.split() == [str(value == "1")]


def test_a_vectorization_is_wrapped_and_an_unknown_op_is_refused():
    from tensorflow.python.ops.parallel_for import pfor

    converters = pfor._pfor_converter_registry
    stock = converters["Erfc"]
    try:
        _tf_private.wrap_vectorization("Erfc", lambda convert, pfor_input: convert(pfor_input))
        x = tf.constant([0.5, -1.0])
        found = tf.vectorized_map(lambda row: tf.raw_ops.Erfc(x=row), x)
        np.testing.assert_array_equal(found, tf.math.erfc(x))
        assert converters["Erfc"] is not stock
    finally:
        converters["Erfc"] = stock
    with pytest.raises(LookupError):
        _tf_private.wrap_vectorization("NoSuchOp", lambda convert, pfor_input: None)


def test_loops_and_conditionals_know_their_graphs_and_the_graphs_their_ops():
    @tf.function(autograph=False)
    def traced(x, which):
        (y,) = tf.while_loop(lambda y: y < 10.0, lambda y: (y * 2.0,), [x])
        z = tf.cond(x > 0.0, lambda: y * 3.0, lambda: y)
        return tf.switch_case(which, [lambda: z * 5.0, lambda: z * 7.0, lambda: z])

    specs = tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.int32)
    graph = traced.get_concrete_function(*specs).graph
    ops = {op.type.removeprefix("Stateless"): op for op in graph.get_operations()}
    graphs = [
        *_tf_private.body_and_condition(ops["While"]),
        *_tf_private.branches(ops["If"]),
        *_tf_private.branches(ops["Case"]),
    ]
    callers = [ops["While"]] * 2 + [ops["If"]] * 2 + [ops["Case"]] * 3
    assert len({id(inner) for inner in graphs}) == len(callers)
    assert all(inner.outer_graph is graph for inner in graphs)
    assert [_tf_private.control_flow_op(inner) for inner in graphs] == [None] * len(callers)
    with graph.as_default():
        tf.gradients(graph.outputs, graph.inputs[:1])
    for inner, caller in zip(graphs, callers, strict=True):
        assert _tf_private.control_flow_op(inner) is caller
    assert _tf_private.control_flow_op(graph) is None

    imported = tf.compat.v1.wrap_function(
        lambda: tf.import_graph_def(graph.as_graph_def(), name=""), []
    ).graph
    loaded = {op.type.removeprefix("Stateless"): op for op in imported.get_operations()}
    assert _tf_private.body_and_condition(loaded["While"]) is None
    assert _tf_private.branches(loaded["If"]) == _tf_private.branches(loaded["Case"]) == []


def test_the_private_lists_of_functions_and_sessions_can_be_counted():
    functions, sessions = _tf_private.functions_and_sessions()

    @tf.function
    def traced(x):
        return x + 1.0

    traced(tf.constant(1.0))
    traced(tf.constant([1.0]))
    with tf.compat.v1.Session(graph=tf.Graph()):
        assert _tf_private.functions_and_sessions() == (functions + 2, sessions + 1)


def test_tensorflow_looks_for_devices_and_does_not_remember_them():
    found = child.code("""
        from tensor_array_grad import _tf_private
        from tensorflow.python.eager import context
        import tensorflow as tf
        names = _tf_private.look_for_devices()
        print(context.context()._physical_devices is None)
        print(names == [device.name for device in tf.config.list_physical_devices()])
    """).stdout
    assert found.split() == ["True", "True"]


@pytest.mark.parametrize("error", [None, tf.errors.NotFoundError(None, None, "no driver")])
def test_tensorflow_looks_for_devices_before_the_library_is_loaded(error, monkeypatch):
    looked = []

    def look():
        looked.append(os.environ.get(_loader._LOOKED))
        if error is not None:
            raise error

    monkeypatch.setattr(_tf_private, "look_for_devices", look)
    with _loader._after_looking_for_gpus():
        assert os.environ[_loader._LOOKED] == str(os.getpid())
    assert looked == [None]
    assert _loader._LOOKED not in os.environ


@pytest.mark.parametrize("module", ["drop_in", "raw_ops", "status", "_loader"])
def test_the_examples_in_the_documentation_run(module):
    result = doctest.testmod(sys.modules[f"tensor_array_grad.{module}"])
    assert result.failed == 0


def test_the_traceback_of_an_op_of_a_function():
    @tf.function
    def inner(x):
        return tf.sin(x)

    here = inspect.currentframe().f_lineno + 1
    concrete = inner.get_concrete_function(tf.TensorSpec([]))
    frames = _tf_private.traceback(concrete.name.decode(), "Sin")
    assert [frame.line for frame in frames if frame.file == __file__] == [here, here - 3]
    assert frames[-1].function == "inner"
    assert frames in _tf_private.traces(concrete.name.decode())
    assert _tf_private.traceback("no_such_function", "Sin") == ()
    assert _tf_private.traceback(concrete.name.decode(), "no_such_op") == ()


def test_a_function_that_did_not_exist_is_looked_up_again(monkeypatch):
    concrete = tf.function(lambda x: tf.cos(x)).get_concrete_function(tf.TensorSpec([]))
    name = concrete.name.decode()
    find = context.Context.get_graph_debug_info
    calls = []

    def find_later(self, function):
        calls.append(function)
        if len(calls) == 1:
            raise tf.errors.NotFoundError(None, None, function)
        return find(self, function)

    monkeypatch.setattr(context.Context, "get_graph_debug_info", find_later)
    assert _tf_private.traceback(name, "Cos") == ()
    assert _tf_private.traceback(name, "Cos")
    assert calls == [name] * 2


def test_the_traceback_of_an_op_of_a_graph():
    with tf.Graph().as_default():
        tf.constant(1.0, name="only_in_this_test")
        line = inspect.currentframe().f_lineno - 1
        frames = _tf_private.traceback("", "only_in_this_test")
    assert line in [frame.line for frame in frames if frame.file == __file__]
    assert _tf_private.traceback("", "in_no_graph") == ()


@pytest.mark.parametrize(
    "first", ["tf.constant(1)", "tf.compat.v1.Session()", "tf.function(lambda: tf.constant(1))()"]
)
def test_a_call_before_the_first_op(first):
    program = f"""
    import tensorflow as tf
    from tensor_array_grad import _tf_private
    calls = []
    _tf_private.call_before_first_op(lambda: calls.append(1))
    assert not calls
    {first}
    assert len(calls) == 1
    tf.constant(2)
    tf.compat.v1.Session()
    assert len(calls) == 1
    """
    child.code(program)
