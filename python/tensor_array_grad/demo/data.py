"""The weekly CO2 record of Mauna Loa as inputs and targets of a forecaster."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

YEAR = 52  # weeks: the lag of the model's second connection
HORIZON = 13  # weeks: a quarter is forecast ahead
_TRAINED_SHARE = 0.8  # the rest is never seen by the loss


@dataclasses.dataclass(frozen=True)
class Record:
    """One series, a row a week, ready for training.

    Attributes:
      dates: `[n]` `datetime64`, the week of each row.
      ppm: `[n]` CO2 in parts per million, gaps filled by straight lines.
      features: `[n, 3]` what is known in that week, standardised: the changes over one week,
        over `HORIZON` weeks and over a `YEAR`.
      targets: `[n]` change over the `HORIZON` weeks that follow, standardised; 0 where unknown.
      trained: `[n]` 1.0 in the weeks whose target the loss counts, else 0.0; they come first.
      scale: ppm of one standardised unit of `targets`.
      centre: ppm that `targets` are measured from.
    """

    dates: npt.NDArray[np.datetime64]
    ppm: Floats
    features: Floats
    targets: Floats
    trained: Floats
    scale: float
    centre: float

    def forecast(self, outputs: Floats) -> Floats:
        """Turns model outputs into ppm.

        Args:
          outputs: `[n]`, the model's standardised guess of `targets`.

        Returns:
          `[n]`, where row `i` is the forecast of `ppm[i + HORIZON]` made in week `i`.
        """
        return (self.ppm + outputs * self.scale + self.centre).astype(np.float32)

    def error(self, outputs: Floats) -> float:
        """Root mean square error, in ppm, of the forecasts that training has not seen.

        Args:
          outputs: `[n]`, the model's standardised guess of `targets`.

        Returns:
          The error over the held-out weeks.
        """
        held_out = slice(int(self.trained.sum()), len(self.ppm) - HORIZON)
        miss = (self.targets - outputs)[held_out] * self.scale
        return float(np.sqrt(np.mean(miss.astype(np.float64) ** 2)))

    def as_last_year(self) -> Floats:
        """The guess to beat: each quarter changes as the same quarter did a year before, `[n]`."""
        guess = np.zeros_like(self.targets)
        guess[YEAR:] = self.targets[:-YEAR]
        return guess

    def save(self, path: pathlib.Path) -> None:
        """Writes the record to `path` (`.npz`), for another process to `read`."""
        np.savez(path, **dataclasses.asdict(self))

    @classmethod
    def read(cls, path: pathlib.Path) -> Record:
        """Reads what `save` wrote.

        Args:
          path: The `.npz` file.

        Returns:
          An equal record.

        Raises:
          FileNotFoundError: There is no such file.
        """
        with np.load(path) as held:
            arrays = {name: held[name] for name in held.files}
        scale, centre = (float(arrays.pop(name)) for name in ("scale", "centre"))
        return cls(scale=scale, centre=centre, **arrays)


def load(rows: int | None = None) -> Record:
    """Loads the record that comes with statsmodels, 29 March 1958 to 29 December 2001.

    Args:
      rows: Keep only the first so many weeks; more than the 2,284 there are gives the whole record
        drawn finer, the values between by straight lines; `None` is the record as it is.

    Returns:
      The record.

    Raises:
      ImportError: statsmodels is not installed; the extra `[demo]` brings it.
      ValueError: `rows` is too few to train on.
    """
    from statsmodels.datasets import co2  # here, for its import takes seconds

    series = co2.load_pandas().data["co2"].interpolate()
    dates = series.index.to_numpy("datetime64[s]")
    ppm = series.to_numpy(np.float64)
    rows = len(ppm) if rows is None else rows
    if rows < 2 * YEAR:
        raise ValueError(f"rows is {rows}, need at least {2 * YEAR}")
    if rows > len(ppm):
        seconds = dates.astype(np.float64)
        finer = np.linspace(seconds[0], seconds[-1], rows)
        ppm, dates = np.interp(finer, seconds, ppm), finer.astype("datetime64[s]")
    return prepare(dates[:rows], ppm[:rows])


def prepare(dates: npt.NDArray[np.datetime64], ppm: npt.NDArray[np.float64]) -> Record:
    """Makes features and targets; every scale is taken from the trained weeks alone.

    Args:
      dates: `[n]`.
      ppm: `[n]`, without gaps.

    Returns:
      The record, of `n` rows.
    """
    n = len(ppm)
    known = n - HORIZON
    cut = int(known * _TRAINED_SHARE)
    features = np.stack([_change(ppm, lag) for lag in (1, HORIZON, YEAR)], axis=1)
    features = (features - features[:cut].mean(0)) / features[:cut].std(0)
    ahead = np.zeros(n)
    ahead[:known] = ppm[HORIZON:] - ppm[:known]
    centre, scale = ahead[:cut].mean(), ahead[:cut].std()
    targets = np.where(np.arange(n) < known, (ahead - centre) / scale, 0.0)
    return Record(
        dates=dates,
        ppm=ppm.astype(np.float32),
        features=features.astype(np.float32),
        targets=targets.astype(np.float32),
        trained=(np.arange(n) < cut).astype(np.float32),
        scale=float(scale),
        centre=float(centre),
    )


def _change(ppm: npt.NDArray[np.float64], lag: int) -> npt.NDArray[np.float64]:
    """`ppm[i] - ppm[i - lag]`, and 0 in the first `lag` weeks."""
    change = np.zeros_like(ppm)
    change[lag:] = ppm[lag:] - ppm[:-lag]
    return change
