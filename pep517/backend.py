"""The build backend: setuptools, with TensorFlow as a build requirement if none is installed.

With a static build requirement, pip would download a second TensorFlow beside the user's, and the
library would be compiled against the wrong release. TensorFlow is therefore required only if the
target environment has none.
"""

from __future__ import annotations

import pathlib
import runpy
import sys
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401  (hooks that are not changed)
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

_ROOT = pathlib.Path(__file__).resolve().parent.parent


def _tensorflow() -> list[str]:
    finder = runpy.run_path(str(_ROOT / "cmake" / "find_tensorflow.py"))
    if finder["find"]() is not None:
        return []
    versions = runpy.run_path(str(_ROOT / "python" / "tensor_array_grad" / "_version.py"))
    distribution, minor = finder["default_distribution"](), versions["TENSORFLOW_DEFAULT"]
    print(f"No TensorFlow in {sys.prefix}: building against {distribution} {minor}")
    return [f"{distribution}=={minor}.*"]


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """The build requirements of a wheel."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_tensorflow()]


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """The build requirements of an editable install."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *_tensorflow()]
