"""Claims about the forms of the clairvoyant bound together."""

import math
from collections.abc import Callable
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from formulations.handover.evaluate import evaluate_horizon
from formulations.handover.horizon.decomposition import solve_clairvoyant
from formulations.handover.horizon.grid import solve_grid
from formulations.handover.horizon.relaxed import solve_relaxed
from formulations.handover.horizon.secant import CURVATURE, correction, solve_secant
from formulations.handover.horizon.tangent import solve_tangent, solve_tangent_highs
from formulations.handover.utility import values
from formulations.handover.verify import verified_bound
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Schedule
from instances.errors import InputError
from instances.handover import UTILITIES, HandoverTrace, HandoverUsers
from tests.formulations.handover.cases import TRACES, random_trace, trace_of

Counted = Callable[[int], int]


def tiny(rng: np.random.Generator, utility: str = "algebraic") -> HandoverTrace:
    """Return 3 users over 4 slots, with k in 4 … 60 and τ up to .8."""
    users = HandoverUsers(
        np.round(rng.uniform(0, 0.2, 3), 3),
        np.array([4096, 8192, 8192]),
        rng.uniform(1e9, 6e9, 3),
        rng.uniform(0.5, 1.0, 3),
        rng.uniform(4, 60, 3),
        rng.uniform(0.0, 0.8, 3),
    )
    return HandoverTrace("tiny", utility, 0.1, rng.integers(1, 4, 3), 2e10, 0.2, users)


def checked(instance: HandoverTrace, result: Result) -> float:
    """Return the evaluated objective of a result that must be feasible and worth its claim."""
    assert isinstance(result.decision, Schedule)
    verdict = evaluate_horizon(instance, result.decision)
    assert verdict.feasible, verdict.message
    assert math.isclose(verdict.objective, result.objective or 0.0, rel_tol=1e-12)
    return verdict.objective


def maximum_flow(instance: HandoverTrace, bits: list[int]) -> int:
    """Return how many of the users' whole bits fit into their windows together."""
    network, (first, end) = nx.DiGraph(), instance.windows()
    for i, amount in enumerate(bits):
        network.add_edge("source", ("user", i), capacity=amount)
        for t in range(int(first[i]), int(end[i])):
            network.add_edge(("user", i), ("slot", t), capacity=amount)
            network.add_edge(("slot", t), "sink", capacity=math.floor(instance.capacity_bits))
    return int(nx.maximum_flow_value(network, "source", "sink"))


def test_no_form_contradicts_another_or_enumeration(counted: Counted) -> None:
    """On 3 users × 4 slots every form's bound is at least every form's schedule and the grid's best.

    The secant bound is above the optimum by its correction and the convex chords' error, which is no larger.
    """
    rng = np.random.default_rng(21)
    for _ in range(counted(300)):
        instance = tiny(rng)
        full = [
            solve(instance, limits=Limits())
            for solve in (solve_clairvoyant, solve_tangent_highs, solve_secant)
        ]
        enumerated = solve_grid(instance, limits=Limits(), steps=30)
        bounds = [r.bound or 0.0 for r in (*full, enumerated, solve_relaxed(instance, limits=Limits()))]
        lower = [checked(instance, r) for r in (*full, enumerated)]
        assert min(bounds) >= max(lower) - 3e-9
        assert bounds[0] - lower[0] <= 1e-6
        assert bounds[2] <= max(lower) + 2 * full[2].certificate["correction"] + 1e-8


def test_schedules_are_maximum_flows(counted: Counted) -> None:
    """Fractions that the decomposition finds are schedulable in whole bits by a maximum flow."""
    rng = np.random.default_rng(22)
    for _ in range(counted(40)):
        instance = random_trace(rng, 25, 2.0, window=rng.integers(1, 8, 25))
        result = solve_clairvoyant(instance, limits=Limits(nodes=50))
        assert isinstance(result.decision, Schedule)
        sent = np.bincount(result.decision.user, weights=result.decision.bits, minlength=25)
        bits = [math.floor(x * (1.0 - 1e-9)) for x in sent]
        assert maximum_flow(instance, bits) == sum(bits)


@pytest.mark.parametrize("name", TRACES)
def test_conic_programme_has_the_envelopes_optimum(name: str) -> None:
    """Clarabel's prices bound the optimum as tightly as the decomposition's root prices do."""
    instance = trace_of(TRACES[name]["instance"])
    conic, ours = (
        solve_relaxed(instance, limits=Limits()),
        solve_clairvoyant(instance, limits=Limits(nodes=1)),
    )
    root = verified_bound(instance, ours.certificate["prices"])
    assert (conic.status, conic.bound_kind) == (Status.BOUND_ONLY, BoundKind.PRICES)
    assert root - 1e-9 <= (conic.bound or 0.0) <= root + 1e-4
    assert verified_bound(instance, conic.certificate["prices"]) == pytest.approx(conic.bound, rel=1e-12)


