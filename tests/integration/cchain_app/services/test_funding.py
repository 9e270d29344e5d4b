"""Accounts funded at genesis of a local network: the settings of the first start decide, permanently."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from cchain_app.accounts.keyring import DERIVATION_PATH, EWOQ, MNEMONIC, KeyringError, KeyringReason
from cchain_app.apps import evm_chain
from cchain_app.chain import EvmChain
from cchain_app.genesis import built_in_text, load_genesis
from cchain_app.local_genesis import local_text
from cchain_app.selectors import blocks, state
from cchain_app.services import genesis as service
from explorer_app.selectors.known_accounts import MAX_LISTED, of_evm, public_wallet
from nodeproject.apps import this_node
from nodeproject.management.initialise import initialise_or_explain
from primitives.evm import Address
from primitives.hexadecimal import checksum_address
from primitives.recursion import recursion_limit_restored
from tests.builders.cchain import JUNK_KEYS, SENDERS
from tests.builders.node_settings import updated
from tests.builders.reasons import raises

with recursion_limit_restored():
    from eth_account import Account

COIN = 10**18
OTHER = "legal winner thank year wave sausage worth useful legal winner thank yellow"
BUILT_IN = load_genesis(local_text())


def derived(mnemonic: str, number: int) -> Address:
    Account.enable_unaudited_hdwallet_features()
    path = f"{DERIVATION_PATH}{number}"
    return Address(bytes.fromhex(Account.from_mnemonic(mnemonic, account_path=path).address[2:]))


@pytest.fixture
def begin(db: None, node_settings: Any, settings: Any, tmp_path: Path) -> Any:
    """Start the node with settings, on the test's own data directory; a second call is a restart."""

    def start(**changes: Any) -> EvmChain:
        settings.NODE = updated(node_settings, data_dir=str(tmp_path), **changes)
        chain = evm_chain()
        service.load_genesis(chain)
        return chain

    return start


def balance(chain: EvmChain, address: Address) -> int:
    account = state.state_at(chain, blocks.head(chain).number).account(address)
    return 0 if account is None else account.balance


def test_default_genesis_is_the_built_in_file(begin: Any, tmp_path: Path) -> None:
    chain = begin()

    assert chain.genesis.alloc == BUILT_IN.alloc
    assert not list(tmp_path.rglob("cchain.json"))
    assert [balance(chain, sender) for sender in SENDERS] == [10_000 * COIN] * len(SENDERS)


def test_the_settings_accounts_have_the_settings_balance(begin: Any) -> None:
    chain = begin(mnemonic=OTHER, accounts=3, balance=7)

    assert [balance(chain, derived(OTHER, number)) for number in range(4)] == [7 * COIN] * 3 + [0]
    assert [balance(chain, sender) for sender in SENDERS] == [0] * len(SENDERS)
    assert balance(chain, EWOQ) == BUILT_IN.alloc[EWOQ].balance
    code = {address for address, one in BUILT_IN.alloc.items() if one.code}
    assert {item: chain.genesis.alloc[item] for item in code} == {
        other: BUILT_IN.alloc[other] for other in code
    }


def test_more_accounts_of_the_known_mnemonic_are_added(begin: Any) -> None:
    chain = begin(accounts=12)

    assert set(chain.genesis.alloc) - set(BUILT_IN.alloc) == {
        derived(MNEMONIC, 10),
        derived(MNEMONIC, 11),
    }
    assert len(chain.keyring) == 13


def test_number_and_balance_of_accounts_can_be_set(begin: Any) -> None:
    chain = begin(accounts=1, balance=0)

    assert [balance(chain, sender) for sender in SENDERS] == [0] * len(SENDERS)
    assert set(BUILT_IN.alloc) - set(chain.genesis.alloc) == {
        derived(MNEMONIC, number) for number in range(1, 10)
    }


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"accounts": 2, "balance": 5}, {}),
        ({}, {"accounts": 20, "balance": 5}),
        ({"mnemonic": OTHER}, {"accounts": 1}),
    ],
)
def test_a_later_start_with_other_settings_continues_with_the_chain(
    begin: Any, first: dict[str, Any], then: dict[str, Any]
) -> None:
    head = blocks.head(begin(**first))
    alloc = begin(**first).genesis.alloc
    chain = begin(**then)

    assert blocks.head(chain) == head
    assert chain.genesis.alloc == alloc
    assert len(chain.keyring) == then.get("accounts", 10) + 1


