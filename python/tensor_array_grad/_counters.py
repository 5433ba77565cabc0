"""Reads the library's counters by the prefix of their names, such as `kernels.`."""

from __future__ import annotations

from collections.abc import Mapping


def with_prefix(counters: Mapping[str, int], prefix: str) -> dict[str, int]:
    """The counters whose names start with `prefix`, by the rest of their names."""
    return {k.removeprefix(prefix): n for k, n in counters.items() if k.startswith(prefix)}
