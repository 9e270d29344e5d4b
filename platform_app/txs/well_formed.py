"""Checks that inputs, outputs, owners and authorizations are well formed (pchain.md 2.3, second list)."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Any, Protocol

from platform_app.txs.codec import CODEC
from platform_app.txs.components import (
    Auth,
    AuthInput,
    Input,
    LockIn,
    LockOut,
    OutputOwners,
    Owner,
    TransferableInput,
    TransferableOutput,
    UtxoOutput,
    inner_input,
    inner_output,
)
from platform_app.txs.errors import (
    AddressesNotSorted,
    EmptyAssetId,
    IndicesNotSorted,
    InputsNotSorted,
    InputWithoutValue,
    InvalidLocktime,
    NestedLock,
    OutputsNotSorted,
    OutputWithoutValue,
    SumOverflow,
    UnoptimizedOutput,
    UnspendableOutput,
)
from primitives.codec import INTERFACE
from primitives.ids import EMPTY_ID, ID, ShortID
from primitives.uint64 import MAX

_OUTPUT = Annotated[UtxoOutput, INTERFACE]


class Comparable(Protocol):
    """A value that can be ordered."""

    def __lt__(self, other: Any, /) -> bool:
        """Return whether this value sorts before the other."""


def is_strictly_increasing(items: Iterable[Comparable]) -> bool:
    """Return whether each item is greater than the one before it."""
    return all(left < right for left, right in pairwise(items))


def verify_threshold(threshold: int, addresses: Sequence[ShortID]) -> None:
    """Check owners: enough of them, no unnecessary ones, in order.

    Raises:
        UnspendableOutput: The threshold is above the number of owners.
        UnoptimizedOutput: There are owners, but the threshold is zero.
        AddressesNotSorted: They are out of order or duplicated.
    """
    if threshold > len(addresses):
        raise UnspendableOutput
    if threshold == 0 and addresses:
        raise UnoptimizedOutput
    if len(addresses) > 1 and not is_strictly_increasing(addresses):
        raise AddressesNotSorted


def verify_owner(owner: Owner) -> None:
    """Check an owner of rewards or of a subnet. Raises as `verify_threshold`."""
    assert isinstance(owner, OutputOwners)
    verify_threshold(owner.threshold, owner.addresses)


def verify_auth(auth: Auth) -> None:
    """Check an authorization.

    Raises:
        IndicesNotSorted: Its indices are out of order or duplicated.
    """
    assert isinstance(auth, AuthInput)
    _verify_indices(auth.signature_indices)


def verify_outputs(outputs: Sequence[TransferableOutput]) -> None:
    """Check a list of outputs: each one, and their order.

    Raises:
        InvalidComponent: An output is malformed or out of order; the subclass says why.
    """
    for output in outputs:
        _verify_output(output)
    if len(outputs) > 1:
        keys = map(sort_key, outputs)
        if not all(left <= right for left, right in pairwise(keys)):
            raise OutputsNotSorted


def verify_inputs(inputs: Sequence[TransferableInput]) -> None:
    """Check a list of inputs: each one, and their order.

    Raises:
        InvalidComponent: An input is malformed or out of order; the subclass says why.
    """
    for spent in inputs:
        _verify_input(spent)
    if not is_strictly_increasing((spent.tx_id, spent.output_index) for spent in inputs):
        raise InputsNotSorted


def total_of(outputs: Iterable[TransferableOutput]) -> int:
    """Return the sum of amounts.

    Raises:
        SumOverflow: It does not fit into 64 bits.
    """
    total = sum(inner_output(output.output).amount for output in outputs)
    if total > MAX:
        raise SumOverflow
    return total


def sort_key(output: TransferableOutput) -> tuple[ID, bytes]:
    """Return the sort key of outputs in a list: the asset, then their bytes."""
    return output.asset_id, CODEC.pack(output.output, _OUTPUT)


def _verify_output(transferable: TransferableOutput) -> None:
    output = transferable.output
    if transferable.asset_id == EMPTY_ID:
        raise EmptyAssetId
    if isinstance(output, LockOut):
        _verify_lock(output.locktime, nested=isinstance(output.output, LockOut))
    transfer = inner_output(output)
    if transfer.amount == 0:
        raise OutputWithoutValue
    verify_threshold(transfer.owners.threshold, transfer.owners.addresses)


def _verify_input(transferable: TransferableInput) -> None:
    spent: Input = transferable.input
    if transferable.asset_id == EMPTY_ID:
        raise EmptyAssetId
    if isinstance(spent, LockIn):
        _verify_lock(spent.locktime, nested=isinstance(spent.input, LockIn))
    transfer = inner_input(spent)
    if transfer.amount == 0:
        raise InputWithoutValue
    _verify_indices(transfer.signature_indices)


def _verify_lock(locktime: int, *, nested: bool) -> None:
    if locktime == 0:
        raise InvalidLocktime
    if nested:
        raise NestedLock


def _verify_indices(indices: Sequence[int]) -> None:
    if len(indices) > 1 and not is_strictly_increasing(indices):
        raise IndicesNotSorted
