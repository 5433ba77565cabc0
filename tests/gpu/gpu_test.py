"""The registration of this library's GPU kernels, which can be tested without a GPU.

If a GPU is visible and these kernels are active, every test with the fixture `device`, `mode` or
`ours` also runs on it. The GPU may be an emulated one (cmake/EmulatedGpu.cmake). The arithmetic is
tested in C++ (functors_gpu_test).
"""

from __future__ import annotations

import collections
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework import kernels as registry

from tensor_array_grad import _loader
from tests.support import child, kernel_runner
from tests.support.gpus import GPUS

BUILT = _loader.bind().build_facts()["gpu_kernels"] == "yes"
OPS = [op for ops in _loader.bind().families().values() for op in ops]

needs_kernels = pytest.mark.skipif(not BUILT, reason="this build has no GPU kernels (TAG_CUDA)")


def kernels(op: str, ours: bool) -> list[Any]:
    """The kernels that may run `op` on a GPU: those for GPU and, in stock, those for DEFAULT.

    DEFAULT is any device except a CPU.
    """
    found = registry.get_registered_kernels_for_op(op).kernel
    on_gpu = [kernel for kernel in found if kernel.device_type in ("GPU", "DEFAULT")]
    return [kernel for kernel in on_gpu if (kernel.priority > 0) == ours]


def dtypes(found: list[Any]) -> collections.Counter[tf.DType]:
    """How many constraints of the kernels name each dtype."""
    constraints = [constraint for kernel in found for constraint in kernel.constraint]
    return collections.Counter(
        tf.as_dtype(number) for c in constraints for number in c.allowed_values.list.type
    )


def host_arguments(found: list[Any]) -> set[frozenset[str]]:
    """The sets of arguments that kernels have in host memory."""
    return {frozenset(kernel.host_memory_arg) for kernel in found}


@needs_kernels
@pytest.mark.parametrize("op", OPS)
def test_each_op_has_gpu_kernels_of_ours_with_the_priority_of_the_cpu_kernel(op: str) -> None:
    found = registry.get_registered_kernels_for_op(op).kernel
    ours = {kernel.device_type: kernel.priority for kernel in found if kernel.priority > 0}
    assert ours == {"CPU": 1, "GPU": 1}
    gpu = kernels(op, ours=True)
    assert len(gpu) == len(host_arguments(gpu))


@needs_kernels
@pytest.mark.parametrize("op", OPS)
def test_the_same_arguments_are_in_host_memory_as_in_stocks_kernels(op: str) -> None:
    stock = host_arguments(kernels(op, ours=False))
    if not stock:
        pytest.skip("this TensorFlow was built without CUDA and has no such kernel")
    assert stock == host_arguments(kernels(op, ours=True))


@needs_kernels
@pytest.mark.parametrize("op", OPS)
def test_every_dtype_of_stocks_gpu_kernels_is_served(op: str) -> None:
    ours, stock = (dtypes(kernels(op, ours=which)) for which in (True, False))
    assert set(stock) <= set(ours) or not ours
    assert not ours or max(ours.values()) == 1  # each dtype is named once


@needs_kernels
def test_no_op_lacks_a_kernel_that_stock_has_on_a_gpu() -> None:
    assert _loader.bind().missing_kernels() == []


@needs_kernels
@pytest.mark.parametrize(
    ("op", "on_host"),
    [
        ("ListAccumulate", ["element_shape", "index", "num_elements"]),
        ("ListAccumulateLike", ["index"]),
    ],
)
def test_ops_of_the_graph_pass_have_gpu_kernels_for_all_dtypes_of_set_item(
    op: str, on_host: list[str]
) -> None:
    (accumulate,) = kernels(f"TensorArrayGrad>{op}", ours=True)
    assert sorted(accumulate.host_memory_arg) == on_host
    set_item = dtypes(kernels("TensorListSetItem", ours=True))
    assert set(set_item) <= set(dtypes([accumulate]))


def test_the_absence_of_a_required_gpu_is_an_error() -> None:
    hidden = {"CUDA_VISIBLE_DEVICES": "", "TENSOR_ARRAY_GRAD_GPU_REQUIRED": "1"}
    done = child.python("-m", "pytest", "-p", "no:cacheprovider", __file__, **hidden)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout
    assert "the tests would use no GPU" in done.stderr


@pytest.mark.skipif(not GPUS, reason="no GPU is visible")
def test_the_fixtures_run_on_the_gpu(device: str) -> None:
    handle, _ = tf.raw_ops.TensorArrayV3(size=1, dtype=tf.float32)
    assert handle.device.endswith(device.replace("/", "device:"))


@pytest.mark.skipif(not GPUS, reason="no GPU is visible")
def test_child_processes_run_on_the_gpu(ours: kernel_runner.Runner) -> None:
    device = ours.call("tests.gpu.gpu_test:device_of_an_array")
    assert device.endswith("GPU:0") == ours.gpu


def device_of_an_array() -> str:
    handle, _ = tf.raw_ops.TensorArrayV3(size=1, dtype=tf.float32)
    return str(handle.device)
