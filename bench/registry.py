"""METHODS: everything that can be run, written out by hand.

To add a method, write one file under ``formulations`` and one entry here.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from instances.errors import InputError, shown

__all__ = [
    "METHODS",
    "PROBLEMS",
    "Method",
    "Problem",
    "check_options",
    "find",
    "is_own",
    "methods_of",
    "problem_of",
    "problems_of",
    "resolve",
    "source_digest",
]


@dataclass(frozen=True)
class Problem:
    """A kind of problem: the class of its instances, and the checker of its decisions."""

    name: str
    instance: str  # class name
    evaluator: str  # dotted name
    verifier: str | None = None  # dotted name of the checker of a bound's prices
    proof: str = ""  # dotted name of the checker of a proof file


@dataclass(frozen=True)
class Method:
    """A way to solve a problem; its function is resolved on first use."""

    name: str
    problem: str
    role: str  # heuristic, baseline, exact or bound
    guarantee: str  # against the optimum, with its source
    function: str  # "module:function"
    label: str  # in figures and tables
    proof: str = ""  # "module:function" that writes the proof of its bound


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem(
            "balance",
            "BalanceInstance",
            "formulations.balance.evaluate:evaluate_balance",
            proof="formulations.balance.verify:verify_balance",
        ),
        Problem(
            "slot",
            "SlotInstance",
            "formulations.handover.evaluate:evaluate_slot",
            proof="formulations.handover.verify_proofs:verify_water_filling",
        ),
        Problem(
            "handover",
            "HandoverTrace",
            "formulations.handover.evaluate:evaluate_horizon",
            "formulations.handover.verify:verified_bound",
            "formulations.handover.verify_proofs:verify_clairvoyant",
        ),
        Problem(
            "mmkp",
            "MmkpInstance",
            "formulations.mmkp.evaluate:evaluate_mmkp",
            "formulations.mmkp.verify:verified_bound",
            "formulations.mmkp.verify_proofs:verify_mmkp",
        ),
        Problem("utility", "RetentionCurve", "formulations.handover.evaluate_fit:evaluate_fit"),
    )
}

_HYBRID = "formulations.balance.heuristics.hybrid"
_SINGLE = "formulations.balance.heuristics.single_mode"
_ORDER = "formulations.balance.heuristics.best_order"
_EQUAL = "formulations.balance.heuristics.equal_split"
_LITERAL = "formulations.balance.heuristics.hybrid_literal"
_ENUMERATION = "formulations.balance.exact.exhaustive"
_SLOT = "formulations.handover.slot"
_SIMULATE = "formulations.handover.simulate"
_HORIZON = "formulations.handover.horizon"

_ALL = (
    Method("hybrid", "balance", "heuristic", "≥ 1/3", f"{_HYBRID}:solve_hybrid", "Algorithm 3"),
    Method("hybrid-own", "balance", "heuristic", "≥ 1/2", f"{_HYBRID}:solve_hybrid_own", "Algorithm 3, own memory"),
    Method("hybrid-literal", "balance", "heuristic", "≥ 1/3", f"{_LITERAL}:solve_hybrid_literal", "Algorithm 3 as printed"),
    Method("sd-first", "balance", "heuristic", "≥ 1/2", f"{_ORDER}:solve_sd_first", "SD first, own memory"),
    Method("best-order", "balance", "heuristic", "≥ hybrid-own, ≥ 1/2", f"{_ORDER}:solve_best_order", "Better order, own memory"),
    Method("refined", "balance", "heuristic", "≥ best-order, ≥ 1/2", "formulations.balance.heuristics.refined:solve_refined", "Refined"),
    Method("ad-only", "balance", "baseline", "≥ 1/2 of the best AD set", f"{_SINGLE}:solve_ad_only", "AD only"),
    Method("ad-only-own", "balance", "baseline", "best AD set", f"{_SINGLE}:solve_ad_only_own", "AD only, own memory"),
    Method("sd-only", "balance", "baseline", "best SD set", f"{_SINGLE}:solve_sd_only", "SD only"),
    Method("ecra", "balance", "baseline", "none", f"{_EQUAL}:solve_ecra", "ECRA"),
    Method("ema", "balance", "baseline", "none", f"{_EQUAL}:solve_ema", "EMA"),
    Method("ecrma", "balance", "baseline", "none", f"{_EQUAL}:solve_ecrma", "ECRMA"),
    Method("exhaustive", "balance", "exact", "optimal", f"{_ENUMERATION}:solve_exhaustive", "Exhaustive (masks)"),
    Method("exhaustive-naive", "balance", "exact", "optimal", f"{_ENUMERATION}:solve_exhaustive_naive", "Exhaustive (3^K loop)"),
    Method("exact", "balance", "exact", "optimal", "formulations.balance.exact.branch_and_bound:solve_exact", "Branch and bound", "formulations.balance.proof:prove_balance"),
    Method("milp", "balance", "exact", "optimal", "formulations.balance.exact.milp:solve_milp", "MILP"),
    Method("milp-highs", "balance", "exact", "optimal", "formulations.balance.exact.milp_highs:solve_milp_highs", "MILP (HiGHS)"),
    Method("cp-sat", "balance", "exact", "optimal", "formulations.balance.exact.cp_sat:solve_cp_sat", "CP-SAT"),
    Method("water-filling", "slot", "heuristic", "optimum of problem (4) where every user can reach its anchor", f"{_SLOT}.water_filling:solve_water_filling", "Water-filling", "formulations.handover.proof:prove_water_filling"),
    Method("water-filling+wta", "slot", "heuristic", "likewise", f"{_SLOT}.water_filling:solve_water_filling_wta", "Water-filling, WTA fallback"),
    Method("water-filling+drop-lowest", "slot", "heuristic", "likewise", f"{_SLOT}.water_filling:solve_water_filling_drop_lowest", "Water-filling, drop lowest"),
    Method("no-admission", "slot", "baseline", "none", f"{_SLOT}.water_filling:solve_no_admission", "No admission"),
    Method("equal", "slot", "baseline", "none", f"{_SLOT}.shares:solve_equal", "Equal shares"),
    Method("water-filling-bisection", "slot", "heuristic", "likewise, to its tolerance", f"{_SLOT}.bisection:solve_bisection", "Algorithm 1 to the letter"),
    Method("convex", "slot", "exact", "optimum of problem (4) within 10⁻⁹ a user", f"{_SLOT}.convex:solve_convex", "cvxpy, Clarabel"),
    Method("slot-exact", "slot", "exact", "optimal within 10⁻⁹ a user", f"{_SLOT}.slot_exact:solve_slot_exact", "Exact slot"),
    Method("winner-take-all", "slot", "baseline", "none", f"{_SLOT}.shares:solve_winner_take_all", "Winner takes all"),
    Method("proportional-fair", "slot", "baseline", "none", f"{_SLOT}.shares:solve_proportional_fair", "Proportional fair"),
    Method("water-filling", "handover", "heuristic", "none", f"{_SIMULATE}:water_filling", "Water-filling"),
    Method("water-filling+wta", "handover", "heuristic", "none", f"{_SIMULATE}:water_filling_wta", "Water-filling, WTA fallback"),
    Method("water-filling+drop-lowest", "handover", "heuristic", "none", f"{_SIMULATE}:water_filling_drop_lowest", "Water-filling, drop lowest"),
    Method("water-filling-bisection", "handover", "heuristic", "none", f"{_SIMULATE}:water_filling_bisection", "Algorithm 1 to the letter"),
    Method("no-admission", "handover", "baseline", "none", f"{_SIMULATE}:no_admission", "No admission"),
    Method("equal", "handover", "baseline", "none", f"{_SIMULATE}:share_equally", "Equal shares"),
    Method("winner-take-all", "handover", "baseline", "none", f"{_SIMULATE}:winner_takes_all", "Winner takes all"),
    Method("proportional-fair", "handover", "baseline", "none", f"{_SIMULATE}:share_proportionally_fair", "Proportional fair"),
    Method("clairvoyant", "handover", "bound", "upper bound and a schedule", f"{_HORIZON}.decomposition:solve_clairvoyant", "Clairvoyant bound", "formulations.handover.proof:prove_clairvoyant"),
    Method("clairvoyant-tangent", "handover", "bound", "upper bound and a schedule", f"{_HORIZON}.tangent:solve_tangent", "Clairvoyant bound (tangent)"),
    Method("clairvoyant-tangent-highs", "handover", "bound", "upper bound and a schedule", f"{_HORIZON}.tangent:solve_tangent_highs", "Clairvoyant bound (tangent, highspy)"),
    Method("clairvoyant-secant", "handover", "bound", "upper bound and a schedule", f"{_HORIZON}.secant:solve_secant", "Clairvoyant bound (secant)"),
    Method("clairvoyant-relaxed", "handover", "bound", "upper bound", f"{_HORIZON}.relaxed:solve_relaxed", "Clairvoyant bound (conic)"),
    Method("clairvoyant-grid", "handover", "bound", "upper bound and a schedule of tiny horizons", f"{_HORIZON}.grid:solve_grid", "Clairvoyant bound (grid)"),
    Method("receding-horizon", "handover", "heuristic", "none", "formulations.handover.horizon.receding_horizon:solve_receding_horizon", "Receding horizon"),
    Method("clairvoyant-lifted", "handover", "baseline", "none", "formulations.handover.horizon.lifted:solve_lifted", "Foresight, anchors in the first slot"),
    Method("greedy", "mmkp", "heuristic", "none", "formulations.mmkp.heuristics.greedy:solve_greedy", "Greedy"),
    Method("heu", "mmkp", "heuristic", "none", "formulations.mmkp.heuristics.heu:solve_heu", "HEU"),
    Method("core-beam", "mmkp", "heuristic", "none", "formulations.mmkp.heuristics.core_beam:solve_core_beam", "Core beam search"),
    Method("milp", "mmkp", "exact", "optimal", "formulations.mmkp.exact.milp:solve_milp", "MILP"),
    Method("milp-highs", "mmkp", "exact", "optimal", "formulations.mmkp.exact.highs:solve_milp_highs", "MILP (HiGHS, direct)"),
    Method("exact", "mmkp", "exact", "optimal", "formulations.mmkp.exact.branch_and_bound:solve_exact", "Branch and bound", "formulations.mmkp.tree_proof:prove_exact"),
    Method("lp-bound", "mmkp", "bound", "upper bound", "formulations.mmkp.exact.lp_bound:solve_lp_bound", "LP bound (certified)", "formulations.mmkp.proof:prove_lp_bound"),
    Method("least-squares", "utility", "heuristic", "none", "formulations.handover.fit:solve_least_squares", "Least squares"),
)  # fmt: skip

METHODS: dict[tuple[str, str], Method] = {(method.problem, method.name): method for method in _ALL}


def problem_of(instance: object) -> str:
    """Return the name of the problem that an instance belongs to."""
    kind = type(instance).__name__
    return next(problem.name for problem in PROBLEMS.values() if problem.instance == kind)


def methods_of(problem: str) -> list[Method]:
    """Return the methods of a problem, in the registry's order."""
    return [method for method in METHODS.values() if method.problem == problem]


