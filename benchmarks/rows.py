"""The results of a benchmark: a row for each case and size."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping

from benchmarks.series import Series

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
LIBRARIES = ("stock", "ours")
# Other ways to run a case, which are measured on request: with jit_compile=True, and with the
# library on stock's kernels.
STOCK_JIT, OURS_JIT, STOCK_KERNELS = "stock_jit", "ours_jit", "stock_kernels"
OTHERS = (STOCK_JIT, OURS_JIT, STOCK_KERNELS)


@dataclasses.dataclass(frozen=True)
class Other:
    """What one of `OTHERS` took for a case.

    Attributes:
      seconds: Median time, or `None` if there is no measurement.
      spread: Median absolute deviation.
      first_s: Median time of the first call, which compiles with `jit_compile=True`.
      note: Why there is no measurement, or what is wrong with the result.
    """

    seconds: float | None = None
    spread: float | None = None
    first_s: float | None = None
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Row:
    """One case at one size: a line of the table and of the JSON file.

    Attributes:
      case: Name of the case.
      what: What was timed.
      n: Size.
      stock_s: Median time on stock, or `None` if stock was not measured.
      ours_s: Median time on ours.
      stock_spread_s: Median absolute deviation.
      ours_spread_s: Median absolute deviation.
      ratio: `stock_s / ours_s`.
      cpu_ratio: The same ratio of the processor time of whole runs, preparation included.
      target: Least ratio asked for.
      stock_peak_bytes: Rise of resident memory on stock.
      ours_peak_bytes: Rise of resident memory on ours.
      note: What went wrong, if anything.
      others: By name, those of `OTHERS` that were measured.
      cpu_target: Least `cpu_ratio` asked for.
      series: What else is known if the calls were timed one by one. `ratio` is then the median over
        pairs of processes too.
    """

    case: str
    what: str
    n: int
    stock_s: float | None
    ours_s: float | None
    stock_spread_s: float | None
    ours_spread_s: float | None
    ratio: float | None
    cpu_ratio: float | None
    target: float
    stock_peak_bytes: int | None
    ours_peak_bytes: int | None
    note: str = ""
    others: Mapping[str, Other] = dataclasses.field(default_factory=dict)
    cpu_target: float = 0.0
    series: Series | None = None
