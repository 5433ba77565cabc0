"""The GPUs on which tests run, and the tests that cannot run there, by pytest id."""

from __future__ import annotations

import tensorflow as tf

import tensor_array_grad

# Called before any test file is imported, because an op that ran before the call keeps its stock
# kernel.
tensor_array_grad.enable()

# The GPUs on which this library's kernels run: none with TENSOR_ARRAY_GRAD_GPU=0.
_REPLACED = tensor_array_grad.status().kernels_replaced
GPUS = tf.config.list_physical_devices("GPU") if _REPLACED else []


def _is_emulated() -> bool:
    details = [tf.config.experimental.get_device_details(gpu) for gpu in GPUS]
    return [detail.get("device_name") for detail in details] == ["emulated"]


# Whether the GPU is the emulated device of cc/testing/fake_gpu.cc (cmake/EmulatedGpu.cmake).
IS_EMULATED = _is_emulated()

_NO_KERNEL = "stock has no GPU kernel for this either, and TensorFlow cannot move it to the CPU"
_NO_XLA = "this TensorFlow was built without CUDA, so XLA would compile for a CPU"
_NO_OPTIONAL = (
    "stock's kernel of the CPU, which makes zeros of an Optional here, cannot read the GPU"
)
_CUDNN = "Keras uses cuDNN, and no loop, if it sees a GPU; the emulated GPU has no cuDNN"

_NO_LOOP = "the loop is placed on the GPU, where the executor runs it"
_NO_SLICES = "gradients of slices on a GPU are stock's"
_ROUNDING = "on a GPU, a function rounds differently from eager mode, without the pass as well"

# Stock also refuses the programs with _NO_KERNEL on a GPU: int64 arrays in eager mode, lists and
# arrays of types that only a CPU has, and serialised handles.
_ON_ANY_GPU = {
    **{
        f"crash_test.py::test_bad_input_is_an_error_and_changes_nothing[GPU-{op}-another-dtype]": (
            _NO_KERNEL
        )
        for op in ("write", "gather", "scatter", "split")
    },
    "grad_test.py::test_sums_are_computed_in_the_dtype_and_in_the_order_of_the_writes"
    "[GPU-int64-addends2--9223372036854775808]": _NO_KERNEL,
    "lifecycle_test.py::test_values_of_every_dtype_are_read_unchanged[GPU-int64]": _NO_KERNEL,
    "lifecycle_test.py::test_quantised_values_are_stored[dtype3]": _NO_KERNEL,
    "lifecycle_test.py::test_variants_and_resources_are_stored": _NO_KERNEL,
    "lifecycle_test.py::test_a_deserialised_handle_finds_the_array_while_it_exists": _NO_KERNEL,
    "rewritten_loops_test.py::test_values_and_gradients_are_those_of_eager_mode"
    "[steps_counted_from_elsewhere]": _ROUNDING,
    "rewritten_loops_test.py::test_each_rule_makes_the_expected_number_of_rewrites"
    "[slice_sum-recurrence-3]": _NO_SLICES,
    "rewritten_loops_test.py::test_each_rule_makes_the_expected_number_of_rewrites"
    "[slice_sum-read_loop-1]": _NO_SLICES,
    **{
        "rewritten_loops_test.py::test_a_variable_that_arrives_last_and_starts_no_node_does_not_stop_"
        f"the_loop[{case}]": _NO_LOOP
        for case in ("nothing", "a folded node")
    },
    "rewritten_loops_test.py::test_ops_after_a_loop_see_all_side_effects_of_its_iterations": (
        _NO_LOOP
    ),
    **{
        "rewritten_loops_test.py::test_a_keras_layer_trains_alike_with_and_without_the_pass"
        f"[{layer}]": reason
        for layer, reason in (("SimpleRNN", _NO_LOOP), ("LSTM", _CUDNN), ("GRU", _CUDNN))
    },
    **{
        f"cost_test.py::test_keras_layer_cost_doubles_with_the_steps[{kind}-{to}]": _CUDNN
        for kind in ("LSTM", "GRU")
        for to in ("to_input", "to_weights")
    },
}
_ON_THE_EMULATED_GPU = {
    "lifecycle_test.py::test_v3_arrays_work_in_functions_compiled_by_xla": _NO_XLA,
    "pass_test.py::test_a_function_compiled_by_xla_is_not_touched": _NO_XLA,
    "rewritten_loops_test.py::test_values_and_gradients_are_those_of_eager_mode"
    "[a_gradient_of_a_gradient]": _NO_OPTIONAL,
}


# All tests that are skipped on some GPU, with the reasons.
SKIPPED = {**_ON_ANY_GPU, **_ON_THE_EMULATED_GPU}


def skipped_here() -> dict[str, str]:
    """The tests that cannot run on this machine's GPU, with the reasons; none without a GPU."""
    return SKIPPED if IS_EMULATED else _ON_ANY_GPU if GPUS else {}


def why_not(test: str) -> str | None:
    """Why the test with this pytest id cannot run here; None if it can."""
    return skipped_here().get(test.rpartition("/")[2])
