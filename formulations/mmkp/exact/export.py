"""The MMKP as an MPS or LP file for other solvers, with what the file cannot say beside it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import highspy
import numpy as np

from instances.errors import InputError
from instances.mmkp import MmkpInstance

__all__ = ["export_model", "name_map"]


def export_model(instance: MmkpInstance, suffix: str) -> str:
    """Return the programme in the format of ``suffix``, as a maximisation in the instance's own numbers.

    Rows and columns are named as ``name_map`` says.

    Raises
    ------
    InputError
        Without groups, which neither format has words for.
    """
    if instance.n_groups == 0:
        raise InputError("mmkp: found 0 groups, expected at least one to write")
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.passModel(_model(instance))
    with tempfile.TemporaryDirectory(prefix="certigap-") as folder:
        path = Path(folder) / f"model{suffix}"
        if highs.writeModel(str(path)) == highspy.HighsStatus.kError:
            raise RuntimeError(f"HiGHS could not write a {suffix} file")
        return path.read_text(encoding="utf-8")


def name_map(instance: MmkpInstance) -> dict[str, Any]:
    """Return what the names stand for, with sense and constant, as a JSON object.

    A variable is 1 when its item is taken; groups and resources are counted from 1, items from 0 within
    their group as in a choice.
    """
    pairs = zip(_column_names(instance), _places(instance), strict=True)
    return {
        "instance": instance.name,
        "sense": "maximise",
        "constant": 0,
        "variables": {name: {"group": g + 1, "item": i} for name, (g, i) in pairs},
        "rows": {f"group_{g}": {"group": g} for g in range(1, instance.n_groups + 1)}
        | {f"resource_{k}": {"resource": k} for k in range(1, instance.n_resources + 1)},
    }


def _model(instance: MmkpInstance) -> highspy.HighsLp:
    items, m = instance.weights.shape
    n = instance.n_groups
    group = np.repeat(np.arange(n), np.diff(instance.group_start))
    used = instance.weights != 0
    filled = np.concatenate((np.ones((items, 1), dtype=bool), used), axis=1)
    rows = np.concatenate((group[:, None], np.tile(np.arange(m) + n, (items, 1))), axis=1)
    numbers = np.concatenate((np.ones((items, 1)), instance.weights), axis=1)
    model = highspy.HighsLp()
    model.model_name_ = instance.name
    model.num_col_, model.num_row_ = items, n + m
    model.sense_, model.offset_ = highspy.ObjSense.kMaximize, 0.0
    model.col_cost_ = np.array(instance.values)
    model.col_lower_, model.col_upper_ = np.zeros(items), np.ones(items)
    model.row_lower_ = np.concatenate((np.ones(n), np.full(m, -highspy.kHighsInf)))
    model.row_upper_ = np.concatenate((np.ones(n), instance.capacities))
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.concatenate(([0], np.cumsum(filled.sum(axis=1)))).astype(np.int32)
    model.a_matrix_.index_ = rows[filled].astype(np.int32)
    model.a_matrix_.value_ = numbers[filled]
    model.integrality_ = [highspy.HighsVarType.kInteger] * items
    model.col_names_ = _column_names(instance)
    model.row_names_ = [f"group_{g}" for g in range(1, n + 1)] + [f"resource_{k}" for k in range(1, m + 1)]
    return model


def _places(instance: MmkpInstance) -> list[tuple[int, int]]:
    sizes = np.diff(instance.group_start).tolist()
    return [(g, i) for g, size in enumerate(sizes) for i in range(size)]


def _column_names(instance: MmkpInstance) -> list[str]:
    return [f"take_{g + 1}_{i}" for g, i in _places(instance)]
