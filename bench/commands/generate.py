"""``certigap generate`` and ``certigap import``: instance files of seeded families and of measured data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from bench.commands.common import note, numeric_settings
from bench.jobs.store import DEFAULT_STORE
from instances.errors import InputError, shown

__all__ = ["generate_instances", "import_instance"]

SUFFIX = {"balance": ".json", "handover": ".json", "slot": ".json", "mmkp": ".txt"}


def generate_instances(
    kind: str = typer.Argument(..., help="balance, handover, slot or mmkp."),
    output: Path | None = typer.Option(None, "-o", "--output", help="Folder for the files."),
    listing: bool = typer.Option(False, "--list", help="List the kind's families and settings."),
    preset: str | None = typer.Option(None, "--preset", help="Preset or family, such as fig4."),
    constants: str = typer.Option("calibrated", "--constants", help="calibrated or physical."),
    settings: list[str] = typer.Option([], "--set", help="KEY=VALUE of the preset."),
    users: int | None = typer.Option(None, "--users", help="Users, or groups."),
    seed: int = typer.Option(0, "--seed", help="First seed."),
    count: int = typer.Option(20, "-n", help="Number of instances, seeds SEED, SEED + 1, …"),
) -> None:
    """Generate instances of a seeded family."""
    from instances.files import save
    from instances.generate import KINDS, families_of, generate

    if kind not in KINDS:
        raise InputError(f"KIND: found {shown(kind)}, expected one of {', '.join(KINDS)}")
    if listing:
        for entry in families_of(kind):
            typer.echo(f"{entry.name:28} {entry.description}")
        return
    family = _family(kind, preset, constants)
    if output is None:
        raise InputError("-o: missing, expected a folder for the files")
    if count < 1:
        raise InputError(f"-n: found {count}, expected at least 1")
    made = [
        generate(family, users=users, seed=seed + i, settings=numeric_settings(settings))
        for i in range(count)
    ]
    _make_folder(output)
    for instance in made:
        save(instance, output / f"{instance.name}{SUFFIX[kind]}")
    note(f"{count} instances of {family} in {output}")


def import_instance(
    source: str = typer.Argument(..., help="azure, mooncake, ucc5g or csv; store for JSON Lines of a store."),
    files: list[Path] = typer.Argument(..., help="The data; ucc5g takes the events and a request trace."),
    output: Path | None = typer.Option(None, "-o", "--output", help="Folder for the instance."),
    preset: str | None = typer.Option(None, "--preset", help="What the data lack comes from here."),
    constants: str = typer.Option("calibrated", "--constants", help="calibrated or physical."),
    users: int | None = typer.Option(None, "--users", help="Number of users."),
    model: str | None = typer.Option(None, "--model", help="Whose caches move (ucc5g), such as Qwen3-14B."),
    seed: int = typer.Option(0, "--seed", help="Of what is drawn."),
    store_path: Path = typer.Option(DEFAULT_STORE, "--store", help="Where `import store` merges the rows."),
) -> int:
    """Make an instance of measured data; what the data lack comes from the preset and the seed.

    ``import store`` merges rows that ``certigap export jsonl`` wrote.
    """
    if source == "store":
        from bench.commands.export import import_records

        return import_records(files, store_path)
    if output is None:
        raise InputError("-o: missing, expected a folder for the instance")
    from instances.files import save
    from instances.importers import compose

    recipe, takes_constants = _recipe(source, files, preset)
    chosen: dict[str, Any] = {"seed": seed, "users": users}
    chosen |= {} if preset is None else {"preset": preset}
    chosen |= {"constants": constants} if takes_constants else {}
    if model is not None and source != "ucc5g":
        raise InputError(f"--model: found {shown(model)} for {source}, expected it with ucc5g only")
    chosen |= {} if model is None else {"model": model}
    instance = getattr(compose, recipe)(*files, **chosen)
    _make_folder(output)
    target = output / f"{instance.name}.json"
    save(instance, target)
    typer.echo(str(target))
    note(f"{instance.n_users} users; {instance.origin.source}")
    return 0


def _family(kind: str, preset: str | None, constants: str) -> str:
    from instances.generate import families_of
    from instances.presets import BALANCE_CONSTANTS

    names = [family.name for family in families_of(kind)]
    if constants not in BALANCE_CONSTANTS:
        expected = ", ".join(BALANCE_CONSTANTS)
        raise InputError(f"--constants: found {shown(constants)}, expected one of {expected}")
    if preset is None:
        return {"balance": f"{constants}-fig4", "handover": "importance"}.get(kind, names[0])
    for name in (preset, f"{constants}-{preset}", f"{kind}-{preset}"):
        if name in names:
            return name
    raise InputError(
        f"--preset: found {shown(preset)}, expected a family of `certigap generate {kind} --list`"
    )


def _recipe(source: str, files: list[Path], preset: str | None) -> tuple[str, bool]:
    """Return the name of the function in ``compose``, and whether it takes a constant set."""
    from instances.presets import HANDOVER_PRESETS

    of_handover = preset in HANDOVER_PRESETS
    recipes: dict[str, tuple[str, bool, int]] = {
        "azure": ("balance_from_azure", True, 1),
        "mooncake": ("balance_from_mooncake", True, 1),
        "ucc5g": ("handover_from_ucc5g", False, 2),
        "csv": ("handover_from_csv", False, 1) if of_handover else ("balance_from_csv", True, 1),
    }
    if source not in recipes:
        raise InputError(f"SOURCE: found {shown(source)}, expected one of {', '.join(recipes)}, store")
    recipe, takes_constants, count = recipes[source]
    if len(files) != count:
        words = "the events and a request trace" if count == 2 else "one file"
        raise InputError(f"FILE: found {len(files)}, expected {words} for {source}")
    return recipe, takes_constants


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: found {error.strerror}, expected a folder to write to") from None
