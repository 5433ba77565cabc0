"""Replaces stock's kernels: `enable()`, and the switches of the optimisations."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any, ClassVar

from tensor_array_grad import _command, _loader, _tf_private, _where, gradients_list, gradients_v3

_LOG, _LEVELS = "TENSOR_ARRAY_GRAD_LOG", ("1", "2", "3")  # cc/base/log.h
_log = logging.getLogger("tensor_array_grad")
_lock = threading.Lock()
_logged: set[str] = set()


def enable() -> None:
    """Enables the library in this process: its kernels, gradient functions and graph passes.

    Call it before the first op runs: a Session or `tf.function` that has already run keeps stock's
    kernels. A second call does nothing. With `TENSOR_ARRAY_GRAD=off` in the environment, nothing is
    enabled, and a warning says so.

    With `TENSOR_ARRAY_GRAD_KERNELS=off`, and if there is a GPU for which the build has no kernels
    that fit it and its driver, stock's kernels are kept and a warning gives the reason; the graph
    pass, loops in one kernel and the gradient functions of lists work with them.

    Raises:
      LoadError: The op library or its bindings are missing, do not fit this TensorFlow or Python,
        or cannot be opened; a second copy of the library is loaded; or the library lacks a kernel.
        The message names the cause and the remedy. TensorFlow then keeps its own kernels, unless
        `tf.load_op_library` had loaded the library before.

    Examples:
      >>> import tensor_array_grad
      >>> tensor_array_grad.enable()
      >>> tensor_array_grad.is_enabled()
      True
    """
    with _lock:
        if _command.switched_off():
            _warn_inactive("TENSOR_ARRAY_GRAD=off in the environment: stock kernels are kept")
            return
        earlier = (0, 0) if _loader.is_loaded() else _tf_private.functions_and_sessions()
        bind = _loader.bind()
        library, kernels = bind.library_decision(), bind.kernel_decision()
        if library.cause == "off":
            _warn_inactive(library.reason)
            return
        if not library.active:
            raise _loader.LoadError(
                f"tensor_array_grad: {_loader.library_path()}: {library.reason}"
            )
        _Switch.apply_settings(bind)
        if not gradients_list.installed():  # later, explain() may have set another locator
            locate_for_log(bind)
        gradients_list.install()
        if kernels.active:
            gradients_v3.install()
        else:
            _warn_once(f"tensor_array_grad replaces no kernels: {kernels.reason}")
        if any(earlier):
            _log.warning(
                "tensor_array_grad was enabled late: %d tf.function traces and %d Sessions were "
                "made before. Those that have run keep stock's kernels. Call enable() right after "
                "`import tensorflow`, or set TENSOR_ARRAY_GRAD=on.",
                *earlier,
            )


def locate_for_log(bind: Any) -> None:
    """Makes the log of loops say lines of the program, if TENSOR_ARRAY_GRAD_LOG asks for it."""
    bind.set_locator(_where.locate if os.environ.get(_LOG) in _LEVELS else None)


def follow_environment() -> None:
    """Enables the library if `TENSOR_ARRAY_GRAD=on` is set; warns if that fails."""
    value = os.environ.get("TENSOR_ARRAY_GRAD", "")
    if not value or _command.switched_off():
        return
    if value.lower() not in ("on", "1", "true"):
        _warn_inactive(f"TENSOR_ARRAY_GRAD={value} in the environment is neither on nor off")
        return
    try:
        enable()
    except _loader.LoadError as error:
        _warn_inactive(f"TENSOR_ARRAY_GRAD={value} in the environment, but {error}")


def is_enabled() -> bool:
    """Whether `enable()` took effect in this process.

    Returns:
      True after `enable()`, unless it failed or `TENSOR_ARRAY_GRAD=off` was set. `status().parts`
      says whether kernels were replaced. False after only `tf.load_op_library(library_path())`,
      which replaces the kernels but not the gradient functions.
    """
    return gradients_list.installed()


class _Switch:
    """A switch of the library: set from the call on, or for the duration of a `with` statement.

    Does not load the library, because that would replace kernels. A setting that is made before the
    library is loaded is applied by `enable()`.
    """

    _name: ClassVar[str]  # the bindings have `<name>_enabled` and `set_<name>_enabled`
    _chosen: ClassVar[dict[str, bool | None]] = {}  # by name; None is the library's own setting
    _initial: ClassVar[dict[str, bool]] = {}  # the library's own settings, by name

    def __init__(self, enabled: bool) -> None:
        self._before = self._set(enabled)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._set(self._before)

    def _set(self, enabled: bool | None) -> bool | None:
        """Sets the switch and returns the setting before."""
        bind = _loader.bind() if _loader.is_loaded() else None
        before = self._chosen.get(self._name)
        self._chosen[self._name] = enabled
        if bind is not None:
            self.apply_settings(bind)
        return before

    @classmethod
    def apply_settings(cls, bind: Any) -> None:
        """Sets the library, which is loaded, to all settings that were chosen."""
        for name, enabled in cls._chosen.items():
            initial = cls._initial.setdefault(name, getattr(bind, f"{name}_enabled")())
            getattr(bind, f"set_{name}_enabled")(initial if enabled is None else enabled)


class graph_pass(_Switch):
    """Switches the graph pass on or off, from the call on or for the duration of a `with`.

    Without it results are the same, but for last bits of sums and the signs of zeros, and for the
    sums that it repairs (docs/stock_bugs.md). It runs when a graph is first run, so the switch has
    no effect on a `tf.function` that has already run.

    Before `enable()`, only the setting is recorded; nothing is loaded or replaced.

    Args:
      enabled: Whether graphs that first run from now on are rewritten.

    Examples:
      >>> import tensor_array_grad
      >>> with tensor_array_grad.graph_pass(False):
      ...     pass  # functions traced and first run here are left as they are
    """

    _name = "graph_pass"


class loops_in_one_kernel(_Switch):
    """Switches loops in one kernel on or off, from the call on or for the duration of a `with`.

    While loops whose ops allow it run inside one kernel instead of in TensorFlow's executor. This
    only saves time: values, gradients, errors and side effects are the same, except that a sum of
    three or more tensors may be rounded differently. A graph is rewritten when it is first run, so
    the switch has no effect on a `tf.function` that has already run. The switch is on unless
    `TENSOR_ARRAY_GRAD_LOOPS=off` is in the environment. A profiler sees the ops of a loop in either
    case; with the switch off, as stock's executor runs them.

    Before `enable()`, only the setting is recorded; nothing is loaded or replaced.

    Args:
      enabled: Whether loops of graphs that first run from now on run in one kernel.

    Examples:
      >>> import tensor_array_grad
      >>> with tensor_array_grad.loops_in_one_kernel(False):
      ...     pass  # loops of functions traced and first run here run in the executor
    """

    _name = "loops"


def _warn_inactive(reason: str) -> None:
    _warn_once(f"tensor_array_grad is inactive: {reason}")


def _warn_once(message: str) -> None:
    """Warns once per process and message, because many modules may call enable()."""
    if message not in _logged:
        _logged.add(message)
        _log.warning(message)
