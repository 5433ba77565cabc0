"""The GPUs that tests run on, and what cannot run there, by name."""

from __future__ import annotations

import tensorflow as tf

import tensor_array_grad

# Before any test file is imported: what runs earlier keeps stock's kernels.
tensor_array_grad.enable()

# Those that our kernels run on: none unless TENSOR_ARRAY_GRAD_GPU=1 asks for it.
GPUS = tf.config.list_physical_devices("GPU") if tensor_array_grad.is_enabled() else []


def _is_emulated() -> bool:
    details = [tf.config.experimental.get_device_details(gpu) for gpu in GPUS]
    return [detail.get("device_name") for detail in details] == ["emulated"]


# The GPU is a device of cc/testing/fake_gpu.cc (cmake/EmulatedGpu.cmake).
IS_EMULATED = _is_emulated()

_NO_KERNEL = "stock has no kernel for this on any GPU, nor a way from there to the CPU's"
_NO_XLA = "this TensorFlow, built without CUDA, has no XLA for GPUs: code for a CPU would be run"
_CUDNN = "Keras takes cuDNN where it sees a GPU: there is no loop, and none on the emulated one"

# Stock refuses these too: int64 arrays in eager mode, lists and arrays of types that exist on a
# CPU alone, handles made to bytes.
_ON_ANY_GPU = {
    **{
        f"crash_test.py::test_bad_input_is_an_error_and_changes_nothing[GPU-{op}-another-dtype]": (
            _NO_KERNEL
        )
        for op in ("write", "gather", "scatter", "split")
    },
    "grad_test.py::test_sums_are_made_in_the_dtype_and_in_order"
    "[GPU-int64-addends2--9223372036854775808]": _NO_KERNEL,
    "lifecycle_test.py::test_every_dtype_comes_out_as_it_went_in[GPU-int64]": _NO_KERNEL,
    "lifecycle_test.py::test_variants_and_resources_are_stored_too": _NO_KERNEL,
    "lifecycle_test.py::test_a_handle_that_went_through_bytes_finds_the_array_while_it_lives": (
        _NO_KERNEL
    ),
    "loop_pass_test.py::test_a_keras_layer_trains_alike[LSTM]": _CUDNN,
    "loop_pass_test.py::test_a_keras_layer_trains_alike[GRU]": _CUDNN,
    **{
        f"cost_test.py::test_keras_layer_costs_twice_at_twice_the_steps[{kind}-{to}]": _CUDNN
        for kind in ("LSTM", "GRU")
        for to in ("to_input", "to_weights")
    },
}
_ON_THE_EMULATED_GPU = {
    "lifecycle_test.py::test_compiled_functions_have_arrays_of_their_own": _NO_XLA,
    "pass_test.py::test_a_function_compiled_by_xla_is_not_touched": _NO_XLA,
}


def why_not(test: str) -> str | None:
    """Why the test of that pytest id cannot run here; None if it can."""
    skipped = {**(_ON_ANY_GPU if GPUS else {}), **(_ON_THE_EMULATED_GPU if IS_EMULATED else {})}
    return skipped.get(test.rpartition("/")[2])
