"""Where an instance comes from."""

from __future__ import annotations

from dataclasses import dataclass

from instances.errors import InputError, integer, shown

__all__ = ["Origin"]


@dataclass(frozen=True)
class Origin:
    """Provenance that travels with an instance; every field is optional."""

    source: str | None = None  # what it was made from, in words
    sha256: str | None = None  # of the file that was imported
    seed: int | None = None  # of the generator
    preset: str | None = None  # name of the preset or family

    def __post_init__(self) -> None:
        for key in ("source", "preset"):
            value = getattr(self, key)
            if value is not None and not (isinstance(value, str) and len(value) <= 1000):
                raise InputError(
                    f"origin.{key}: found {shown(value)}, expected a text of at most 1000 characters"
                )
        if self.sha256 is not None and not _is_digest(self.sha256):
            raise InputError(f"origin.sha256: found {shown(self.sha256)}, expected 64 hexadecimal digits")
        if self.seed is not None:
            object.__setattr__(self, "seed", integer("origin.seed", self.seed, low=0, high=2**53))

    def as_dict(self) -> dict[str, str | int]:
        """Return the fields that are set."""
        pairs = {key: getattr(self, key) for key in self.__dataclass_fields__}
        return {key: value for key, value in pairs.items() if value is not None}


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")
