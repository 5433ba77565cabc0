"""TensorArrayGradV3 and linear-time gradients of tf.TensorArray, as drop-in TensorFlow kernels.

Example:
  >>> import tensor_array_grad
  >>> tensor_array_grad.enable()  # before the first op runs
"""

from tensor_array_grad._command import is_runner_starting
from tensor_array_grad._version import __version__

# The runner replaces its process by another interpreter, so importing TensorFlow here, which takes
# seconds, would be wasted.
if not is_runner_starting():
    from tensor_array_grad import _compiled, _explain, _report, raw_ops
    from tensor_array_grad._loader import LoadError, library_path
    from tensor_array_grad.drop_in import (
        enable,
        follow_environment,
        graph_pass,
        is_enabled,
        loops_in_one_kernel,
    )
    from tensor_array_grad.explained import Loop, Loops
    from tensor_array_grad.observer import explain
    from tensor_array_grad.status import Array, Kernel, Status, counters, status

    follow_environment()
    _report.follow_environment()
    _compiled.follow_environment()
    _explain.follow_environment()

__all__ = [
    "Array",
    "Kernel",
    "LoadError",
    "Loop",
    "Loops",
    "Status",
    "__version__",
    "counters",
    "enable",
    "explain",
    "graph_pass",
    "is_enabled",
    "library_path",
    "loops_in_one_kernel",
    "raw_ops",
    "status",
]
