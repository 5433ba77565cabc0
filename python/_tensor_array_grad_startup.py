"""Enables tensor_array_grad as soon as TensorFlow has been imported, without importing either.

Every interpreter in whose environment TENSOR_ARRAY_GRAD is set imports this module when it starts:
by `tensor_array_grad.pth`, or by `tensor_array_grad/_site` where that file is not read. It lies
beside the package, not in it, because importing the package imports TensorFlow.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_NO = ("", "off", "0", "false")


class _Watch:
    """Finds `tensorflow` as the other finders do, and acts when it has been imported completely."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the import system asks; None for every module but `tensorflow`."""
        if name != "tensorflow":
            return None
        others = (f for f in sys.meta_path if f is not self and hasattr(f, "find_spec"))
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            _enable_after(spec.loader)
        return spec


def _enable_after(loader: object) -> None:
    """Makes `loader` enable the library behind the next module that it executes.

    The loader stays the one that was found: some modules read files through it.
    """
    execute = loader.exec_module  # type: ignore[attr-defined]

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        execute(module)
        _enable()

    loader.exec_module = exec_module  # type: ignore[attr-defined]


def _enable() -> None:
    """Imports the package, which does what the environment asks for.

    Where the package itself imports TensorFlow it is there, but not complete; this import then does
    nothing, and the package goes on when TensorFlow is imported.
    """
    try:
        import tensor_array_grad  # noqa: F401
    except Exception as error:
        logging.getLogger("tensor_array_grad").warning(
            "tensor_array_grad is inactive: TENSOR_ARRAY_GRAD=%s in the environment, and the "
            "package cannot be imported by %s: %s",
            os.environ.get("TENSOR_ARRAY_GRAD"),
            sys.executable,
            error,
        )


if os.environ.get("TENSOR_ARRAY_GRAD", "").lower() not in _NO:
    if "tensorflow" in sys.modules:
        _enable()
    else:
        sys.meta_path.insert(0, _Watch())
