"""The P-Chain's checks of inputs, outputs and authorizations: like `utxo.well_formed`, with stakeable locks.

The rules are the second list of pchain.md 2.3.
"""

from collections.abc import Iterable, Sequence

from platform_app.txs.codec import CODEC
from platform_app.txs.components import Auth, AuthInput, LockIn, LockOut, inner_input, inner_output
from platform_app.txs.errors import TxSyntaxReason
from primitives.uint64 import MAX
from utxo.components import Input, TransferableInput, TransferableOutput, UtxoOutput
from utxo.errors import InvalidTx, UtxoReason
from utxo.well_formed import (
    verify_indices,
    verify_transfer_input,
    verify_transfer_output,
    verify_transferable_inputs,
    verify_transferable_outputs,
)


def verify_auth(auth: Auth) -> None:
    """Check an authorization.

    Raises:
        InvalidTx: Its indices are out of order or duplicated.
    """
    assert isinstance(auth, AuthInput)
    verify_indices(auth.signature_indices)


def verify_outputs(outputs: Sequence[TransferableOutput]) -> None:
    """Check a list of outputs, which may be locked. Raises as `verify_transferable_outputs`."""
    verify_transferable_outputs(outputs, CODEC, _verify_output)


def verify_inputs(inputs: Sequence[TransferableInput]) -> None:
    """Check a list of inputs, which may be locked. Raises as `verify_transferable_inputs`."""
    verify_transferable_inputs(inputs, _verify_input)


def total_of(outputs: Iterable[TransferableOutput]) -> int:
    """Return the sum of amounts.

    Raises:
        InvalidTx: It does not fit into 64 bits.
    """
    total = sum(inner_output(output.output).amount for output in outputs)
    if total > MAX:
        raise InvalidTx(UtxoReason.SUM_OVERFLOW)
    return total


def _verify_output(output: UtxoOutput) -> None:
    if isinstance(output, LockOut):
        _verify_lock(output.locktime, nested=isinstance(output.output, LockOut))
    verify_transfer_output(inner_output(output))


def _verify_input(spent: Input) -> None:
    if isinstance(spent, LockIn):
        _verify_lock(spent.locktime, nested=isinstance(spent.input, LockIn))
    verify_transfer_input(inner_input(spent))


def _verify_lock(locktime: int, *, nested: bool) -> None:
    if locktime == 0:
        raise InvalidTx(TxSyntaxReason.INVALID_LOCKTIME)
    if nested:
        raise InvalidTx(TxSyntaxReason.NESTED_LOCK)
