"""The catalogue of public files: pinned addresses, and hashes of the real files."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest

from instances.catalogue import CATALOGUE, choose, is_present, read_catalogue
from instances.errors import InputError

FILES = read_catalogue().files


@pytest.fixture(scope="module")
def data() -> Path:
    """Return the folder of public files."""
    value = os.environ.get("CERTIGAP_DATA", "")
    if not value or not Path(value).is_dir():
        pytest.skip("CERTIGAP_DATA is not set: no public files to compare with")
    return Path(value)


@pytest.mark.parametrize("name", FILES)
def test_address_is_https_at_a_pinned_commit(name: str) -> None:
    """An entry's address names its repository and a whole commit, its hash is one, its licence is said."""
    file = FILES[name]
    assert re.fullmatch(r"[0-9a-f]{40}", file.commit)
    assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
    assert file.url.startswith(f"https://raw.githubusercontent.com/{file.repository}/{file.commit}/")
    assert file.licence
    assert file.stored in ("as-is", "gzip", "member")
    assert (file.stored == "gzip") == name.endswith(".gz")


@pytest.mark.parametrize("name", FILES)
def test_hash_is_that_of_the_real_file(name: str, data: Path) -> None:
    """The file in the data folder has the catalogue's length and sha256."""
    assert is_present(FILES[name], data)


def test_every_public_file_is_listed(data: Path) -> None:
    """What SOURCES.csv names is in the catalogue, either to download or with the reason why not."""
    catalogue = read_catalogue()
    with (data / "SOURCES.csv").open(encoding="utf-8") as file:
        named = {row["file"] for row in csv.DictReader(file)}
    assert named == set(catalogue.files) | set(catalogue.elsewhere)


def test_files_are_chosen_by_name_or_folder() -> None:
    """A name stands for one file or for all below a folder; without a name all are chosen, each once."""
    catalogue = read_catalogue()
    assert [f.name for f in choose(catalogue, ["mmkp/khan/I01"])] == ["mmkp/khan/I01"]
    assert len(choose(catalogue, ["mmkp/khan", "mmkp/khan/", "mmkp/khan/I02"])) == 13
    assert len(choose(catalogue, [])) == len(catalogue.files)
    with pytest.raises(InputError, match="NAME: found mmkp/kha, expected"):
        choose(catalogue, ["mmkp/kha"])


def test_catalogue_with_a_climbing_name_is_refused(tmp_path: Path) -> None:
    """A catalogue is not read when one of its names leads out of the data folder."""
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE.read_text(encoding="utf-8").replace('"mmkp/khan/I01"', '"mmkp/../../I01"'))
    with pytest.raises(InputError, match=r"mmkp/\.\./\.\./I01.*inside its folder"):
        read_catalogue(path)
