"""Instances with known answers, and random small ones of every family."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from instances.balance import BalanceInstance, BalanceUsers, LanguageModel, Server
from instances.generate import families_of, generate

DATA = Path(__file__).parents[2] / "data" / "balance"
SEEDED = [f.name for f in families_of("balance") if f.name.startswith(("calibrated", "physical"))]


def known(file: str) -> list[Any]:
    """Return the cases of a file."""
    return json.loads((DATA / file).read_text())["cases"]


def instance_of(document: dict[str, Any], **server: Any) -> BalanceInstance:
    """Return the instance of a case, with some of the server's fields changed."""
    models = [LanguageModel(**document[key]) for key in ("llm", "slm")]
    users = BalanceUsers(**document["users"])
    hardware = Server(**(document["server"] | server))
    return BalanceInstance(document["name"], hardware, *models, document["draft_tokens"], users)


def random_instances(count: int, largest: int) -> Iterator[BalanceInstance]:
    """Yield random instances of 1 to ``largest`` users: half of unit networks, half of all other families."""
    for i in range(count):
        size = 1 + (i * 7) % largest
        family = SEEDED[(i // 2) % len(SEEDED)] if i % 2 else "unit-random"
        yield generate(family, users=size, seed=1000 + i)


def tied_instances(count: int, largest: int) -> Iterator[BalanceInstance]:
    """Yield random instances in which every number of a user is one of two: ties on every axis."""
    for i, instance in enumerate(random_instances(count, largest)):
        draw = np.random.Generator(np.random.PCG64(i))
        columns = {}
        for name in instance.users.__dataclass_fields__:
            values = np.sort(getattr(instance.users, name))
            pair = values[[len(values) // 4, -1 - len(values) // 4]]
            columns[name] = draw.choice(pair, size=len(values))
        yield replace(instance, users=BalanceUsers(**columns))
