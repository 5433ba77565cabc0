"""Enables tensor_array_grad as soon as TensorFlow has been imported, without importing either.

Every interpreter with TENSOR_ARRAY_GRAD in its environment imports this module when it starts:
through `tensor_array_grad.pth`, or through `tensor_array_grad/_site` if that file is not read. The
module lies beside the package, not in it, because importing the package imports TensorFlow.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident

TYPE_CHECKING = False  # importing `typing` would delay the start of every interpreter
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_NO = ("", "off", "0", "false")
_REPORTS = "TENSOR_ARRAY_GRAD_REPORTS"  # `compare` asks when stock starts, too (_report.py)


class _Watch:
    """Finds `tensorflow` through the other finders, and enables the library when it is imported.

    It imports nothing, because Python calls it under a lock that imports of other threads need.
    """

    def __init__(self) -> None:
        # The threads that are inside `find_spec`. Another finder may call all finders, so that this
        # one would call itself.
        self._asking: set[int] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called by the import system. Returns None for every module but `tensorflow`."""
        if name != "tensorflow" or get_ident() in self._asking:
            return None
        others = (f for f in sys.meta_path if f is not self and hasattr(f, "find_spec"))
        found = (finder.find_spec(name, path, target) for finder in others)
        self._asking.add(get_ident())
        try:
            spec = next((spec for spec in found if spec is not None), None)
        finally:
            self._asking.discard(get_ident())
        if spec is not None and hasattr(spec.loader, "exec_module"):
            _enable_after(spec.loader)
        return spec


def _enable_after(loader: object) -> None:
    """Makes `loader` enable the library after the next module that it executes.

    The loader is changed and not wrapped, because some modules read files through it. If it cannot
    be changed, a warning is logged.
    """
    execute = loader.exec_module  # type: ignore[attr-defined]

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        execute(module)
        _enable()

    if isinstance(loader, type) or not hasattr(loader, "__dict__"):
        _warn(f"the loader {loader!r} of TensorFlow cannot be changed to enable it")
    else:
        vars(loader)["exec_module"] = exec_module


def _enable() -> None:
    """Imports the package, which does what TENSOR_ARRAY_GRAD asks for.

    If the package itself is importing TensorFlow, it is in `sys.modules` but not complete. This
    import then does nothing, and the package does the rest after its import of TensorFlow.
    """
    try:
        import tensor_array_grad  # noqa: F401
    except Exception as error:
        _warn(f"the package cannot be imported by {sys.executable}: {error}")


def _warn(problem: str) -> None:
    import logging

    logging.getLogger("tensor_array_grad").warning(
        "tensor_array_grad is inactive: TENSOR_ARRAY_GRAD=%s in the environment, and %s",
        os.environ.get("TENSOR_ARRAY_GRAD"),
        problem,
    )


if os.environ.get("TENSOR_ARRAY_GRAD", "").lower() not in _NO or _REPORTS in os.environ:
    if "tensorflow" in sys.modules:
        _enable()
    elif not any(type(finder).__name__ == _Watch.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())
