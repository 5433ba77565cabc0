"""What `status()` shows of existing arrays, kernels, counters and problems."""

from __future__ import annotations

import dataclasses
import gc
import importlib.util
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tensor_array_grad import _loader
from tensor_array_grad.status import Kernel
from tests.support import child


def make(name, size, dtype=tf.float32):
    return tf.raw_ops.TensorArrayV3(size=size, dtype=dtype, tensor_array_name=name)


def alive(name):
    return [array for array in tensor_array_grad.status().arrays if name in array.name]


def test_an_array_is_listed_while_its_handle_exists_and_no_longer():
    handle, flow = make("listed", 3, tf.float64)
    tf.raw_ops.TensorArrayWriteV3(handle=handle, index=1, value=np.zeros([5, 2]), flow_in=flow)
    (array,) = alive("listed")
    assert (array.dtype, array.size, array.bytes) == ("double", 3, 80)
    assert not array.is_gradient
    assert array.gradients == {}
    del handle
    gc.collect()
    assert alive("listed") == []


def test_a_forward_array_lists_its_gradient_arrays_by_source():
    handle, flow = make("parent", 2)
    first, _ = tf.raw_ops.TensorArrayGradV3(handle=handle, flow_in=flow, source="one")
    again, _ = tf.raw_ops.TensorArrayGradV3(handle=handle, flow_in=flow, source="one")
    other, _ = tf.raw_ops.TensorArrayGradV3(handle=handle, flow_in=flow, source="two")
    forward = [array for array in alive("parent") if not array.is_gradient]
    gradients = {array.name for array in alive("parent") if array.is_gradient}
    assert len(forward) == 1
    assert sorted(forward[0].gradients) == ["one", "two"]
    assert set(forward[0].gradients.values()) == gradients
    assert all(f"@{source}" in name for source, name in forward[0].gradients.items())
    del first, again, other


def test_bytes_alive_are_the_sum_over_all_arrays():
    before = tensor_array_grad.status().bytes_alive
    handle, flow = make("summed", 2)
    for index in range(2):
        tf.raw_ops.TensorArrayWriteV3(
            handle=handle, index=index, value=np.ones([100], np.float32), flow_in=flow
        )
    assert tensor_array_grad.status().bytes_alive == before + 800
    tf.raw_ops.TensorArrayCloseV3(handle=handle)
    assert tensor_array_grad.status().bytes_alive == before


def test_the_page_names_versions_arrays_counters_and_kernels():
    handle, _ = make("on_the_page", 4)
    status = tensor_array_grad.status()
    page = str(status)
    assert page.startswith(f"tensor_array_grad {tensor_array_grad.__version__}: active")
    assert f"built for    TensorFlow {status.built_for} ({status.built_from})" in page
    assert f"running      TensorFlow {tf.__version__}" in page
    assert "on_the_page" in page
    assert "4 x float" in page
    assert f"kernels.TensorArrayV3 {status.counters['kernels.TensorArrayV3']:,}" in page
    assert "ops on CPU" in page
    del handle


def test_the_representation_is_the_page():
    status = tensor_array_grad.status()
    assert repr(status) == str(status)


def test_kinds_of_devices_that_the_machine_lacks_are_marked():
    kernels = tuple(Kernel("TensorArrayV3", device, (), 1) for device in ("CPU", "GPU"))
    status = dataclasses.replace(
        tensor_array_grad.status(), kernels=kernels, devices=("/physical_device:CPU:0",)
    )
    line = "1 ops on CPU, 1 ops on GPU (none here)"
    assert f"kernels      {line}\n" in str(status)


def test_rules_are_those_of_the_graph_pass_and_nothing_else():
    repairs = {"sum_of_equals", "stack_of_equals"}
    names = {"accumulate_into_list", "slice_sum", "recompute", "loop_stack"} | repairs
    assert set(tensor_array_grad.status().rules) == names


def test_only_the_first_arrays_are_named_on_the_page():
    handles = [make("many", 1)[0] for _ in range(30)]
    page = str(tensor_array_grad.status())
    assert page.count("x float") + page.count("x double") <= 10
    assert f"arrays alive {len(tensor_array_grad.status().arrays)}" in page
    del handles


