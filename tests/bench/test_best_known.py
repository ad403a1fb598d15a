"""Best known values: own decisions are worth what is stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.experiments.mmkp import everything
from bench.jobs.job import Record
from bench.jobs.sources import FromPublicData
from bench.judging.best_known import BestKnown, best_known
from formulations.mmkp.evaluate import evaluate_mmkp
from instances.decisions import Choice
from instances.files import content_hash
from instances.mmkp import MmkpInstance
from reports.tables import mmkp_table
from tests.instances.importers.sample_files import public

ENTRIES = tuple(best_known().values())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.instance)
def test_own_decisions_are_checked(entry: BestKnown) -> None:
    """On the public file an own decision is feasible and worth what is stored, more than was published."""
    sources = {job.source for job in everything(0) if job.source.family == entry.instance}
    (source,) = sources
    assert isinstance(source, FromPublicData)
    public(source.files[0])
    instance = source.make()
    assert isinstance(instance, MmkpInstance)
    assert content_hash(instance) == entry.sha256
    if entry.value is None:
        assert not entry.item
        return
    verdict = evaluate_mmkp(instance, Choice(np.array(entry.item)))
    assert verdict.feasible
    assert verdict.objective == entry.value > entry.published


def test_report_names_the_better_value() -> None:
    """The table of runs shows the better of the published value and the own decision's, with its source."""
    published = next(entry for entry in ENTRIES if entry.value is None)
    own = next(entry for entry in ENTRIES if entry.value is not None)
    row = Record("k", "mmkp", "mmkp", "x", "", "x", 100, 0, "heu", "v", "{}", status="feasible")
    rows = [replace(row, instance_sha256=entry.sha256) for entry in (published, own)]
    table = mmkp_table([*rows, row])
    texts = [str(cells[table.columns.index("best known")]) for cells in table.rows]
    assert published.source in texts[0]
    assert "own decision" in texts[1]
    assert texts[2] == "–"
