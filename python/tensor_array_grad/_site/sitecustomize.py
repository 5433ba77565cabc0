"""Replaces `tensor_array_grad.pth` for a package that is found by PYTHONPATH only.

The runner puts this folder in front of PYTHONPATH, so that the interpreter and its child processes
import this module when they start. This module runs the user's own `sitecustomize` first.
"""

import importlib.machinery
import importlib.util
import pathlib
import sys

_folder = pathlib.Path(__file__).parent
sys.path[:] = [entry for entry in sys.path if entry != str(_folder)]
_own = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
try:
    if _own is not None and _own.loader is not None:
        sys.modules["sitecustomize"] = importlib.util.module_from_spec(_own)
        _own.loader.exec_module(sys.modules["sitecustomize"])
finally:  # if the user's module fails, Python reports it and continues
    _packages = str(_folder.parents[1])
    if _packages not in sys.path:
        sys.path.append(_packages)
    import _tensor_array_grad_startup  # noqa: F401
