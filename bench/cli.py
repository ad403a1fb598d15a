"""The ``certigap`` command: it only assembles, and turns errors into one line and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

from bench.commands.common import CommandOfSingleOptions
from bench.commands.compare import compare_stores
from bench.commands.convert import convert_file
from bench.commands.export import export_store
from bench.commands.fetch import fetch_files
from bench.commands.fit import fit_latency_file
from bench.commands.fit_utility import utility_command
from bench.commands.generate import generate_instances, import_instance
from bench.commands.hunt import hunt_worst_case
from bench.commands.methods import list_methods
from bench.commands.proofs import verify_proof
from bench.commands.report import report_command
from bench.commands.run import run_experiments, show_record
from bench.commands.scaling import check_scaling
from bench.commands.solve import check_decision, solve_file
from instances.errors import InputError

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Benchmarks optimisation heuristics against exact solvers, with proof.",
)


def _write_report(records: Sequence[Any], folder: Path, **options: Any) -> Sequence[Any]:
    from reports.report import write_report

    return write_report(records, folder, **options)


def _draw_fits(curves: Sequence[Any], fits: Sequence[Sequence[Any]], folder: Path) -> Sequence[Path]:
    from reports.figures.utility_fit import draw_fits

    return draw_fits(curves, fits, folder)


def _print_version(wanted: bool) -> None:
    if wanted:
        from bench.jobs.environment import git_commit, versions

        found = versions()
        typer.echo(f"certigap {found.pop('certigap', 'not installed')} {git_commit()}".rstrip())
        for name, version in found.items():
            typer.echo(f"{name} {version}")
        raise typer.Exit


@app.callback()
def _top(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Versions of everything that computes.",
    ),
) -> None:
    """Benchmark optimisation heuristics against exact solvers, with proof."""


COMMANDS: dict[str, Callable[..., Any]] = {
    "methods": list_methods,
    "generate": generate_instances,
    "import": import_instance,
    "convert": convert_file,
    "solve": solve_file,
    "check": check_decision,
    "verify": verify_proof,
    "run": run_experiments,
    "compare": compare_stores,
    "export": export_store,
    "show": show_record,
    "hunt": hunt_worst_case,
    "fetch": fetch_files,
    "scaling": check_scaling,
    "report": report_command(_write_report),
}
FITS = {"latency": fit_latency_file, "utility": utility_command(_draw_fits)}

fit_app = typer.Typer(no_args_is_help=True, help="Fit constants to measurements, with 95 % intervals.")
for _app, _commands in ((app, COMMANDS), (fit_app, FITS)):
    for _name, _command in _commands.items():
        _app.command(_name, cls=CommandOfSingleOptions)(_command)
app.add_typer(fit_app, name="fit")


def main() -> None:
    """Run the command and exit with its status."""
    try:
        status = app(standalone_mode=False)
    except InputError as error:
        typer.echo(str(error), err=True)
        status = 2
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        sys.stderr.close()
        status = 0
    except OSError as error:
        typer.echo(f"certigap: found {error.strerror or error}, expected a place to write", err=True)
        status = 2
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        typer.echo(f"certigap: {error.format_message()}", err=True)  # a wrong call
        status = 2
    sys.exit(status if isinstance(status, int) else 0)
