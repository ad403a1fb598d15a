"""Small stores made by hand for the tests of the page."""

from __future__ import annotations

from bench.jobs.job import Record
from tests.bench.sample_records import record

__all__ = ["HOSTILE", "fig6_records", "hostile_records", "small_store"]

HOSTILE = (
    "<script>document.title = 'taken'</script>",
    "<img src=x onerror=\"document.title = 'taken'\">",
    '=HYPERLINK("http://example.org")',
    "\\input{/etc/passwd} $x_1^2$ 50% #1 & ~",
    "` | [a](javascript:alert(1)) \\| \\",
    "</script><svg onload=alert(1)>",
    "a\nb\r\n\tc",
    "\u202edlrow",
    "💥",
)


def fig6_records() -> list[Record]:
    """Return rows of Fig. 6 with known times: 2^K and 3^K microseconds against a power law."""
    rows = []
    for size in range(10, 17):
        for method, seconds in (
            ("hybrid", 1e-4 * size),
            ("exhaustive", 1e-6 * 2**size),
            ("exhaustive-naive", 1e-6 * 3**size),
        ):
            for seed in range(2):
                value = size // 2 - (method == "hybrid" and seed == 1)
                status = "feasible" if method == "hybrid" else "optimal"
                place = {"experiment": "balance-fig6", "family": "calibrated-fig4", "size": size}
                times = {"solve_s": seconds, "started_utc": f"20{size}-01-01T00:00:00+00:00"}
                rows.append(record(method, f"k{size}s{seed}", value, status=status, **place, **times))
    return rows


def small_store() -> list[Record]:
    """Return two experiments with a witness, a failure, a limit and a method that nobody knows."""
    guarantee = [
        record("hybrid", "w", 1, family="theorem-1", solve_s=0.002),
        record("exhaustive", "w", 3, status="optimal", bound=3, family="theorem-1", solve_s=0.01),
        record("milp", "w", 3, status="optimal", bound=3, family="theorem-1", solve_s=0.05),
        record("hybrid", "u", 4, solve_s=0.001),
        record("exhaustive", "u", 4, status="optimal", bound=4, solve_s=0.03),
        record("milp", "u", None, status="unknown", stopped="time", message="no feasible point found"),
        record("/home/someone/own.py:mine", "u", 3, solve_s=0.0001),
        record("/home/someone/own.py:mine", "w", None, status="error", message="ValueError: no users"),
    ]
    timed = fig6_records()
    for r in timed:
        r.solve_s = (r.solve_s or 0.0) * (1.2 if r.size % 2 else 1.0)  # so that fits have residuals
    return [*guarantee, *timed]


def hostile_records() -> list[Record]:
    """Return rows of a stranger whose every text is an attack or odd."""
    rows = []
    for i, text in enumerate(HOSTILE):
        names = {"family": text, "message": text, "host": text, "method_version": text, "parameters": text}
        row = record(text, text, None, status="error", experiment=text, **names)
        other = record("hybrid", text, 1, status="feasible", family=text, message=text, solve_s=1e-9)
        row.key, other.key = text, f"{i}{text}"
        own = record(text, "shared", 1 + i, bound=20, status="feasible", family=text, solve_s=0.5)
        own.key = f"{i}"
        rows += [row, other, own]
    return rows
