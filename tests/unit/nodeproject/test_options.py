"""Options of the start command: made from settings, rejected with messages, listed in docs/settings.md."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from nodeproject import cli
from nodeproject.management.commands.node_settings import flags_markdown
from nodeproject.settings.flags import declared_in, read, table
from nodeproject.settings.node import NodeSettings
from nodeproject.settings.options import ConflictingFlags, add_options, environment, option_table
from primitives.product import BASE_DIR
from tests.builders.modules import module_with


def parsed(*arguments: str) -> Namespace:
    parser = ArgumentParser(allow_abbrev=False)
    add_options(parser, NodeSettings)
    return parser.parse_args(arguments)


def given(*arguments: str) -> dict[str, str]:
    return environment(NodeSettings, parsed(*arguments))


def applied(*arguments: str, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    changed = dict(environ or {})
    cli.apply(arguments, changed, "node")
    return changed


def test_every_setting_has_a_flag_by_its_name() -> None:
    defaults = {name: default for name, default, _ in table(NodeSettings)}
    for declared in declared_in(NodeSettings):
        name = f"NODE_{declared.name.upper()}"
        option = "--" + declared.name.replace("_", "-")
        arguments = [option] if declared.wanted is bool else [option, defaults[name]]
        assert given(*arguments)[name] == ("true" if declared.wanted is bool else defaults[name])


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--port", "8545"], {"NODE_HTTP_PORT": "8545"}),
        (["-p", "8545"], {"NODE_HTTP_PORT": "8545"}),
        (["--port=8545", "--host", "0.0.0.0"], {"NODE_HTTP_PORT": "8545", "NODE_HTTP_HOST": "0.0.0.0"}),
        (["--chain-id", "31337"], {"NODE_CHAIN_ID": "31337"}),
        (["--block-time", "2"], {"NODE_MINING": "interval", "NODE_BLOCK_INTERVAL": "2"}),
        (["-b", "0.5"], {"NODE_MINING": "interval", "NODE_BLOCK_INTERVAL": "0.5"}),
        (["--no-mining"], {"NODE_MINING": "manual"}),
        (["--gas-limit", "12000000"], {"NODE_GAS_LIMIT": "12000000"}),
        (["--base-fee", "0"], {"NODE_BASE_FEE": "0"}),
        (["--block-base-fee-per-gas", "7"], {"NODE_BASE_FEE": "7"}),
        (["--hardfork", "London"], {"NODE_HARDFORK": "London"}),
        (["--genesis", "g.json", "--data-dir", "d"], {"NODE_GENESIS": "g.json", "NODE_DATA_DIR": "d"}),
        (["--state", "s.json"], {"NODE_STATE": "s.json"}),
        (["--quiet"], {"NODE_QUIET": "true"}),
        (["--silent"], {"NODE_QUIET": "true"}),
        (["--no-network"], {"NODE_NETWORK": "false"}),
        (["--config-out", "c.json"], {"NODE_CONFIG_OUT": "c.json"}),
        (["--allowed-hosts", "a,b", "--allowed-hosts", "c"], {"NODE_ALLOWED_HOSTS": "a,b,c"}),
    ],
)  # fmt: skip
def test_a_flag_is_its_variable(arguments: list[str], wanted: dict[str, str]) -> None:
    assert given(*arguments) == wanted


def test_omitted_flags_set_nothing() -> None:
    assert given() == {}


def test_flag_can_be_combined_with_its_implied_value() -> None:
    assert given("--block-time", "2", "--mining", "interval")["NODE_MINING"] == "interval"


@pytest.mark.parametrize("other", [["--no-mining"], ["--mining", "manual"]])
def test_contradictory_flags_are_refused(other: list[str]) -> None:
    with pytest.raises(ConflictingFlags) as refused:
        given("--block-time", "2", *other)

    assert str(refused.value) == (
        "--block-time means --mining interval, but --mining manual is given too: leave one of them out"
    )


def test_flags_win_over_the_environment() -> None:
    environ = {"NODE_HTTP_PORT": "9650", "NODE_MINING": "manual", "NODE_RATE_LIMIT": "7"}
    settings = read(NodeSettings, applied("--port", "1", "--block-time", "2", environ=environ))

    assert (settings.http_port, settings.cchain.mining, settings.cchain.block_interval) == (
        1,
        "interval",
        2.0,
    )
    assert settings.rate_limit == 7


@pytest.mark.parametrize(
    ("arguments", "environ", "port"),
    [
        (["--port", "8545"], {}, 0),
        (["--port", "8545", "--staking-port", "8546"], {}, 8546),
        (["--port", "8545"], {"NODE_STAKING_PORT": "8546"}, 8546),
        (["--port", "8545"], {"NODE_STAKING_PORT": "tcp://10.0.0.1:9651"}, 0),
        ([], {}, 9651),
        ([], {"NODE_HTTP_PORT": "8545"}, 9651),
    ],
)
def test_second_node_needs_only_one_port_setting(
    arguments: list[str], environ: dict[str, str], port: int
) -> None:
    assert read(NodeSettings, applied(*arguments, environ=environ)).peers.staking_port == port


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--port", "x"], "'x' was given; it must be a whole number from 0 to 65535"),
        (["--block-time", "0"], "'0' was given; it must be a number, 0.05 or more"),
        (
            ["--gas-limit", "3"],
            "'3' was given; it must be 0, or a whole number from 5000 to 2**63 - 1",
        ),
        (["--base-fee", "-2"], "'-2' was given; it must be a whole number, -1 or more"),
        (["--hardfork", "foo"], "'foo' was given; it must be one of frontier, homestead, "),
        (["--hardfork", "amsterdam"], "prague, osaka"),
        (
            ["--fork-transaction-hash", "0x12"],
            "'0x12' was given; it must be a transaction's hash, 0x and 64 hexadecimal digits",
        ),
        (["--mining", "fast"], "'fast' was given; it must be one of auto, interval, manual"),
        (
            ["--client-name", "two words"],
            "it must be a name without blanks, of 64 characters at most",
        ),
        (["--prot", "1"], "unrecognized arguments: --prot 1"),
        (["--por", "1"], "unrecognized arguments: --por 1"),
        (["--block-time", "2", "--no-mining"], "--block-time means --mining interval"),
        (["--port"], "expected one argument"),
    ],
)
def test_wrong_flag_ends_the_start_with_a_message(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changed: dict[str, str] = {}
    with pytest.raises(SystemExit) as ended:
        cli.apply(arguments, changed, "node")

    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert words in said
    assert changed == {}


def test_help_names_flags_with_their_variables(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.apply(["--help"], {}, "node")

    said = capsys.readouterr().out
    assert ended.value.code == 0
    for row in option_table(NodeSettings):
        assert f"({row.variable})" in " ".join(said.split())
        assert all(option in said for option in row.options)


def test_the_table_of_flags_is_that_of_the_documents() -> None:
    assert flags_markdown() in (BASE_DIR / "docs/settings.md").read_text()


@pytest.mark.parametrize(
    ("argv", "run"),
    [
        ([], ["runnode"]),
        (["--port", "1"], ["runnode", "--port", "1"]),
        (["runnode", "-p", "1"], ["runnode", "-p", "1"]),
        (["run", "-p", "1"], ["runnode", "-p", "1"]),
        (["manage", "changepassword", "x"], ["changepassword", "x"]),
        (["manage"], ["help"]),
    ],
)
def test_without_a_commands_name_the_node_starts(
    argv: list[str], run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Any] = []
    monkeypatch.setattr("django.core.management.execute_from_command_line", ran.append)
    environ: dict[str, str] = {}
    monkeypatch.setattr(cli, "os", module_with(os, environ=environ))
    monkeypatch.setattr(cli, "choose_settings", lambda: ran.append(dict(environ)))
    # A start switches garbage collection off, which the following tests need.
    collector = SimpleNamespace(disable=lambda: None, set_threshold=lambda *_: None)
    monkeypatch.setattr(cli, "gc", collector)

    cli.main(argv, program="node")

    # The options are in the environment before any code chooses settings by it.
    assert ran[0].get("NODE_HTTP_PORT") == ("1" if "1" in argv else None)
    assert ran[1] == ["node manage" if argv[:1] == ["manage"] else "node", *run]