def test_rewrites_are_counted_under_their_rule():
    before = tensor_array_grad.status().rules

    @tf.function
    def gradient(x):
        array = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(x)
        return tf.gradients(array.read(0) + array.read(1) + array.stack()[0], x)[0]

    np.testing.assert_array_equal(gradient(tf.ones([2])), [2.0, 1.0])
    after = tensor_array_grad.status().rules
    assert {name: after[name] - before[name] for name in after} == {
        "sum_of_equals": 0,
        "stack_of_equals": 0,
        "accumulate_into_list": 2,
        "slice_sum": 0,
        "recompute": 0,
        "loop_stack": 0,
    }


def test_loops_are_counted_as_run_or_as_left_by_reason():
    def count_to_five(step):
        return tf.function(lambda: tf.while_loop(lambda i: i < 5, step, [0]))()[0].numpy()

    before = tensor_array_grad.status()
    assert count_to_five(lambda i: i + 1) == 5
    counts_its_lines = lambda i: tf.raw_ops.Print(input=i, data=[i], first_n=1)  # noqa: E731
    assert count_to_five(lambda i: counts_its_lines(i) + 1) == 5
    after = tensor_array_grad.status()
    assert after.counters["loops.runs"] == before.counters.get("loops.runs", 0) + 1
    reason = "private state or unknown side effects"
    left = after.loops_left[reason]
    assert left == before.loops_left.get(reason, 0) + 1
    assert after.loops_left == before.loops_left | {reason: left}
    assert f", {left} left ({reason})" in str(after)


def test_a_second_status_reads_no_file_and_searches_no_registry(monkeypatch):
    first = tensor_array_grad.status()
    bind = _loader.bind()

    class Counting:
        """The bindings, without what takes milliseconds."""

        def __getattr__(self, name):
            assert name not in ("kernels", "missing_kernels", "families", "xla_compilations")
            return getattr(bind, name)

        def __hash__(self):
            return hash(bind)

        def __eq__(self, other):
            return other is bind

    def refuse(*_, **__):
        raise AssertionError("a file was read")

    monkeypatch.setattr(_loader, "bind", Counting)
    monkeypatch.setattr(pathlib.Path, "read_text", refuse)
    monkeypatch.setattr(importlib.util, "find_spec", refuse)
    again = tensor_array_grad.status()
    assert again.kernels == first.kernels
    assert again.problems == first.problems


def test_counters_are_those_of_the_status():
    assert tensor_array_grad.counters() == tensor_array_grad.status().counters
    make("first", 1)
    before = tensor_array_grad.counters()["kernels.TensorArrayV3"]
    make("counted", 1)
    assert tensor_array_grad.counters()["kernels.TensorArrayV3"] == before + 1


def test_without_the_library_there_are_no_counters():
    child.code("import tensor_array_grad\nassert tensor_array_grad.counters() == {}")


def test_ours_and_stock_kernels_are_listed_with_their_priority():
    kernels = tensor_array_grad.status().kernels
    reads = {(k.device, k.priority) for k in kernels if k.op == "TensorArrayReadV3"}
    assert {("CPU", 0), ("CPU", 1)} <= reads


def test_a_missing_library_is_a_problem(monkeypatch, tmp_path):
    monkeypatch.setattr(_loader, "library_path", lambda: str(tmp_path / "gone.so"))
    status = tensor_array_grad.status()
    assert status.problems == (f"{tmp_path / 'gone.so'} is missing",)
    assert not status.loaded
    assert f"PROBLEM      {tmp_path / 'gone.so'} is missing" in str(status)


@pytest.mark.parametrize("field", ["problems", "missing_kernels"])
def test_this_process_has_no_problems_and_no_missing_kernels(field):
    assert getattr(tensor_array_grad.status(), field) == ()


def test_a_ref_variable_that_runs_shows_on_the_page_for_the_rest_of_the_process():
    child.code(
        """
        import tensorflow as tf, tensor_array_grad
        tensor_array_grad.enable()
        shared = "values       shared: no tensor of this process changes in place"
        copied = "values       copied: a TF1 ref variable or an in-place op has run in this process"
        tf1 = tf.compat.v1
        with tf.Graph().as_default(), tf1.Session() as session:
            resource = tf1.get_variable("resource", initializer=1.0, use_resource=True)
            ref = tf1.get_variable("ref", initializer=2.0, use_resource=False)
            session.run(resource.initializer)
            session.run(resource.assign_add(1.0))
            assert not tensor_array_grad.status().tensors_may_change  # `ref` has not run yet
            assert shared in str(tensor_array_grad.status())
            session.run(ref.initializer)
            assert session.run(ref) == 2.0
        assert tensor_array_grad.status().tensors_may_change
        assert copied in str(tensor_array_grad.status())
        """
    )
