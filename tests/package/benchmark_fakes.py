"""Measurements without processes, for the tests of the benchmarks."""

from benchmarks import harness
from benchmarks.case import Case, Measurement

PLAN = harness.Plan(rounds=3, budget_s=0.01, row_s=100, limit_s=60, largest_n=100)


class FakeServer:
    """Reports a fixed time, and adds its name to `asked` at each measurement."""

    def __init__(self, name, asked, seconds=1.0, error=None, sample=(1.0,), first_s=1.0):
        self.name, self.asked, self.seconds = name, asked, seconds
        self.error, self.sample, self.first_s = error, list(sample), first_s

    def measure(self, case, n, plan):
        self.asked.append(self.name)
        if self.error:
            return self.error
        calls = 9 if self.name == "ours" else 0
        cpu = [self.seconds / 2]
        return Measurement([self.seconds], cpu, 1_000_000, self.sample, calls, self.first_s)


def compare(stock=(), ours=(), **arguments):
    """Returns a row of size 10, and the names of those who measured, in their order."""
    asked = []
    servers = {
        "stock": FakeServer("stock", asked, **dict(stock)),
        "ours": FakeServer("ours", asked, **dict(ours)),
    }
    case = Case("fake", "", (10, 20), lambda _: None)
    return harness.compare(case, 10, servers, PLAN, **arguments), asked
