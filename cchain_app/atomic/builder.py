"""Building atomic transactions from keys and coins, as the reference's wallet methods do (atomic.md 10)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cchain_app.atomic.errors import BuildReason
from cchain_app.atomic.fees import GAS_PER_BYTE, GAS_PER_SIGNATURE, fee_of, gas_of
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import (
    EVM_INPUT_SIZE,
    EVM_OUTPUT_SIZE,
    AtomicTx,
    EvmInput,
    EvmOutput,
    UnsignedAtomicTx,
    UnsignedExportTx,
    UnsignedImportTx,
    build,
    sign_bytes,
)
from cchain_app.evm.engine import AccountState
from primitives.evm import Address
from primitives.hashing import sha256
from primitives.ids import ID, ShortID
from primitives.reasons import ErrorWithReason
from primitives.secp256k1 import address_of_private_key, sign_sha256
from utxo.coins import Keychain, OwnInput, Wallet, payment, sort_inputs
from utxo.components import UTXO, SignatureCredential, TransferInput

_GAS_OF_EVM_OUTPUT = EVM_OUTPUT_SIZE * GAS_PER_BYTE
_GAS_OF_EVM_INPUT = EVM_INPUT_SIZE * GAS_PER_BYTE + GAS_PER_SIGNATURE


class AtomicTxNotBuilt(ErrorWithReason):
    """Keys and coins do not suffice for the requested transaction."""


class Payment(NamedTuple):
    """An amount that is exported, its recipient, and the recipient's chain."""

    amount: int
    """In units."""
    to: ShortID
    chain: ID


def build_import(
    keychain: Keychain,
    utxos: Sequence[UTXO],
    *,
    source_chain: ID,
    to: Address,
    base_fee: int,
    now: int,
    parameters: AtomicParameters,
) -> AtomicTx:
    """Build an import of all given coins that the keys can spend, to one account.

    Args:
        keychain: The keys that sign.
        utxos: Outputs that the source chain has exported to this one.
        source_chain: The chain that exported them.
        to: The account that gets the imported amount without the fee.
        base_fee: In wei per gas.
        now: The time in Unix seconds that locktimes are compared with.
        parameters: The network's values.

    Raises:
        AtomicTxNotBuilt: The coins do not cover the fee, or nothing is left.
    """
    wallet = Wallet(keychain=keychain, utxos=utxos, change_address=ShortID(bytes(20)), now=now)
    # In Banff only the staking asset can be imported.
    candidates = (utxo for utxo in utxos if utxo.asset_id == parameters.asset_id)
    own = sort_inputs(spent for utxo in candidates if (spent := wallet.input_for(utxo)) is not None)
    amount = sum(_amount(spent) for spent in own)

    def unsigned(outputs: tuple[EvmOutput, ...]) -> UnsignedImportTx:
        return UnsignedImportTx(
            parameters.network_id,
            parameters.blockchain_id,
            source_chain,
            tuple(spent.input for spent in own),
            outputs,
        )

    signatures = sum(len(spent.signers) for spent in own)
    gas = gas_of(len(sign_bytes(unsigned(()))), signatures)
    if amount < fee_of(gas, base_fee, parameters.wei_per_unit):
        raise AtomicTxNotBuilt(BuildReason.FEE_NOT_COVERED)
    fee = fee_of(gas + _GAS_OF_EVM_OUTPUT, base_fee, parameters.wei_per_unit)
    if amount <= fee:
        raise AtomicTxNotBuilt(BuildReason.NO_EVM_OUTPUTS)
    final = unsigned((EvmOutput(to, amount - fee, parameters.asset_id),))
    signed = keychain.sign_inputs(sha256(sign_bytes(final)), (spent.signers for spent in own))
    return build(final, [SignatureCredential(signatures) for signatures in signed])


def build_export(
    keys: Iterable[bytes],
    accounts: Mapping[Address, AccountState],
    payment_to: Payment,
    *,
    base_fee: int,
    parameters: AtomicParameters,
) -> AtomicTx:
    """Build an export of an amount; the accounts of the keys pay in the given order.

    There is no change: the last account pays exactly the missing amount.

    Args:
        keys: Private keys of 32 bytes.
        accounts: The state of their accounts; a missing one is empty.
        payment_to: The exported amount and its recipient.
        base_fee: In wei per gas.
        parameters: The network's values.

    Raises:
        AtomicTxNotBuilt: The accounts have too little.
    """
    outputs = (payment(parameters.asset_id, payment_to.amount, payment_to.to),)

    def unsigned(inputs: tuple[EvmInput, ...]) -> UnsignedExportTx:
        return UnsignedExportTx(
            parameters.network_id, parameters.blockchain_id, payment_to.chain, inputs, outputs
        )

    def fee(gas: int) -> int:
        return fee_of(gas, base_fee, parameters.wei_per_unit)

    gas = gas_of(len(sign_bytes(unsigned(()))), 0)
    needed = payment_to.amount + fee(gas)
    paying: list[tuple[EvmInput, bytes]] = []
    for key in keys:
        if needed == 0:
            break
        more = fee(gas + _GAS_OF_EVM_INPUT) - fee(gas)
        address = address_of_private_key(key)
        account = accounts.get(address)
        balance = 0 if account is None else account.balance // parameters.wei_per_unit
        if account is None or balance <= more:
            continue
        gas += _GAS_OF_EVM_INPUT
        needed += more
        amount = min(balance, needed)
        needed -= amount
        spent = EvmInput(address, amount, parameters.asset_id, account.nonce)
        paying.append((spent, key))
    if needed:
        raise AtomicTxNotBuilt(BuildReason.INSUFFICIENT_FUNDS)
    paying.sort(key=lambda pair: (pair[0].address, pair[0].asset_id))
    final = unsigned(tuple(spent for spent, _ in paying))
    return _signed_by(final, [key for _, key in paying])


def _signed_by(unsigned: UnsignedAtomicTx, keys: Sequence[bytes]) -> AtomicTx:
    digest = sha256(sign_bytes(unsigned))
    return build(unsigned, [SignatureCredential((sign_sha256(digest, key),)) for key in keys])


def _amount(spent: OwnInput) -> int:
    assert isinstance(spent.input.input, TransferInput)
    return spent.input.input.amount
