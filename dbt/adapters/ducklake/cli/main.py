"""The group of all commands: the options that select the lake, and the translation of errors to one line and an exit code."""

from __future__ import annotations

from typing import Any

import click
from dbt_common.exceptions import DbtBaseException

from ..__version__ import version
from ..errors import ConfigurationError, DuckLakeError
from .commands import checkpoint, diff, doctor, history, report, snapshots, sql
from .input_error import InputError
from .lake_options import LakeOptions

COMMANDS = (sql, snapshots, history, diff, report, checkpoint, doctor)


class _Group(click.Group):
    """Shows errors of lakes and of dbt as one line: exit code 2 for wrong settings, 1 for what failed."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise InputError(f"{error.format_message()} See `{(error.ctx or ctx).command_path} --help`.") from error
        except ConfigurationError as error:
            raise InputError(str(error)) from error
        except DuckLakeError as error:
            raise click.ClickException(str(error)) from error
        except DbtBaseException as error:
            raise InputError(" ".join(str(error).split())) from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--lake", metavar="PATH_OR_URL", help="The catalog: a file, ducklake:…, or the URL of a database. Without it, a dbt target is used."
)
@click.option("--data-path", metavar="PATH", help="The data path; with it, `sql` creates a lake that does not exist.")
@click.option("--database", metavar="NAME", help="The lake's name in SQL, with --lake.  [default: lake]")
@click.option("--metadata-schema", metavar="NAME", help="The schema of the catalog's tables, with --lake.")
@click.option("--profile", metavar="NAME", help="The profile; by default that of the project, or the only one.")
@click.option("--target", metavar="NAME", help="The target of the profile; by default the profile's own default.")
@click.option("--profiles-dir", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="The folder of profiles.yml.")
@click.option("--project-dir", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="The folder of dbt_project.yml.")
@click.version_option(version, package_name="dbt-ducklake", prog_name="ducklake")
@click.pass_context
def main(context: click.Context, /, **given: str | None) -> None:
    """Look at a DuckLake, query it and maintain it.

    The lake is that of --lake, or of a dbt target: `ducklake --lake lake.sqlite snapshots`, `ducklake --target prod history orders`.
    """
    context.obj = LakeOptions(**given)


for _command in COMMANDS:
    main.add_command(_command)
