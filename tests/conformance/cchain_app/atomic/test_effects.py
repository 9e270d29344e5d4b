"""What atomic transactions do to accounts, and how a wallet builds them (atomic.md 7, 10)."""

from typing import Any

import pytest

from cchain_app.atomic.builder import AtomicTxNotBuilt, Payment, build_export, build_import
from cchain_app.atomic.effects import debits, withdrawals
from cchain_app.atomic.transactions import CODEC, parse
from cchain_app.evm.engine import AccountState
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH
from primitives.hexadecimal import decode_address
from primitives.ids import P_CHAIN_ID, ShortID
from tests.conformance.atomic_vectors import cases
from tests.conformance.cchain_app.atomic.network import key, parameters_of
from utxo.coins import Keychain
from utxo.components import UTXO
from utxo.errors import InvalidTx


def accounts_of(values: dict[str, Any]) -> dict[Address, AccountState]:
    return {
        decode_address(address): AccountState(one["nonce"], int(one["balance"]), EMPTY_HASH)
        for address, one in values.items()
    }


class Accounts:
    """A state that has accounts only."""

    def __init__(self, accounts: dict[Address, AccountState]) -> None:
        self.accounts = accounts

    def account(self, address: Address) -> AccountState | None:
        return self.accounts.get(address)


@pytest.mark.parametrize("case", cases("state_transfer"))
def test_accounts_change_as_in_the_reference(case: dict[str, Any]) -> None:
    tx = parse(bytes.fromhex(case["signedBytes"]))
    accounts = accounts_of(case["before"])
    parameters = parameters_of(case)
    state: Any = Accounts(dict(accounts))
    if "error" in case:
        with pytest.raises(InvalidTx) as refused:
            debits([tx], state, parameters)
        assert str(refused.value) == case["error"]
        return
    for address, change in debits([tx], state, parameters).accounts.items():
        assert change.before == accounts[address]
        assert change.after is not None
        accounts[address] = change.after
    for withdrawal in withdrawals([tx], 0, parameters):
        account = accounts.get(withdrawal.address, AccountState(0, 0, EMPTY_HASH))
        accounts[withdrawal.address] = account._replace(balance=account.balance + withdrawal.wei)
    wanted = accounts_of(case["after"])
    nothing = AccountState(0, 0, EMPTY_HASH)
    assert {address: accounts.get(address, nothing) for address in wanted} == wanted


@pytest.mark.parametrize("case", cases("builder", kind="import"))
def test_imports_are_built_byte_for_byte(case: dict[str, Any]) -> None:
    def built() -> str:
        return build_import(
            Keychain.of([key(0), key(1)]),
            [CODEC.unmarshal(UTXO, bytes.fromhex(one["bytes"])) for one in case["utxos"]],
            source_chain=P_CHAIN_ID,
            to=decode_address(case["to"]),
            base_fee=int(case["baseFee"]),
            now=case["time"],
            parameters=parameters_of(case),
        ).raw.hex()

    _compare(case, built)


@pytest.mark.parametrize("case", cases("builder", kind="export"))
def test_exports_are_built_byte_for_byte(case: dict[str, Any]) -> None:
    def built() -> str:
        return build_export(
            [key(0), key(1), key(2)],
            accounts_of(case["state"]),
            Payment(case["amount"], ShortID(bytes.fromhex(case["to"])), P_CHAIN_ID),
            base_fee=int(case["baseFee"]),
            parameters=parameters_of(case),
        ).raw.hex()

    _compare(case, built)


def _compare(case: dict[str, Any], built: Any) -> None:
    if "error" not in case:
        assert built() == case["signedBytes"]
        return
    with pytest.raises(AtomicTxNotBuilt) as refused:
        built()
    assert str(refused.value) == case["error"]
