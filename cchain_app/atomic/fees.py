"""Gas, fee and effective price of atomic transactions (atomic.md 5). The surplus over the fee is burned too."""

from typing import Final

from cchain_app.atomic.errors import AtomicReason
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import AtomicTx, UnsignedImportTx
from primitives.ids import ID
from primitives.uint64 import MAX
from utxo.components import TransferableInput, TransferableOutput, TransferInput, TransferOutput
from utxo.errors import InvalidTx

GAS_PER_BYTE: Final = 1
GAS_PER_SIGNATURE: Final = 1_000
ATOMIC_TX_BASE_GAS: Final = 10_000
"""Gas of every atomic transaction, since Apricot phase 5."""

MAX_BLOCK_GAS: Final = 100_000
"""Maximum gas of the atomic transactions of a block. It does not count against the block's gas limit."""
MAX_BLOCK_BYTES: Final = 40_960
"""Maximum bytes of a block's payload, and of one transaction."""


def gas_of(size: int, signatures: int, *, has_fixed_gas: bool = True) -> int:
    """Return the gas of a transaction with this number of unsigned bytes and signatures.

    Args:
        size: Its unsigned bytes.
        signatures: The signatures that it pays for.
        has_fixed_gas: Whether it pays `ATOMIC_TX_BASE_GAS`.
    """
    fixed = ATOMIC_TX_BASE_GAS if has_fixed_gas else 0
    return size * GAS_PER_BYTE + signatures * GAS_PER_SIGNATURE + fixed


def gas_used(tx: AtomicTx, *, has_fixed_gas: bool = True) -> int:
    """Return the gas of a transaction; arguments as for `gas_of`."""
    return gas_of(tx.unsigned_size, tx.signature_count, has_fixed_gas=has_fixed_gas)


def fee_of(gas: int, base_fee: int, wei_per_unit: int) -> int:
    """Return the minimum amount that a transaction has to burn, in units, rounded up.

    Args:
        gas: The transaction's gas.
        base_fee: The block's base fee, in wei per gas.
        wei_per_unit: The wei of one unit.

    Raises:
        InvalidTx: The fee does not fit into 64 bits.
    """
    fee = -(-gas * base_fee // wei_per_unit)
    if fee > MAX:
        raise InvalidTx(AtomicReason.FEE_OVERFLOW)
    return fee


def burned(tx: AtomicTx, asset_id: ID) -> int:
    """Return the amount of an asset that a transaction consumes and does not produce, in units; at least 0."""
    unsigned = tx.unsigned
    if isinstance(unsigned, UnsignedImportTx):
        consumed = sum(
            input_amount(spent) for spent in unsigned.imported_inputs if spent.asset_id == asset_id
        )
        produced = sum(made.amount for made in unsigned.outputs if made.asset_id == asset_id)
    else:
        consumed = sum(spent.amount for spent in unsigned.inputs if spent.asset_id == asset_id)
        produced = sum(
            output_amount(made) for made in unsigned.exported_outputs if made.asset_id == asset_id
        )
    return max(0, consumed - produced)


def effective_price(tx: AtomicTx, parameters: AtomicParameters) -> int:
    """Return the amount that a transaction burns per gas, in wei, rounded down. The pool is ordered by it."""
    return burned(tx, parameters.asset_id) * parameters.wei_per_unit // gas_used(tx)


def input_amount(spent: TransferableInput) -> int:
    """Return the amount of an imported input; the codec has no other kind of input."""
    assert isinstance(spent.input, TransferInput)
    return spent.input.amount


def output_amount(made: TransferableOutput) -> int:
    """Return the amount of an exported output; the codec has no other kind of output."""
    assert isinstance(made.output, TransferOutput)
    return made.output.amount
