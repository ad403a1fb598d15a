"""``certigap convert``, and ``--item`` of the commands that read files of several problems."""

from __future__ import annotations

import json
from pathlib import Path

import highspy
import pulp
import pytest

from formulations.mmkp.exact.export import export_model, name_map
from formulations.mmkp.exact.highs import solve_milp_highs
from formulations.result import Limits
from instances.errors import InputError
from instances.files import content_hash, load_instance, save
from instances.generate import generate
from instances.importers.hiremath_hill import read_hiremath_hill
from instances.importers.khan import read_khan
from tests.bench.test_commands import certigap
from tests.formulations.mmkp.random_instances import random_instance
from tests.instances.importers.sample_files import own


def test_between_formats(tmp_path: Path) -> None:
    """An instance keeps its content through every format that has words for it, and back."""
    steps = [("irregular.txt", "irregular"), ("many.txt.gz", "hiremath-hill"), ("khan", "khan")]
    source = own("mmkp/tiny")
    for name, to in steps:
        done = certigap("convert", source, tmp_path / name, "--to", to)
        assert done.returncode == 0, done.stderr
        source = tmp_path / name
    assert content_hash(load_instance(source)) == content_hash(read_khan(own("mmkp/tiny")))


def test_all_problems_or_one(tmp_path: Path) -> None:
    """A file of several problems is converted whole, or one of them by --item."""
    path = own("mmkp/two_problems.txt")
    assert certigap("convert", path, tmp_path / "all").returncode == 0
    assert len(read_hiremath_hill(tmp_path / "all")) == 2
    assert certigap("convert", path, tmp_path / "second", "--item", 2).returncode == 0
    assert content_hash(load_instance(tmp_path / "second")) == content_hash(load_instance(path, item=2))


def test_settings(tmp_path: Path) -> None:
    """Dashes are read and padding is stripped where that is asked for."""
    assert (
        certigap("convert", own("mmkp/dashes.txt"), tmp_path / "a", "--set", "separator=dash").returncode == 0
    )
    assert load_instance(tmp_path / "a").n_groups == 2  # type: ignore[union-attr]
    assert certigap("convert", own("mmkp/padded"), tmp_path / "b", "--set", "padding=strip").returncode == 0
    assert len(load_instance(tmp_path / "b").values) == 3  # type: ignore[union-attr]


def test_balance_at_thresholds(tmp_path: Path) -> None:
    """A BALANCE instance becomes an MMKP at given thresholds, or at those of an assignment."""
    instance, decision = tmp_path / "b.json", tmp_path / "d.json"
    save(generate("calibrated-fig4", users=4, seed=1), instance)
    decision.write_text(
        json.dumps(
            {
                "format": "certigap/assignment",
                "version": 1,
                "mode": ["ad", "sd", "none", "ad"],
                "compute_share": 0.4,
            }
        )
    )
    assert certigap("convert", instance, tmp_path / "m", "--set", f"thresholds={decision}").returncode == 0
    assert load_instance(tmp_path / "m").n_groups == 4  # type: ignore[union-attr]
    mode = {"input_tokens": 4096, "upload_s": 1.0, "steps": 1000, "budget_s": 5.0}
    given = json.dumps({"compute_share": 1, "ad": mode, "sd": None})
    assert certigap("convert", instance, tmp_path / "n", "--set", f"thresholds={given}").returncode == 0
    refused = certigap("convert", instance, tmp_path / "o")
    assert (refused.returncode, refused.stderr) == (
        2,
        "--set thresholds: missing, expected JSON or the file of an assignment\n",
    )


def test_other_kinds_are_named_by_their_format(tmp_path: Path) -> None:
    """An instance that is no MMKP is refused by the name that its file has for it."""
    save(generate("importance", settings={"horizon_s": 1}), tmp_path / "h.json")
    done = certigap("convert", tmp_path / "h.json", tmp_path / "m")
    expected = "found certigap/handover, expected an MMKP or a BALANCE instance"
    assert (done.returncode, done.stderr) == (2, f"{tmp_path / 'h.json'}: {expected}\n")


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@pytest.mark.parametrize("seed", range(5))
def test_models_have_the_same_optimum(seed: int, suffix: str, tmp_path: Path) -> None:
    """An exported model, read back by HiGHS, is a maximisation with the instance's optimum."""
    instance = random_instance(seed, groups=6, digits=seed % 3)
    path = tmp_path / f"model{suffix}"
    path.write_text(export_model(instance, suffix))
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    highs.run()
    expected = solve_milp_highs(instance, limits=Limits()).objective
    if expected is None:
        assert highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible
        return
    objective = highs.getInfo().objective_function_value
    assert abs(abs(objective) - expected) < 1e-6  # an LP file holds the sense, an MPS reader may turn it
    names = [highs.getColName(j)[1] for j in range(highs.getNumCol())]
    assert sorted(names) == sorted(name_map(instance)["variables"])


