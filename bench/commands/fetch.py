"""``certigap fetch``: public files into the data folder, each verified."""

from __future__ import annotations

import os

import typer

from bench.commands.common import note

__all__ = ["fetch_files"]


def fetch_files(
    names: list[str] = typer.Argument(None, metavar="NAME", help="Files or folders; all without one."),
) -> int:
    """Download public instance files into $CERTIGAP_DATA or the user cache, and verify them."""
    from instances.catalogue import choose, download, is_present, public_folder, read_catalogue

    folder = public_folder()
    chosen = choose(read_catalogue(), names or [])
    downloaded = 0
    for file in chosen:
        if is_present(file, folder):
            continue
        download(file, folder)
        downloaded += 1
        note(f"{file.name}  {file.bytes} bytes  {file.repository}, {file.licence}")
    present = len(chosen) - downloaded
    typer.echo(f"{len(chosen)} files verified: {downloaded} downloaded, {present} there already")
    typer.echo(_where(str(folder)))
    return 0


def _where(folder: str) -> str:
    if os.environ.get("CERTIGAP_DATA"):
        return f"files in {folder} (CERTIGAP_DATA)"
    setting = f'$env:CERTIGAP_DATA = "{folder}"' if os.name == "nt" else f"export CERTIGAP_DATA='{folder}'"
    return f"files in {folder}; to use them: {setting}"
