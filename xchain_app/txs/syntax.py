"""Syntactic rules: the checks of a transaction that need no state, in the reference's order (xchain.md 7).

The order decides which of several faults the error names: first the rules of the kind of transaction that need no other
field, then the base fields, inputs and outputs, the amounts, states and operations, and the number of credentials.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Any, Final

from primitives.codec import INTERFACE
from primitives.ids import EMPTY_ID, ID
from utxo.components import TransferableInput, TransferableOutput, TransferInput, UtxoContent
from utxo.components import TransferOutput as Coins
from utxo.errors import InvalidTx, UtxoReason
from utxo.spending import AssetFlow
from utxo.well_formed import (
    is_strictly_increasing,
    verify_transferable_inputs,
    verify_transferable_outputs,
)
from xchain_app.config import AvmEnv
from xchain_app.txs.base import (
    AssetOperation,
    AssetState,
    AvmBaseTx,
    AvmExportTx,
    AvmImportTx,
    AvmTx,
    CreateAssetTx,
    OperationTx,
    credentials_needed,
)
from xchain_app.txs.codec import CODEC
from xchain_app.txs.errors import AvmSyntaxReason
from xchain_app.txs.extensions import EXTENSION_IDS
from xchain_app.txs.well_formed import verify_content, verify_operation

MAX_MEMO_SIZE: Final = 256
MAX_NAME_SIZE: Final = 128
MAX_SYMBOL_SIZE: Final = 4
MAX_DENOMINATION: Final = 32

_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters that the reference removes around a name."""
_NAME = re.compile(r"[A-Za-z0-9 ]*")
_SYMBOL = re.compile(r"[A-Z]*")
_CONTENT = Annotated[UtxoContent, INTERFACE]


def verify_syntax(tx: AvmTx, env: AvmEnv) -> None:
    """Check a transaction without state.

    Raises:
        InvalidTx: The transaction is malformed; the reason says why.
    """
    unsigned = tx.unsigned
    kind = type(unsigned)
    _FIRST[kind](unsigned)
    _verify_base(unsigned, env)
    _verify_amounts(unsigned, env)
    if isinstance(unsigned, CreateAssetTx):
        _verify_states(unsigned.initial_states)
    elif isinstance(unsigned, OperationTx):
        _verify_operations(unsigned)
    needed = credentials_needed(unsigned)
    if len(tx.credentials) != needed:
        raise InvalidTx(
            AvmSyntaxReason.WRONG_NUMBER_OF_CREDENTIALS,
            credentials=len(tx.credentials),
            needed=needed,
        )


def fee_of(unsigned: AvmBaseTx, env: AvmEnv) -> int:
    """Return the fee of a transaction, in the smallest unit of the fee asset."""
    if isinstance(unsigned, CreateAssetTx):
        return env.config.create_asset_tx_fee
    return env.config.tx_fee


def flow_of(unsigned: AvmBaseTx, produced: dict[ID, int] | None = None) -> AssetFlow:
    """Return the amounts that a transaction consumes and produces by inputs and outputs.

    Args:
        unsigned: The transaction.
        produced: Amounts that count as produced besides, such as the fee.
    """
    flow = AssetFlow(produced)
    for outputs in _output_lists(unsigned):
        for output in outputs:
            assert isinstance(output.output, Coins)
            flow.produce(output.asset_id, output.output.amount)
    for inputs in _input_lists(unsigned):
        for spent in inputs:
            assert isinstance(spent.input, TransferInput)
            flow.consume(spent.asset_id, spent.input.amount)
    return flow


def _verify_nothing(_unsigned: AvmBaseTx) -> None:
    """Accept a transaction without rules of its own kind."""


def _verify_asset(unsigned: CreateAssetTx) -> None:
    for length, limit, too_short, too_long in (
        (_size(unsigned.name), MAX_NAME_SIZE,
         AvmSyntaxReason.NAME_TOO_SHORT, AvmSyntaxReason.NAME_TOO_LONG),
        (_size(unsigned.symbol), MAX_SYMBOL_SIZE,
         AvmSyntaxReason.SYMBOL_TOO_SHORT, AvmSyntaxReason.SYMBOL_TOO_LONG),
    ):  # fmt: skip
        if length == 0:
            raise InvalidTx(too_short)
        if length > limit:
            raise InvalidTx(too_long)
    if not unsigned.initial_states:
        raise InvalidTx(AvmSyntaxReason.NO_STATES)
    if unsigned.denomination > MAX_DENOMINATION:
        raise InvalidTx(AvmSyntaxReason.DENOMINATION_TOO_LARGE)
    if unsigned.name.strip(_SPACE) != unsigned.name:
        raise InvalidTx(AvmSyntaxReason.SURROUNDING_SPACE)
    if not _NAME.fullmatch(unsigned.name):
        raise InvalidTx(AvmSyntaxReason.ILLEGAL_NAME)
    if not _SYMBOL.fullmatch(unsigned.symbol):
        raise InvalidTx(AvmSyntaxReason.ILLEGAL_SYMBOL)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _verify_has_operations(unsigned: OperationTx) -> None:
    if not unsigned.operations:
        raise InvalidTx(AvmSyntaxReason.NO_OPERATIONS)