@pytest.mark.parametrize("name", ["rho2-importance", "rho8-importance"])
def test_highspy_and_pulp_agree(name: str) -> None:
    """The tangent programmes give the same certified optimum through PuLP and through highspy."""
    instance = trace_of(TRACES[name]["instance"])
    direct, through_pulp = (s(instance, limits=Limits()) for s in (solve_tangent_highs, solve_tangent))
    assert direct.status is Status.OPTIMAL
    assert checked(instance, direct) == pytest.approx(checked(instance, through_pulp), abs=1e-7)
    assert direct.bound == pytest.approx(through_pulp.bound, abs=1e-7)


@pytest.mark.parametrize("utility", UTILITIES)
def test_correction_covers_the_secants_error(utility: str) -> None:
    """Nowhere does a curve exceed its interpolation by more than the correction, which is nearly reached."""
    n, curve = 64, [np.full(64 * 400 + 1, x) for x in (0.9, 30.0, 0.3)]
    grid = np.linspace(0, 1, 64 * 400 + 1)
    exact = values(utility, curve[0], curve[1], curve[2], grid)
    interpolated = np.interp(grid, grid[::400], exact[::400])
    allowed = CURVATURE[utility] * 0.9 * 30.0**2 / (8 * n**2)
    assert 0.8 * allowed <= np.max(exact - interpolated) <= allowed


def test_secant_bound_shrinks_with_the_square_of_the_segments() -> None:
    """Doubling the segments quarters the correction, and the corrected bound stays above the optimum."""
    instance = trace_of(TRACES["rho8-importance"]["instance"])
    ceiling = values("algebraic", *_curves(instance), np.ones(instance.n_users)).sum()
    for n in (32, 64):
        assert correction(instance, n) == pytest.approx(4 * correction(instance, 2 * n), rel=1e-9)
        result = solve_secant(instance, limits=Limits(), segments=n)
        corrected = result.certificate["interpolated"] + result.certificate["correction"]
        assert result.bound_kind is (BoundKind.SECANT if corrected <= ceiling else BoundKind.TRIVIAL)
        assert TRACES["rho8-importance"]["answer"]["lower"] <= (result.bound or 0.0) <= ceiling + 1e-12
        assert checked(instance, result) <= TRACES["rho8-importance"]["answer"]["upper"] + 1e-9


def _curves(instance: HandoverTrace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return instance.users.ceiling, instance.users.sharpness, instance.users.anchor


def test_no_time_leaves_the_ceiling() -> None:
    """Without time the secant bound is Σ A_i(1), and the conic one that of free slots."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    ceiling = values("algebraic", *_curves(instance), np.ones(instance.n_users)).sum()
    secant, conic = (s(instance, limits=Limits(time_s=0.0)) for s in (solve_secant, solve_relaxed))
    assert (secant.status, secant.stopped) == (Status.FEASIBLE, Stopped.TIME)
    assert conic.stopped is Stopped.TIME
    assert (secant.bound, conic.bound) == (pytest.approx(ceiling), pytest.approx(ceiling))


def test_what_a_form_cannot_do_is_skipped() -> None:
    """A horizon too large for the grid, and a family without a cone, are skipped with the reason."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    large = solve_grid(instance, limits=Limits())
    other = solve_relaxed(replace(instance, utility="erf"), limits=Limits())
    assert {large.status, other.status} == {Status.SKIPPED}
    assert "more than the 2000000" in large.message
    assert "algebraic family only" in other.message


@pytest.mark.parametrize("solve", [solve_grid, solve_relaxed, solve_secant, solve_tangent_highs])
def test_options_are_checked(solve: Callable[..., Result]) -> None:
    """An option that a form does not have is refused by name."""
    with pytest.raises(InputError, match=r"set\.rounds: unknown for"):
        solve(tiny(np.random.default_rng(0)), limits=Limits(), rounds=3)


def test_bad_sizes_are_refused() -> None:
    """Segments and steps below one are refused."""
    instance = tiny(np.random.default_rng(0))
    with pytest.raises(InputError, match="segments: found 0"):
        solve_secant(instance, limits=Limits(), segments=0)
    with pytest.raises(InputError, match="steps: found 0"):
        solve_grid(instance, limits=Limits(), steps=0)