def test_custom_genesis_file_is_used_unchanged(begin: Any, tmp_path: Path) -> None:
    document = json.loads(built_in_text("local"))
    document["alloc"] = {"0x" + "77" * 20: {"balance": "0x1"}}
    (tmp_path / "own.json").write_text(json.dumps(document))
    chain = begin(genesis=str(tmp_path / "own.json"), accounts=2)

    assert set(chain.genesis.alloc) == {Address(b"\x77" * 20)}
    assert len(chain.keyring) == 3


def test_another_network_has_neither_keys_nor_their_coins(begin: Any) -> None:
    chain = begin(network_id=1, accounts=2, mnemonic="no words at all")

    assert len(chain.keyring) == 0
    assert not chain.is_development
    assert chain.genesis.alloc == load_genesis(built_in_text("mainnet")).alloc


def test_invalid_mnemonic_starts_no_chain(begin: Any, tmp_path: Path) -> None:
    with raises(KeyringReason.MNEMONIC, kind=KeyringError):
        begin(mnemonic="correct horse battery staple")

    assert not list(tmp_path.rglob("cchain.json"))
    with pytest.raises(blocks.NoGenesis):
        blocks.head(evm_chain())


def test_invalid_mnemonic_is_explained_without_repeating_it(
    transactional_db: None, node_settings: Any, settings: Any, tmp_path: Path
) -> None:
    settings.NODE = updated(
        node_settings, data_dir=str(tmp_path), mnemonic="correct horse battery staple"
    )
    with pytest.raises(CommandError, match="NODE_MNEMONIC is not a BIP-39 mnemonic") as refusal:
        initialise_or_explain(this_node())
    assert "horse" not in str(refusal.value)


def test_genesis_for_other_nodes_has_the_same_accounts(begin: Any) -> None:
    chain = begin(accounts=1, balance=3)

    given = load_genesis(service.genesis_text(chain))
    assert given.alloc == chain.genesis.alloc
    assert given.alloc[SENDERS[0]].balance == 3 * COIN


def test_a_new_networks_files_have_the_settings_accounts(
    node_settings: Any, settings: Any, tmp_path: Path
) -> None:
    settings.NODE = updated(node_settings, data_dir=str(tmp_path / "data"), accounts=1, balance=3)
    found = load_genesis(evm_chain().new_local_file())
    assert found.alloc[SENDERS[0]].balance == 3 * COIN


def test_the_list_shows_the_known_accounts_with_their_keys(begin: Any) -> None:
    chain = begin()
    shown = {line.address: line.key for line in of_evm(chain)}

    assert list(shown)[:5] == [checksum_address(sender) for sender in SENDERS]
    assert [shown[checksum_address(item)] for item in SENDERS] == [
        f"0x{key.hex()}" for key in JUNK_KEYS
    ]
    assert list(shown)[10] == checksum_address(EWOQ)
    assert public_wallet(chain) == (MNEMONIC, DERIVATION_PATH)


def test_the_list_shows_no_key_of_somebodys_own_mnemonic(begin: Any) -> None:
    chain = begin(mnemonic=OTHER, accounts=2)
    shown = {line.address: line for line in of_evm(chain)}

    own = shown[checksum_address(derived(OTHER, 0))]
    assert (own.key, own.note) == (None, "derived from NODE_MNEMONIC")
    ewoq = shown[checksum_address(EWOQ)].key
    assert ewoq is not None
    assert ewoq.startswith("0x56289e99")
    assert public_wallet(chain) is None


def test_keys_at_another_path_of_the_public_mnemonic_are_not_shown(begin: Any) -> None:
    assert public_wallet(begin(derivation_path="m/44'/60'/1'/0/", accounts=1)) is None


@pytest.mark.node_settings(profile="embedded")
def test_account_list_is_limited_and_marks_unfunded_accounts(begin: Any) -> None:
    begin()
    lines = list(of_evm(begin(accounts=40)))

    assert len(lines) == MAX_LISTED + 1
    assert lines[-1] == ("", None, "21 more, listed by eth_accounts")
    poor = [line for line in lines if line.note.endswith("no coins: not in the genesis")]
    assert len(poor) == 10
