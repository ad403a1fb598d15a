"""Where a run's instance comes from: a family, a file, or public data; workers rebuild it from this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from instances.catalogue import public_folder
from instances.errors import InputError
from instances.files import Instance, content_hash, load_instance
from instances.generate import generate
from instances.importers import compose

__all__ = ["FromFile", "FromPublicData", "Generated", "MissingDataError", "Source", "build", "data_folder"]


class MissingDataError(Exception):
    """A public file is not at hand."""


@dataclass(frozen=True)
class Generated:
    """An instance of a seeded family."""

    family: str
    users: int | None
    seed: int
    settings: tuple[tuple[str, float], ...] = ()

    def make(self) -> Instance:
        """Return the instance."""
        return generate(self.family, users=self.users, seed=self.seed, settings=dict(self.settings))


@dataclass(frozen=True)
class FromFile:
    """An instance in a file of the user's."""

    path: str
    family: str = "file"
    seed: int = 0
    item: int | None = None  # of a file that holds several problems, counted from 1

    def make(self) -> Instance:
        """Return the instance."""
        return load_instance(self.path, item=self.item)


@dataclass(frozen=True)
class FromPublicData:
    """An instance made of public files below $CERTIGAP_DATA by a function of ``compose``."""

    family: str
    files: tuple[str, ...]  # relative to the data folder
    recipe: str  # name of the function
    seed: int = 0
    settings: tuple[tuple[str, Any], ...] = ()

    def make(self) -> Instance:
        """Return the instance.

        Raises
        ------
        MissingDataError
            When the data folder or one of the files is not there.
        """
        folder = data_folder()
        paths = [folder / name for name in self.files]
        for path in paths:
            if not path.is_file():
                raise MissingDataError(f"{path.name} is not among the public files at hand")
        recipe = getattr(compose, self.recipe)
        return recipe(*paths, seed=self.seed, **dict(self.settings))  # type: ignore[no-any-return]


Source = Generated | FromFile | FromPublicData


def data_folder() -> Path:
    """Return the folder of public files: $CERTIGAP_DATA, or the user cache that ``certigap fetch`` fills.

    Raises
    ------
    MissingDataError
        When there is no such folder.
    """
    folder = public_folder()
    if not folder.is_dir():
        raise MissingDataError("no public files: set CERTIGAP_DATA, or run certigap fetch")
    return folder


@lru_cache(maxsize=64)
def build(source: Source) -> tuple[Instance, str]:
    """Return the source's instance and its content hash.

    Raises
    ------
    MissingDataError, InputError
        When it cannot be made.
    """
    instance = source.make()
    return instance, content_hash(instance)


def source_as_dict(source: Source) -> Mapping[str, Any]:
    """Return the source's fields for a record."""
    return {"kind": type(source).__name__} | vars(source)


def source_from_dict(values: Mapping[str, Any]) -> Source:
    """Return the source that ``source_as_dict`` described."""
    kinds: dict[str, Any] = {c.__name__: c for c in (Generated, FromFile, FromPublicData)}
    rest = {key: value for key, value in values.items() if key != "kind"}
    if values.get("kind") not in kinds:
        raise InputError(f"source.kind: found {values.get('kind')!r}, expected one of {', '.join(kinds)}")
    for key in ("settings", "files"):
        if key in rest:
            rest[key] = tuple(tuple(v) if isinstance(v, list) else v for v in rest[key])
    return kinds[values["kind"]](**rest)  # type: ignore[no-any-return]