def test_another_reader_of_mps(tmp_path: Path) -> None:
    """PuLP reads the MPS file as a programme of the same optimum."""
    instance = read_khan(own("mmkp/tiny"))
    path = tmp_path / "model.mps"
    path.write_text(export_model(instance, ".mps"))
    _, programme = pulp.LpProblem.fromMPS(str(path), sense=pulp.LpMaximize)
    programme.solve(pulp.HiGHS(msg=False))
    assert pulp.value(programme.objective) == pytest.approx(11.0)


def test_export_writes_the_names(tmp_path: Path) -> None:
    """Beside the model stand sense, constant and what its names stand for."""
    done = certigap("convert", own("mmkp/tiny"), tmp_path / "m.lp")
    assert (done.returncode, done.stdout) == (0, "")
    names = json.loads((tmp_path / "m.lp.names.json").read_text())
    assert (names["sense"], names["constant"]) == ("maximise", 0)
    assert names["variables"]["take_2_1"] == {"group": 2, "item": 1}
    assert names["rows"]["resource_1"] == {"resource": 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("two_problems.txt", "x.mps"), "x.mps: found 2 problems and --to None, expected one and none"),
        (
            ("tiny", "x", "--set", "colour=red"),
            "--set: found colour, expected one of padding, separator, thr",
        ),
        (("tiny", "x", "--to", "csv"), "format: found csv, expected one of khan, irregular, hiremath-hill"),
        (
            ("tiny", "x.mps.gz"),
            "x.mps.gz: found the ending .mps.gz, expected none, .txt, .gz, .txt.gz, .mps or .lp\n",
        ),
        (("tiny", "x.foo", "--to", "khan"), "x.foo: found the ending .foo, expected none, "),
        (("tiny", "x", "--item", 2), "item: found 2, expected 1 to 1"),
        (("tiny", "x", "--set", "thresholds=1"), "--set thresholds: found an MMKP file, expected a BALANCE"),
    ],
)
def test_refusals(arguments: tuple[object, ...], message: str, tmp_path: Path) -> None:
    """A call that cannot be done is one line and status 2, and writes nothing."""
    source, target, *rest = arguments
    done = certigap("convert", own(f"mmkp/{source}"), tmp_path / str(target), *rest)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_source_is_no_target(tmp_path: Path) -> None:
    """A file is not converted onto itself, however it is called."""
    path = tmp_path / "a.txt"
    path.write_bytes(own("mmkp/tiny").read_bytes())
    done = certigap("convert", path, tmp_path / "." / "a.txt", "--to", "irregular")
    assert (done.returncode, done.stderr) == (2, f"{path}: found the file that is read, expected another\n")
    assert path.read_bytes() == own("mmkp/tiny").read_bytes()


def test_solve_and_check_an_item(tmp_path: Path) -> None:
    """A problem of a file of several is solved and checked by its number."""
    path, decision = own("mmkp/two_problems.txt"), tmp_path / "d.json"
    done = certigap("solve", path, "--item", 1, "--method", "milp-highs", "-o", decision, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["objective"] == 17
    assert certigap("check", path, decision, "--item", 1).returncode == 0
    refused = certigap("solve", path, "--method", "greedy")
    assert refused.returncode == 2
    assert "expected a choice of one of them, item 1 to 2 (--item N)" in refused.stderr


def test_model_without_groups() -> None:
    """There is no model of nothing."""
    empty = random_instance(1, groups=1)
    with pytest.raises(InputError, match="mmkp: found 0 groups"):
        export_model(type(empty)("e", empty.capacities, [0], [], empty.weights[:0]), ".lp")  # type: ignore[arg-type]
