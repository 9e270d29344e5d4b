"""The first start, the second one, an impossible one, and files that only the owner may read."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from cchain_app.accounts.keyring import EWOQ
from cchain_app.apps import evm_chain
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.selectors import blocks
from nodeproject.apps import this_node
from nodeproject.management.banner import banner_of
from nodeproject.management.initialise import initialise
from nodeproject.startup.process import CannotStart, StartReason
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.services import genesis
from platform_app.services.errors import GenesisMismatch, GenesisMismatchReason
from primitives.codec_errors import CodecError, CodecReason
from primitives.hexadecimal import checksum_address
from primitives.keys import DEV_KEYS, EWOQ_KEY, address_of
from primitives.product import BASE_DIR
from tests.builders.node_settings import updated
from xchain_app.selectors import outputs

OTHER = "legal winner thank year wave sausage worth useful legal winner thank yellow"


@pytest.fixture
def empty_directory(
    transactional_db: None, node_settings: Any, settings: Any, tmp_path: Path
) -> Path:
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path))
    return tmp_path


def test_a_first_start_makes_chain_and_admin(empty_directory: Path) -> None:
    initialise(this_node())

    assert blocks.head(evm_chain()).number == 0
    password = this_node().settings.password_path.read_text().strip()
    user = authenticate(username="admin", password=password)
    assert user is not None
    assert user.is_superuser


def test_password_file_is_readable_by_the_owner_only(empty_directory: Path) -> None:
    initialise(this_node())

    assert stat.S_IMODE(this_node().settings.password_path.stat().st_mode) == 0o600
    assert len(this_node().settings.password_path.read_text().strip()) >= 24


@pytest.mark.parametrize("consensus", ["sole", "snowman"])
def test_funded_accounts_are_shown_with_keys(
    empty_directory: Path, settings: Any, capsys: pytest.CaptureFixture[str], consensus: str
) -> None:
    settings.NODE = updated(settings.NODE, consensus=consensus)
    initialise(this_node())
    capsys.readouterr()

    banner_of(this_node())("http://127.0.0.1:9650")

    shown = capsys.readouterr().out
    funded = {one: key for one, key in DEV_KEYS.items() if one in evm_chain().genesis.alloc}
    assert funded
    for address, key in funded.items():
        balance = 50_000_000 if address == EWOQ else 10_000
        assert f"{checksum_address(address)}  {balance} AVAX\n" in shown
        assert f"  {key}\n" in shown
    assert bool(evm_chain().keyring) == (consensus == "sole")
    assert ("  Mnemonic         test test" in shown) == (consensus == "sole")
    for line in (
        "  Chain ID   43112\n", "  Hard fork  osaka\n", "  Base fee   1000000000 wei\n",
        "  Gas limit  30000000\n", "  Explorer       http://127.0.0.1:9650/\n",
        "  API reference  http://127.0.0.1:9650/ext/docs\n",
        "  Keystore       http://127.0.0.1:9650/ext/keystore\n",
        "  Metrics        http://127.0.0.1:9650/ext/metrics\n",
    ):  # fmt: skip
        assert line in shown


def test_the_banner_is_printed_as_markdown_tables(
    empty_directory: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.NODE = updated(settings.NODE, markdown=True)
    initialise(this_node())
    capsys.readouterr()

    banner_of(this_node())("http://127.0.0.1:9650")

    sections = capsys.readouterr().out.split("## ")[1:]
    assert [text.partition("\n")[0].partition(" ")[0] for text in sections] == [
        "Nunatak", "Accounts", "Private", "Wallet", "Funded", "On", "URLs",
    ]  # fmt: skip
    for text in sections:
        _, _, head, line, *rows = text.rstrip("\n").split("\n")
        assert (head, line) == ("| | |", "|---|---|")
        assert rows
        assert all(row.count(" | ") == 1 for row in rows)
    assert "| Explorer | http://127.0.0.1:9650/ |" in sections[-1]


@pytest.mark.node_settings(profile="embedded")
@pytest.mark.parametrize("balance", [25, 10**6, 0])
def test_the_mnemonics_accounts_have_coins_on_the_x_chain(
    empty_directory: Path, settings: Any, capsys: pytest.CaptureFixture[str], balance: int
) -> None:
    settings.NODE = updated(settings.NODE, balance=balance)
    initialise(this_node())
    capsys.readouterr()
    banner_of(this_node())("http://127.0.0.1:9650")

    shown = capsys.readouterr().out.partition("On the X-Chain")[2]
    chain, keyring = this_node().avm_chain, evm_chain().keyring
    asset = chain.stored().fee_asset_id
    owners = [address_of(keyring.key_of(account)) for account in keyring if account != EWOQ]
    assert len(owners) == 10
    given = min(balance, 10_000)
    for owner in owners:
        owned = outputs.balance(chain.db, owner, asset, now=0, with_partial=False)
        assert owned.amount == given * 10**6
    words = f"{given:,} AVAX, and so on" if given else "no coins: the network began without them"
    assert f"{chain.address(owners[0])}  {words}" in shown
    assert f"{chain.address(address_of(EWOQ_KEY))}  999,9" in shown


# Only the embedded profile signs with the keys of the mnemonic.
@pytest.mark.node_settings(profile="embedded")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        (
            {"mnemonic": OTHER},
            "may not use the keys of NODE_MNEMONIC; origins named in NODE_ALLOWED_ORIGINS may: none",
        ),
        (
            {"mnemonic": OTHER, "allowed_origins": ("*", "https://a.example")},
            "NODE_MNEMONIC; origins named in NODE_ALLOWED_ORIGINS may: https://a.example",
        ),
        (
            {"mnemonic": OTHER, "faucet_key_file": "key"},
            "may not use the keys of NODE_MNEMONIC and NODE_FAUCET_KEY_FILE;",
        ),
        ({"mnemonic": OTHER, "development": False}, ""),
        ({"faucet_key_file": "key", "faucet": 0}, ""),
    ],
)
def test_start_warns_of_keys_that_web_pages_may_not_use(
    empty_directory: Path,
    *,
    settings: Any,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    said: str,
) -> None:
    settings.NODE = updated(settings.NODE, **changes)
    initialise(this_node())
    capsys.readouterr()

    banner_of(this_node())("http://127.0.0.1:9650")

    shown = capsys.readouterr().out
    assert ("Web pages" in shown) is bool(said)
    assert said in shown
    assert OTHER not in shown
    for address in evm_chain().keyring.addresses:
        key = evm_chain().keyring.key_of(address).hex()
        assert (key in shown) is (address == EWOQ or "mnemonic" not in changes)
    assert OTHER not in repr(settings.NODE)


def test_a_second_start_changes_nothing(empty_directory: Path) -> None:
    initialise(this_node())
    password, genesis = this_node().settings.password_path.read_text(), blocks.head(evm_chain())

    initialise(this_node())

    assert this_node().settings.password_path.read_text() == password
    assert blocks.catch_up(evm_chain()) == genesis
    assert get_user_model().objects.count() == 1


@pytest.mark.parametrize("missing", ["staker.crt", "staker.key", "signer.key"])
def test_another_machine_of_a_node_needs_its_identity(
    empty_directory: Path, *, missing: str
) -> None:
    initialise(this_node(), makes_identity=False)  # the first start of all: there is no node yet
    initialise(this_node(), makes_identity=False)
    file = empty_directory / "staking" / missing
    file.unlink()

    with pytest.raises(CannotStart) as refused:
        initialise(this_node(), makes_identity=False)

    assert str(refused.value) == (
        f"{file} is missing, and the database belongs to a node that has it: copy {file.parent} and secret_key from "
        "another machine of the node, or run init_node here to make a new identity"
    )
    assert not file.exists()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_existing_files_become_private(empty_directory: Path) -> None:
    empty_directory.chmod(0o755)
    database = Path(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        database.chmod(0o644)

    initialise(this_node())

    assert mode(empty_directory) == 0o700
    assert connection.vendor != "sqlite" or mode(database) == 0o600


def test_shared_sticky_directory_keeps_its_mode(empty_directory: Path) -> None:
    empty_directory.chmod(0o1777)

    initialise(this_node())

    assert mode(empty_directory) == 0o1777


def test_commands_create_no_files_readable_by_others(tmp_path: Path) -> None:
    """Not even a command that runs before the first start, with an umask that shares all files."""
    directory = tmp_path / "data"
    environment = {
        "PATH": os.environ["PATH"],
        "NODE_DATA_DIR": str(directory),
        "NODE_PROFILE": "embedded",
    }
    command = [sys.executable, str(BASE_DIR / "manage.py"), "showmigrations", "chaindb"]
    subprocess.run(command, env=environment, umask=0o022, check=True)

    assert mode(directory) == 0o700
    assert mode(directory / "node.sqlite3") == 0o600
    assert [path.name for path in directory.rglob("*") if mode(path) & 0o077] == []


def test_an_unusable_data_directory_is_reported_without_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    environment = {"PATH": os.environ["PATH"], "NODE_DATA_DIR": str(file)}
    command = [sys.executable, str(BASE_DIR / "manage.py"), "check"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    words = f"NODE_DATA_DIR or NODE_SECRET_KEY_FILE cannot be used: {file}: File exists\n"
    assert (ended.returncode, ended.stderr) == (1, words)


@pytest.mark.node_settings(platform_genesis="/nowhere/genesis.json", http_port=0, staking_port=0)
@pytest.mark.parametrize("command", ["init_node", "runnode"])
def test_missing_genesis_file_is_reported_without_traceback(
    empty_directory: Path, command: str
) -> None:
    with pytest.raises(CommandError, match=r"/nowhere/genesis\.json.*No such file"):
        call_command(command, skip_checks=True)


@pytest.mark.node_settings(http_port=0, staking_port=0)
@pytest.mark.parametrize("command", ["init_node", "runnode"])
@pytest.mark.parametrize(
    "reason",
    [
        PermissionError(13, "Permission denied", "/data/genesis.json"),
        CodecError(CodecReason.INPUT_TOO_LARGE, size=300_000, limit=262_144),
        GenesisError(PlatformGenesisReason.NO_SUPPLY),
        GenesisMismatch(GenesisMismatchReason.FILE_OF_OTHER_NETWORK, in_file=1, wanted=12345),
        GenesisFileError("gasLimit is missing"),
        CannotStart(StartReason.HALF_AN_IDENTITY),
        OperationalError("connection refused"),
    ],
    ids=lambda reason: type(reason).__name__,
)
def test_operator_errors_are_reported_without_a_traceback(
    empty_directory: Path, monkeypatch: pytest.MonkeyPatch, command: str, reason: Exception
) -> None:
    def refuse(*_arguments: object) -> None:
        raise reason

    monkeypatch.setattr(genesis, "load_genesis", refuse)

    with pytest.raises(CommandError) as refused:
        call_command(command, skip_checks=True)
    assert str(refused.value).endswith(str(reason))
    assert "\n" not in str(refused.value)
