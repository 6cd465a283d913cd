"""The command ``unipac`` in this process, and files for it."""

from typer.testing import CliRunner

from unipac.cli import app as cli


def command(*arguments):
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def toml(folder, agent="NestedOFUL"):
    file = folder / "mine.toml"
    file.write_text(
        f"rounds = 20\nseeds = 1\n[agents.a]\nagent = '{agent}'\n[instances.s]\ninstance = 'sphere'\n"
    )
    return file
