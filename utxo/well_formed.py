"""Checks that inputs, outputs and owners are well formed, and their order (pchain.md 2.3, second list).

A chain with outputs or inputs of its own passes the function that checks one of them; the default accepts
transfers only.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Any, Protocol

from primitives.codec import INTERFACE, Codec
from primitives.ids import EMPTY_ID, ID, ShortID
from utxo.components import (
    Input,
    OutputOwners,
    Owner,
    TransferableInput,
    TransferableOutput,
    TransferInput,
    TransferOutput,
    UtxoOutput,
)
from utxo.errors import InvalidTx, UtxoReason

_OUTPUT = Annotated[UtxoOutput, INTERFACE]


class Comparable(Protocol):
    """A value that can be ordered."""

    def __lt__(self, other: Any, /) -> bool:
        """Return whether this value sorts before the other."""


def is_strictly_increasing(items: Iterable[Comparable]) -> bool:
    """Return whether each item is greater than the one before it."""
    return all(left < right for left, right in pairwise(items))


def verify_threshold(threshold: int, addresses: Sequence[ShortID]) -> None:
    """Check that a threshold fits the number of owners, and that the owners are sorted.

    Raises:
        InvalidTx: The threshold is above the number of owners; there are owners, but the
            threshold is zero; they are out of order or duplicated.
    """
    if threshold > len(addresses):
        raise InvalidTx(UtxoReason.UNSPENDABLE_OUTPUT)
    if threshold == 0 and addresses:
        raise InvalidTx(UtxoReason.UNOPTIMIZED_OUTPUT)
    if len(addresses) > 1 and not is_strictly_increasing(addresses):
        raise InvalidTx(UtxoReason.ADDRESSES_NOT_SORTED)


def verify_owner(owner: Owner) -> None:
    """Check an owner of an output, of rewards or of a subnet. Raises as `verify_threshold`."""
    assert isinstance(owner, OutputOwners)
    verify_threshold(owner.threshold, owner.addresses)


def verify_indices(indices: Sequence[int]) -> None:
    """Check the indices of the owners that have signed.

    Raises:
        InvalidTx: They are out of order or duplicated.
    """
    if len(indices) > 1 and not is_strictly_increasing(indices):
        raise InvalidTx(UtxoReason.INDICES_NOT_SORTED)


def verify_transfer_output(output: UtxoOutput) -> None:
    """Check a `TransferOutput`.

    Raises:
        InvalidTx: Its amount is zero; its owners are malformed, as in `verify_threshold`.
    """
    assert isinstance(output, TransferOutput)
    if output.amount == 0:
        raise InvalidTx(UtxoReason.OUTPUT_WITHOUT_VALUE)
    verify_owner(output.owners)


def verify_transfer_input(spent: Input) -> None:
    """Check a `TransferInput`.

    Raises:
        InvalidTx: Its amount is zero; its indices are out of order or duplicated.
    """
    assert isinstance(spent, TransferInput)
    if spent.amount == 0:
        raise InvalidTx(UtxoReason.INPUT_WITHOUT_VALUE)
    verify_indices(spent.signature_indices)


def verify_transferable_outputs(
    outputs: Sequence[TransferableOutput],
    codec: Codec,
    verify_output: Callable[[UtxoOutput], None] = verify_transfer_output,
) -> None:
    """Check a list of outputs: each one and its asset, and their order in the bytes of a codec.

    Raises:
        InvalidTx: An output is malformed or out of order; the reason says why.
    """
    for transferable in outputs:
        _verify_asset(transferable.asset_id)
        verify_output(transferable.output)
    if len(outputs) > 1:
        keys = (sort_key(output, codec) for output in outputs)
        if not all(left <= right for left, right in pairwise(keys)):
            raise InvalidTx(UtxoReason.OUTPUTS_NOT_SORTED)


def verify_transferable_inputs(
    inputs: Sequence[TransferableInput],
    verify_input: Callable[[Input], None] = verify_transfer_input,
) -> None:
    """Check a list of inputs: each one and its asset, and their order.

    Raises:
        InvalidTx: An input is malformed or out of order; the reason says why.
    """
    for transferable in inputs:
        _verify_asset(transferable.asset_id)
        verify_input(transferable.input)
    if not is_strictly_increasing((spent.tx_id, spent.output_index) for spent in inputs):
        raise InvalidTx(UtxoReason.INPUTS_NOT_SORTED)


def sort_key(output: TransferableOutput, codec: Codec) -> tuple[ID, bytes]:
    """Return the sort key of outputs in a list: the asset, then their bytes."""
    return output.asset_id, codec.pack(output.output, _OUTPUT)


def sort_outputs(
    outputs: Iterable[TransferableOutput], codec: Codec
) -> tuple[TransferableOutput, ...]:
    """Return outputs in serialisation order."""
    return tuple(sorted(outputs, key=lambda output: sort_key(output, codec)))


def _verify_asset(asset_id: ID) -> None:
    if asset_id == EMPTY_ID:
        raise InvalidTx(UtxoReason.EMPTY_ASSET_ID)
