"""The list of commands, and the answers to wrong commands and flags."""

from pathlib import Path

import pytest
from django.core.management.base import CommandParser

from nodeproject import cli
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.commands import GROUPS, command_named, overview
from nodeproject.web.paths import address_file, base_url, running_url
from primitives.product import BASE_DIR
from tests.builders.node_settings import updated

LISTED = [command for commands in GROUPS.values() for command in commands]


def test_the_help_lists_each_command_of_the_product_and_none_of_djangos() -> None:
    modules = {path.stem for path in BASE_DIR.glob("*_*/management/commands/[a-z]*.py")} | {
        path.stem for path in BASE_DIR.glob("nodeproject/management/commands/[a-z]*.py")
    }

    assert {command.django_name for command in LISTED} == modules
    shown = overview("nunatak", 80)
    for command in LISTED:
        assert f"\n  {command.name} " in shown
    assert not {"migrate", "runserver", "changepassword"} & set(shown.split())


@pytest.mark.parametrize("columns", [50, 80, 200])
def test_each_line_of_the_help_fits_the_terminal(columns: int) -> None:
    assert max(map(len, overview("nunatak", columns).splitlines())) <= columns


def test_a_command_has_the_names_of_the_help_of_django_and_with_dashes() -> None:
    for command in LISTED:
        names = (command.name, command.django_name, command.name.replace("_", "-"))
        assert {command_named(name) for name in names} == {command}
    assert command_named("migrate") is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("stauts", "there is no command 'stauts'; did you mean `node status`?"),
        ("timetravel", "there is no command 'timetravel'; did you mean `node time_travel`?"),
        ("changepassword", "it is a command of Django: `node manage changepassword`"),
        ("migrate", "it is a command of Django: `node manage migrate`"),
        ("xyzzy", "there is no command 'xyzzy'; `node --help` lists the commands"),
    ],
)
def test_unknown_command_suggests_the_nearest(
    name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([name], program="node")

    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("node: error: there is no command")
    assert said.endswith(f"{words}\n")


def test_in_a_checkout_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["stauts"], program="manage.py", with_django=True)

    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("did you mean `manage.py status`?\n")


@pytest.mark.parametrize("asked", ["-h", "--help", "help"])
def test_help_needs_no_settings(
    asked: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_PROFILE", "none such")
    cli.main([asked], program="node")

    assert capsys.readouterr().out.startswith("Usage: node [run] [FLAGS]\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--prot", "1"], "unrecognized arguments: --prot 1; did you mean --port?"),
        (["--chian-id=1", "--hosst", "x"], "; did you mean --chain-id and --host?"),
        (["--xyzzy"], "unrecognized arguments: --xyzzy\n"),
        (["stray"], "unrecognized arguments: stray\n"),
    ],
)
def test_unknown_flag_suggests_the_nearest(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    environ: dict[str, str] = {}
    with pytest.raises(SystemExit) as ended:
        cli.apply(arguments, environ, "node")

    assert ended.value.code == 2
    assert words in capsys.readouterr().err
    assert environ == {}


def test_the_help_of_a_command_has_its_own_flags_only() -> None:
    parser = cli.parser_of(cli.StartCommand(), "node", "run")

    assert isinstance(parser, CommandParser)
    for option in cli.OF_DJANGO | {"--skip-checks"}:
        assert f" {option}" not in parser.format_help()


def test_data_directory_flag_sets_the_environment() -> None:
    environ = {"NODE_DATA_DIR": "a"}

    assert cli.with_directory(["save", "--data-dir", "b", "name"], environ) == ["save", "name"]
    assert environ == {"NODE_DATA_DIR": "b"}
    assert cli.with_directory(["--json"], environ) == ["--json"]
    assert environ == {"NODE_DATA_DIR": "b"}


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ('["127.0.0.1", 8545]', "http://127.0.0.1:8545"),
        ('["::", 8545]', "http://127.0.0.1:8545"),
        ('["::1", 8545]', "http://[::1]:8545"),
        ("", "http://127.0.0.1:9650"),
        ("{}", "http://127.0.0.1:9650"),
        ('["127.0.0.1"]', "http://127.0.0.1:9650"),
        ('["127.0.0.1", "x"]', "http://127.0.0.1:9650"),
    ],
)
def test_commands_find_the_running_node_by_its_directory(
    written: str, url: str, tmp_path: Path
) -> None:
    settings = updated(NodeSettings(), data_dir=str(tmp_path))
    assert running_url(settings) == base_url(settings)

    address_file(settings).write_text(written)
    assert running_url(settings) == url
