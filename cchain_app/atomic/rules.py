"""Verification of atomic transactions, first without state, then on a base fee and shared memory (atomic.md 6).

The rules are those of Banff with Apricot phase 5's gas limit, from the first block on; blocks of coreth before Banff have
those of their era (`eras`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from cchain_app.atomic.eras import BANFF, AtomicEra
from cchain_app.atomic.errors import AtomicReason
from cchain_app.atomic.fees import fee_of, gas_used, input_amount, output_amount
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import (
    CODEC,
    AtomicTx,
    EvmInput,
    EvmOutput,
    UnsignedExportTx,
    UnsignedImportTx,
)
from primitives.ids import EMPTY_ID, ID, P_CHAIN_ID
from primitives.secp256k1 import SignatureError, recover_evm_address
from utxo.components import UTXO, Credential, SignatureCredential, TransferInput, TransferOutput
from utxo.errors import InvalidTx, RefusedCredential, UtxoReason
from utxo.spending import AssetFlow, SignerRecovery, verify_transfer
from utxo.well_formed import (
    is_strictly_increasing,
    verify_transferable_inputs,
    verify_transferable_outputs,
)

Exported = Callable[[ID, Collection[ID]], Mapping[ID, UTXO]]
"""Returns those of the UTXOs that a chain has exported to this one: `SharedMemory.get` for this destination."""


class MissingAtomicUtxo(InvalidTx):
    """An import of an output whose export this node has not accepted, or that is imported already.

    Other nodes may know the export already, so a block with this import may be valid a moment later.
    """


class _OfAccount(Protocol):
    """An input or output of an account."""

    @property
    def amount(self) -> int: ...
    @property
    def asset_id(self) -> ID: ...


def verify_syntax(
    unsigned: UnsignedImportTx | UnsignedExportTx,
    parameters: AtomicParameters,
    era: AtomicEra = BANFF,
) -> None:
    """Check a transaction without state, by the rules of an era.

    Raises:
        InvalidTx: It is malformed; the reason says why.
    """
    if isinstance(unsigned, UnsignedImportTx):
        _verify_import_syntax(unsigned, parameters, era)
    else:
        _verify_export_syntax(unsigned, parameters, era)


def verify(
    tx: AtomicTx,
    parameters: AtomicParameters,
    *,
    base_fee: int,
    now: int,
    exported: Exported,
    decided: bool = False,
    era: AtomicEra = BANFF,
) -> None:
    """Check a well-formed transaction: its fee, its credentials, and the outputs that it imports.

    Unspecified: locktimes are compared with the block's time, where the reference uses each node's own clock.

    Args:
        tx: The transaction, after `verify_syntax`.
        parameters: The network's values.
        base_fee: The block's base fee, in wei per gas.
        now: The block's time in Unix seconds.
        exported: Reads shared memory.
        decided: Whether the network has accepted the block. Then an import whose outputs are not here yet passes, and its
            signatures are not checked, because their owners are not known.
        era: The rules of the block's time.

    Raises:
        MissingAtomicUtxo: An imported output is not in shared memory.
        InvalidTx: The reason says why.
    """
    is_import = isinstance(tx.unsigned, UnsignedImportTx)
    fee = era.import_fee if is_import else era.export_fee
    if era.dynamic_fee:
        gas = gas_used(tx, has_fixed_gas=era.fixed_gas)
        fee = fee_of(gas, base_fee, parameters.wei_per_unit)
    if isinstance(tx.unsigned, UnsignedImportTx):
        _verify_import(
            tx, tx.unsigned, parameters, fee, now=now, exported=exported, decided=decided
        )
    else:
        _verify_export(tx, tx.unsigned, parameters, fee)


def verify_no_conflicts(txs: Sequence[AtomicTx]) -> None:
    """Check that no two transactions spend the same output, or the same nonce of an account.

    Raises:
        InvalidTx: Two of them conflict.
    """
    keys = [key for tx in txs for key in tx.conflict_keys]
    if len({*keys}) < len(keys):
        raise InvalidTx(AtomicReason.CONFLICT_IN_BLOCK)


def _verify_place(
    unsigned: UnsignedImportTx | UnsignedExportTx, parameters: AtomicParameters
) -> None:
    if unsigned.network_id != parameters.network_id:
        raise InvalidTx(AtomicReason.WRONG_NETWORK_ID)
    if unsigned.blockchain_id != parameters.blockchain_id:
        raise InvalidTx(AtomicReason.WRONG_CHAIN_ID)


def _is_peer(chain_id: ID, parameters: AtomicParameters, era: AtomicEra) -> bool:
    return chain_id in parameters.peers and (era.platform_chain or chain_id != P_CHAIN_ID)


def _verify_import_syntax(
    unsigned: UnsignedImportTx, parameters: AtomicParameters, era: AtomicEra
) -> None:
    if not unsigned.imported_inputs:
        raise InvalidTx(AtomicReason.NO_IMPORTED_INPUTS)
    _verify_place(unsigned, parameters)
    if era.needs_outputs and not unsigned.outputs:
        raise InvalidTx(AtomicReason.NO_EVM_OUTPUTS)
    if not _is_peer(unsigned.source_chain, parameters, era):
        raise InvalidTx(AtomicReason.WRONG_CHAIN_ID)
    for made in unsigned.outputs:
        try:
            _verify_amount(made, UtxoReason.OUTPUT_WITHOUT_VALUE)
        except InvalidTx as cause:
            raise InvalidTx(AtomicReason.MALFORMED_EVM_OUTPUT, cause=cause) from cause
        if made.asset_id != parameters.asset_id and not era.other_assets:
            raise InvalidTx(AtomicReason.OTHER_ASSET_IN_IMPORT_OUTPUT)
    for spent in unsigned.imported_inputs:
        try:
            verify_transferable_inputs((spent,))
        except InvalidTx as cause:
            raise InvalidTx(AtomicReason.MALFORMED_IMPORTED_INPUT, cause=cause) from cause
        if spent.asset_id != parameters.asset_id and not era.other_assets:
            raise InvalidTx(AtomicReason.OTHER_ASSET_IN_IMPORT_INPUT)
    if not is_strictly_increasing(
        (spent.tx_id, spent.output_index) for spent in unsigned.imported_inputs
    ):
        raise InvalidTx(UtxoReason.INPUTS_NOT_SORTED)
    _verify_order(unsigned, era)


def _verify_order(unsigned: UnsignedImportTx, era: AtomicEra) -> None:
    places = list(map(_place, unsigned.outputs))
    if era.unique_outputs:
        if not is_strictly_increasing(places):
            raise InvalidTx(AtomicReason.EVM_OUTPUTS_NOT_SORTED)
    elif era.sorted_outputs and places != sorted(places):
        raise InvalidTx(AtomicReason.EXPORTED_OUTPUTS_NOT_SORTED)


def _verify_export_syntax(
    unsigned: UnsignedExportTx, parameters: AtomicParameters, era: AtomicEra
) -> None:
    if not unsigned.exported_outputs:
        raise InvalidTx(AtomicReason.NO_EXPORTED_OUTPUTS)
    _verify_place(unsigned, parameters)
    if not _is_peer(unsigned.destination_chain, parameters, era):
        raise InvalidTx(AtomicReason.WRONG_CHAIN_ID)
    for spent in unsigned.inputs:
        _verify_amount(spent, UtxoReason.INPUT_WITHOUT_VALUE)
        if spent.asset_id != parameters.asset_id and not era.other_assets:
            raise InvalidTx(AtomicReason.OTHER_ASSET_IN_EXPORT_INPUT)
    for made in unsigned.exported_outputs:
        verify_transferable_outputs((made,), CODEC)
        if made.asset_id != parameters.asset_id:
            if unsigned.destination_chain == P_CHAIN_ID:
                raise InvalidTx(AtomicReason.WRONG_CHAIN_ID)
            if not era.other_assets:
                raise InvalidTx(AtomicReason.OTHER_ASSET_IN_EXPORT_OUTPUT)
    try:
        verify_transferable_outputs(unsigned.exported_outputs, CODEC)
    except InvalidTx as cause:
        raise InvalidTx(AtomicReason.EXPORTED_OUTPUTS_NOT_SORTED) from cause
    if era.sorted_inputs and not is_strictly_increasing(map(_place, unsigned.inputs)):
        raise InvalidTx(UtxoReason.INPUTS_NOT_SORTED)


def _verify_amount(of_account: _OfAccount, without_value: UtxoReason) -> None:
    if of_account.amount == 0:
        raise InvalidTx(without_value)
    if of_account.asset_id == EMPTY_ID:
        raise InvalidTx(UtxoReason.EMPTY_ASSET_ID)


def _place(of_account: EvmInput | EvmOutput) -> tuple[bytes, ID]:
    """Return the sort key, so that an account is in a list once for each asset."""
    return of_account.address, of_account.asset_id


def _verify_import(
    tx: AtomicTx,
    unsigned: UnsignedImportTx,
    parameters: AtomicParameters,
    fee: int,
    *,
    now: int,
    exported: Exported,
    decided: bool,
) -> None:
    inputs = unsigned.imported_inputs
    flow = AssetFlow({parameters.asset_id: fee})
    for spent in inputs:
        flow.consume(spent.asset_id, input_amount(spent))
    for made in unsigned.outputs:
        flow.produce(made.asset_id, made.amount)
    _verify_flow(flow, AtomicReason.IMPORT_FLOW)
    if len(tx.credentials) != len(inputs):
        raise InvalidTx(
            AtomicReason.IMPORT_CREDENTIALS, inputs=len(inputs), credentials=len(tx.credentials)
        )
    utxos = exported(unsigned.source_chain, [spent.utxo_id for spent in inputs])
    if len(utxos) < len(inputs):
        if decided:
            return
        raise MissingAtomicUtxo(AtomicReason.SHARED_UTXO_MISSING, chain_id=unsigned.source_chain)
    signers = SignerRecovery(tx.digest)
    for spent, credential in zip(inputs, tx.credentials, strict=True):
        utxo = utxos[spent.utxo_id]
        if utxo.asset_id != spent.asset_id:
            raise InvalidTx(AtomicReason.ASSET_MISMATCH)
        _verify_transfer(signers, spent.input, credential, utxo, now)


def _verify_transfer(
    signers: SignerRecovery, spent: object, credential: Credential, utxo: UTXO, now: int
) -> None:
    assert isinstance(spent, TransferInput)
    assert isinstance(utxo.output, TransferOutput)
    try:
        verify_transfer(signers, spent, credential, utxo.output, now)
    except RefusedCredential as cause:
        raise InvalidTx(AtomicReason.TRANSFER_NOT_VERIFIED, cause=cause) from cause


def _verify_export(
    tx: AtomicTx, unsigned: UnsignedExportTx, parameters: AtomicParameters, fee: int
) -> None:
    flow = AssetFlow({parameters.asset_id: fee})
    for spent in unsigned.inputs:
        flow.consume(spent.asset_id, spent.amount)
    for made in unsigned.exported_outputs:
        flow.produce(made.asset_id, output_amount(made))
    _verify_flow(flow, AtomicReason.EXPORT_FLOW)
    if len(tx.credentials) != len(unsigned.inputs):
        raise InvalidTx(
            AtomicReason.EXPORT_CREDENTIALS,
            inputs=len(unsigned.inputs),
            credentials=len(tx.credentials),
        )
    for spent, credential in zip(unsigned.inputs, tx.credentials, strict=True):
        assert isinstance(credential, SignatureCredential)
        if len(credential.signatures) != 1:
            raise InvalidTx(AtomicReason.WRONG_SIGNATURE_COUNT, count=len(credential.signatures))
        try:
            signer = recover_evm_address(tx.digest, credential.signatures[0])
        except SignatureError as cause:
            raise InvalidTx(AtomicReason.UNRECOVERABLE_EVM_SIGNER, cause=cause) from cause
        if signer != spent.address:
            raise InvalidTx(AtomicReason.WRONG_EVM_SIGNER)


def _verify_flow(flow: AssetFlow, reason: AtomicReason) -> None:
    try:
        flow.verify()
    except InvalidTx as cause:
        raise InvalidTx(reason, cause=cause) from cause