def _verify_has_imports(unsigned: AvmImportTx) -> None:
    if not unsigned.imported_inputs:
        raise InvalidTx(AvmSyntaxReason.NO_IMPORTED_INPUTS)


def _verify_has_exports(unsigned: AvmExportTx) -> None:
    if not unsigned.exported_outputs:
        raise InvalidTx(AvmSyntaxReason.NO_EXPORTED_OUTPUTS)


def _verify_base(unsigned: AvmBaseTx, env: AvmEnv) -> None:
    if unsigned.network_id != env.config.network_id:
        raise InvalidTx(AvmSyntaxReason.WRONG_NETWORK_ID)
    if unsigned.blockchain_id != env.chain_id:
        raise InvalidTx(AvmSyntaxReason.WRONG_CHAIN_ID)
    if len(unsigned.memo) > MAX_MEMO_SIZE:
        raise InvalidTx(AvmSyntaxReason.MEMO_TOO_LONG, size=len(unsigned.memo), limit=MAX_MEMO_SIZE)


def _verify_amounts(unsigned: AvmBaseTx, env: AvmEnv) -> None:
    """Check inputs and outputs, then that enough of each asset is consumed.

    A base input and an imported input may have the same ID here; the imported one is then missing in shared memory.
    """
    for outputs in _output_lists(unsigned):
        verify_transferable_outputs(outputs, CODEC)
    for inputs in _input_lists(unsigned):
        verify_transferable_inputs(inputs)
    flow_of(unsigned, {env.fee_asset_id: fee_of(unsigned, env)}).verify()


def _output_lists(unsigned: AvmBaseTx) -> tuple[Sequence[TransferableOutput], ...]:
    exported = unsigned.exported_outputs if isinstance(unsigned, AvmExportTx) else ()
    return unsigned.outputs, exported


def _input_lists(unsigned: AvmBaseTx) -> tuple[Sequence[TransferableInput], ...]:
    imported = unsigned.imported_inputs if isinstance(unsigned, AvmImportTx) else ()
    return unsigned.inputs, imported


def _verify_states(states: Sequence[AssetState]) -> None:
    for state in states:
        if state.fx_index >= len(EXTENSION_IDS):
            raise InvalidTx(AvmSyntaxReason.UNKNOWN_EXTENSION)
        for output in state.outputs:
            verify_content(output)
        keys = [content_key(output) for output in state.outputs]
        if not all(left <= right for left, right in pairwise(keys)):
            raise InvalidTx(UtxoReason.OUTPUTS_NOT_SORTED)
    if not is_strictly_increasing(state.fx_index for state in states):
        raise InvalidTx(AvmSyntaxReason.STATES_NOT_SORTED)


def _verify_operations(unsigned: OperationTx) -> None:
    spent = {(own.tx_id, own.output_index) for own in unsigned.inputs}
    for operation in unsigned.operations:
        references = [(item.tx_id, item.output_index) for item in operation.input_ids]
        if not is_strictly_increasing(references):
            raise InvalidTx(AvmSyntaxReason.REFERENCES_NOT_SORTED)
        if operation.asset_id == EMPTY_ID:
            raise InvalidTx(UtxoReason.EMPTY_ASSET_ID)
        verify_operation(operation.operation)
        if not spent.isdisjoint(references):
            raise InvalidTx(AvmSyntaxReason.DOUBLE_SPEND)
        spent.update(references)
    if not is_strictly_increasing(operation_key(item) for item in unsigned.operations):
        raise InvalidTx(AvmSyntaxReason.OPERATIONS_NOT_SORTED)


def operation_key(operation: AssetOperation) -> bytes:
    """Return the sort key of operations in a transaction: their bytes."""
    return CODEC.pack(operation)


def content_key(content: UtxoContent) -> bytes:
    """Return the sort key of outputs in a state of an asset: their bytes with the type ID."""
    return CODEC.pack(content, _CONTENT)


_FIRST: dict[type, Callable[[Any], None]] = {
    AvmBaseTx: _verify_nothing,
    CreateAssetTx: _verify_asset,
    OperationTx: _verify_has_operations,
    AvmImportTx: _verify_has_imports,
    AvmExportTx: _verify_has_exports,
}
