"""The weekly CO2 record of Mauna Loa as inputs and targets of a forecaster."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

YEAR = 52  # weeks; each state of the model depends on the states one week and one year before
HORIZON = 13  # weeks; a forecast is for a quarter of a year later
LEAST_ROWS = 2 * YEAR  # of a record
_TRAINED_SHARE = 0.8  # of the weeks; the loss does not depend on the targets of the others


@dataclasses.dataclass(frozen=True)
class Record:
    """One series, one row per week, ready for training.

    Attributes:
      dates: `[n]` `datetime64`, the week of each row.
      ppm: `[n]` CO2 in parts per million. Gaps are filled by linear interpolation.
      features: `[n, 3]` the model's inputs: the changes over the last week, the last `HORIZON`
        weeks and the last `YEAR`, standardised.
      targets: `[n]` change over the next `HORIZON` weeks, standardised; 0 if it is not known.
      trained: `[n]` 1.0 for the weeks whose targets are in the loss, which come first, else 0.0.
      scale: The standard deviation, in ppm, by which `targets` were divided.
      centre: The mean, in ppm, that was subtracted from `targets` before the division.
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
          outputs: `[n]`, the model's prediction of `targets`.

        Returns:
          `[n]`, where row `i` is the forecast of `ppm[i + HORIZON]` made in week `i`.
        """
        return (self.ppm + outputs * self.scale + self.centre).astype(np.float32)

    def error(self, outputs: Floats) -> float:
        """Root mean square error, in ppm, of the forecasts for weeks that were not trained on.

        Args:
          outputs: `[n]`, the model's prediction of `targets`.

        Returns:
          The error over the weeks whose targets are known but not in the loss.
        """
        held_out = slice(int(self.trained.sum()), len(self.ppm) - HORIZON)
        miss = (self.targets - outputs)[held_out] * self.scale
        return float(np.sqrt(np.mean(miss.astype(np.float64) ** 2)))

    def as_last_year(self) -> Floats:
        """The baseline, `[n]`: the change after each week is the same as one year before."""
        guess = np.zeros_like(self.targets)
        guess[YEAR:] = self.targets[:-YEAR]
        return guess

    def save(self, path: pathlib.Path) -> None:
        """Writes the record to `path` (`.npz`), so that another process can `read` it."""
        np.savez(path, **dataclasses.asdict(self))

    @classmethod
    def read(cls, path: pathlib.Path) -> Record:
        """Reads a record that `save` wrote.

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
      rows: Length of the result. Up to 2,284, the length of the whole record, these are its first
        weeks. If `rows` is larger, the whole record is sampled at that many points by linear
        interpolation. `None` is the record as it is.

    Returns:
      The record.

    Raises:
      ImportError: statsmodels is not installed; the extra `[demo]` includes it.
      ValueError: `rows` is less than two years.
    """
    from statsmodels.datasets import co2  # not at the top, because the import takes seconds

    series = co2.load_pandas().data["co2"].interpolate()
    dates = series.index.to_numpy("datetime64[s]")
    ppm = series.to_numpy(np.float64)
    rows = len(ppm) if rows is None else rows
    if rows < LEAST_ROWS:
        raise ValueError(f"rows is {rows}, need at least {LEAST_ROWS}")
    if rows > len(ppm):
        seconds = dates.astype(np.float64)
        finer = np.linspace(seconds[0], seconds[-1], rows)
        ppm, dates = np.interp(finer, seconds, ppm), finer.astype("datetime64[s]")
    return prepare(dates[:rows], ppm[:rows])


def prepare(dates: npt.NDArray[np.datetime64], ppm: npt.NDArray[np.float64]) -> Record:
    """Makes features and targets, standardised by means and deviations of the trained weeks.

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
