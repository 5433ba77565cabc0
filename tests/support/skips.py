"""The tests that a run skips: for which reasons, and at most how many for each.

The numbers are those of a whole run without --sweep and without a GPU, on the packages that .ci/run
installs. Every other reason is unexpected. A number that grows hides tests that no longer run.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable

from tests.support import gpus

EXPECTED = {
    "no GPU is visible, or our kernels are not active on it": 110,
    "no GPU is visible": 3,
    "would fill the memory of a real GPU": 2,
    # The package of .ci/run has no GPU kernels. If the package has them, tests of the second reason
    # are skipped instead.
    "this build has no GPU kernels (TAG_CUDA)": 108,
    "this TensorFlow was built without CUDA and has no such kernel": 7,
    # Packages of the extra "peers", which .ci/run does not install.
    "could not import 'torch': No module named 'torch'": 4,
    "could not import 'jax': No module named 'jax'": 4,
    "NumPy cannot feed this shape": 1,
    "stock's XLA cannot compile it": 1,
    # `pip install` does not build them; .ci/run names the folder of its build.
    "the libraries of benchmarks/cores.py are not built": 3,
    # The first one on an installed package, as in .ci/run; the second one in a checkout.
    "the .pth file also works with -E and -I": 4,
    "the package is on PYTHONPATH, which -I leaves out": 1,
}


def _expected() -> collections.Counter[str]:
    """The numbers on this machine; on a GPU, `gpus` lists further tests."""
    return collections.Counter(EXPECTED) + collections.Counter(gpus.skipped_here().values())


def excess(reasons: Iterable[str]) -> list[str]:
    """A line for each reason that occurs more often than expected.

    Args:
      reasons: The reason of each skipped test, as pytest reports it: "Skipped: no GPU is visible".
    """
    expected = _expected()
    found = collections.Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    return [
        f"{count} skipped, {expected[reason]} expected: {reason}"
        for reason, count in found.items()
        if count > expected[reason]
    ]
