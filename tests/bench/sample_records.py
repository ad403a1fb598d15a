"""Records made by hand for tests of statistics and reports."""

from __future__ import annotations

from bench.jobs.job import Record

__all__ = ["record"]


def record(
    method: str,
    instance: str,
    value: float | None,
    *,
    status: str = "feasible",
    bound: float | None = None,
    experiment: str = "balance-guarantee",
    family: str = "unit-random",
    size: int = 4,
    load: float | None = None,
    **fields: object,
) -> Record:
    """Return a row whose claim was checked and holds."""
    settings = [] if load is None else [["rate_per_s", load]]
    row = Record(
        key=f"{experiment}-{method}-{instance}",
        experiment=experiment,
        problem="balance",
        instance=instance,
        instance_sha256=instance,
        family=family,
        size=size,
        seed=0,
        method=method,
        method_version="v",
        parameters="{}",
        status=status,
        objective=value,
        checked_objective=value,
        feasible=value is not None,
        bound=bound,
        executor="processes",
        extra={"source": {"settings": settings, "name": instance}},
    )
    for key, content in fields.items():
        setattr(row, key, content)
    return row