def find(problem: str, name: str) -> Method:
    """Return a method by problem and name; ``file.py:function`` or ``module:function`` is a user's own.

    Raises
    ------
    InputError
        With the names that exist.
    """
    if ":" in name:
        return Method(name, problem, "heuristic", "not stated", name, name.rpartition(":")[2])
    if (problem, name) not in METHODS:
        names = ", ".join(method.name for method in methods_of(problem))
        raise InputError(f"method: found {shown(name)}, expected one of {names} for {problem}")
    return METHODS[problem, name]


@cache
def resolve(dotted: str) -> Callable[..., Any]:
    """Return the function of a name ``module:function`` or ``file.py:function``.

    Raises
    ------
    InputError
        When there is no such file, module or function.
    """
    place, _, function = dotted.rpartition(":")
    try:
        module = _load_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except (ImportError, OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{place}: found {type(error).__name__} ({error}), expected a module") from error
    if not callable(getattr(module, function, None)):
        raise InputError(f"{place}: found no function {shown(function)}, expected one")
    return getattr(module, function)  # type: ignore[no-any-return]


def _load_file(path: Path) -> ModuleType:
    """Import a user's file under a name of its own."""
    name = f"certigap_method_{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module in {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def is_own(name: str) -> bool:
    """Tell a user's method, ``file.py:function`` or ``module:function``, from those of this project."""
    return ":" in name and not name.startswith("formulations.")


def source_digest(name: str) -> str:
    """Return a digest of the file that a user's own method is in, empty for a registered one."""
    source = _source_file(name)
    return "" if source is None else hashlib.sha256(source.read_bytes()).hexdigest()[:16]


def problems_of(name: str) -> list[str]:
    """Return the problems that a ``file.py:function`` may solve, by the class its first parameter names.

    Without a class of instances there, all. The file is read and not run: what it does is the run's own affair.

    Raises
    ------
    InputError
        When there is no such file, or one that is no Python.
    """
    place, _, function = name.rpartition(":")
    source = _source_file(name)
    if source is None:
        raise InputError(f"{place}: found no such file, expected a module")
    try:
        tree = ast.parse(source.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{place}: found {type(error).__name__} ({error}), expected a module") from None
    first = next(
        (
            node.args.posonlyargs + node.args.args
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name == function
        ),
        [],
    )[:1]
    words = {w for arg in first if arg.annotation for w in re.findall(r"\w+", ast.unparse(arg.annotation))}
    return [p.name for p in PROBLEMS.values() if p.instance in words] or list(PROBLEMS)


def _source_file(name: str) -> Path | None:
    """Return the file that a user's own method is in, None for a registered or a built-in one."""
    place = name.rpartition(":")[0]
    if not place:
        return None
    try:
        source = Path(place if place.endswith(".py") else inspect.getsourcefile(resolve(name)) or "")
    except TypeError:  # built in
        return None
    return source if source.is_file() else None


def check_options(method: Method, options: dict[str, Any]) -> None:
    """Refuse options that the method does not take.

    Raises
    ------
    InputError
        With the options that it takes.
    """
    parameters = inspect.signature(resolve(method.function)).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return  # the method checks its options itself
    known = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - {"limits", "seed"}
    for key in options:
        if key not in known:
            expected = f"one of {', '.join(sorted(known))}" if known else "none"
            raise InputError(f"set.{key}: unknown for {method.name}, expected {expected}")
