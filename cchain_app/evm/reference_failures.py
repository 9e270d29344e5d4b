"""Geth's messages for transactions that cannot be in a block, and for failed frames, for the reference engine.

The checks of transactions run before those of the specification, whose reasons have no numbers and which does not
check the chain ID of typed transactions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ethereum_types.numeric import U64

from cchain_app.evm import failures
from cchain_app.evm.engine import BlockEnv
from cchain_app.evm.opcodes import CREATIONS, LOGS, OPCODES, memory_areas
from cchain_app.evm.reference_env import intrinsic_cost
from cchain_app.evm.reference_limits import current_limits, init_code_limit
from cchain_app.evm.reference_package import ForkModules
from cchain_app.txs.transaction import DELEGATION_PREFIX, SET_CODE, Transaction
from primitives.hexadecimal import checksum_address

_SSTORE: Final = 0x55
_SSTORE_SENTRY: Final = 2300
_GAS_PER_CODE_BYTE: Final = 200
_CREATE_GAS: Final = 32_000
_MAX_BYTES: Final = 2**64 - 32
"""The largest multiple of 32 that fits into 64 bits."""
_MAX_MEMORY: Final = 0x1FFFFFFFE0
"""Largest memory, in bytes, for which go-ethereum computes a price."""

_WORDS: Final = {
    "Revert": failures.REVERTED,
    "InvalidJumpDestError": failures.INVALID_JUMP,
    "WriteInStaticContext": failures.WRITE_PROTECTION,
    "OutOfBoundsRead": failures.RETURN_DATA_OUT_OF_BOUNDS,
    "AddressCollision": failures.ADDRESS_COLLISION,
    "StackDepthLimitError": failures.CALL_DEPTH,
    "InvalidContractPrefix": failures.CODE_PREFIX,
}
_OWN_WORK: Final = frozenset({"Revert", "InvalidJumpDestError", "OutOfBoundsRead", "InvalidOpcode"})
"""Failures of an instruction that could be executed; its step has no error (tracing.md 3)."""
_PAYS_FIRST: Final = LOGS | {OPCODES["TSTORE"]}
"""Instructions that pay before go-ethereum checks whether state changes are allowed."""


@dataclass(slots=True)
class LastStep:
    """A frame's last instruction, with the state before it ran."""

    opcode: int = 0
    stack: int = 0
    """Number of items on the stack."""
    gas: int = 0
    items: Sequence[int] = ()
    """The stack from its top, as far down as an instruction can read."""


class ReturnedCode(NamedTuple):
    """The output of a frame whose code finished, and the remaining gas at that point."""

    size: int
    """Size in bytes."""
    gas: int


def frame_words(
    error: Exception, last: LastStep, *, creation: bool, returned: ReturnedCode | None
) -> str:
    """Return the message for a failed frame.

    Args:
        error: The specification's exception.
        last: The frame's last instruction.
        creation: Whether the frame creates a contract.
        returned: The output of its code, if the code finished and something after it failed.
    """
    if type(error).__name__ == "OutOfGasError" and creation and returned is not None:
        if returned.gas < returned.size * _GAS_PER_CODE_BYTE:
            return failures.CODE_STORAGE
        return failures.code_size(returned.size, current_limits().code_size)
    return _words(error, last)


def step_words(error: Exception, last: LastStep) -> str | None:
    """Return the message for an instruction that cannot be executed, or None if its own work failed."""
    name = type(error).__name__
    if name in _OWN_WORK or (name == "WriteInStaticContext" and last.opcode in _PAYS_FIRST):
        return None
    return _words(error, last)


def _words(error: Any, last: LastStep) -> str:
    name = type(error).__name__
    match name:
        case "OutOfGasError":
            return _out_of_gas(last)
        case "InvalidOpcode":
            return failures.invalid_opcode(getattr(error, "code", 0))
        case "StackUnderflowError":
            return failures.stack_underflow(last.stack, last.opcode)
        case "StackOverflowError":
            return failures.stack_overflow(last.stack)
        case "StatefulPrecompileError" | "MemoryLimitError":
            return str(error)
        case _:
            return _WORDS.get(name, failures.PRECOMPILE)


def _out_of_gas(last: LastStep) -> str:
    if last.opcode == _SSTORE and last.gas <= _SSTORE_SENTRY:
        return failures.REENTRANCY
    is_creation = last.opcode in CREATIONS
    if is_creation and last.gas < _CREATE_GAS:
        return failures.OUT_OF_GAS
    areas = memory_areas(last.opcode, last.items)
    end = max((offset + size for offset, size in areas if size), default=0)
    if end > _MAX_BYTES:
        return failures.GAS_OVERFLOW
    if end > _MAX_MEMORY:
        return failures.LARGE_MEMORY
    most = current_limits().init_code_size
    if is_creation and last.items[2] > most:
        return failures.inner_initcode_size(last.items[2], most)
    return failures.OUT_OF_GAS


_MAX_NONCE = 2**64 - 1


class RefusalError(Exception):
    """A transaction cannot be in this block; `retry` says whether a later one may include it."""

    def __init__(self, reason: str, *, retry: bool = False) -> None:
        super().__init__(reason)
        self.retry = retry


def refusal(
    transaction: Transaction,
    tx: Any,
    account: Any,
    *,
    env: BlockEnv,
    fork: ForkModules,
    gas_used: int,
    accepted: bool = False,
    forbidden: str | None = None,
) -> RefusalError | None:
    """Return why a transaction cannot be in the block, or None if it can.

    Args:
        transaction: The transaction.
        tx: The same transaction in the specification's type.
        account: The sender in the specification's type, None if it does not exist.
        env: The block's environment.
        fork: Its rule set.
        gas_used: Gas used by the transactions before it in the block.
        accepted: Whether the block is accepted already, so that a sender may have code (EIP-3607). An
            impersonated sender may always have code.
        forbidden: Why stateful precompiles forbid it; None: they do not.
    """
    if transaction.gas > env.limits.in_block(env.gas_limit - gas_used):
        return RefusalError("gas limit reached", retry=transaction.gas <= env.gas_limit)
    if forbidden is not None:
        return RefusalError(forbidden)
    reason = (
        _against_form(env, transaction)
        or _against_fee(env, transaction)
        or _against_blobs(env, transaction, fork)
    )
    if reason is not None:
        return reason
    words = _against_gas(env, fork, transaction, tx)
    if words is not None:
        return RefusalError(words)
    if not (accepted or transaction.is_impersonated) and _is_contract(account):
        return RefusalError(failures.sender_not_eoa(transaction.sender))
    return _against_sender(transaction, account)


def _against_form(env: BlockEnv, transaction: Transaction) -> RefusalError | None:
    if transaction.chain_id not in {None, env.chain_id}:
        return RefusalError(
            f"invalid chain id for signer: have {transaction.chain_id} want {env.chain_id}"
        )
    if transaction.type == SET_CODE and not transaction.authorizations:
        return RefusalError(
            f"EIP-7702 transaction with empty auth list (sender "
            f"{checksum_address(transaction.sender)})"
        )
    return None


def _against_fee(env: BlockEnv, transaction: Transaction) -> RefusalError | None:
    sender, fee, tip = (
        transaction.sender,
        transaction.max_fee_per_gas,
        transaction.max_priority_fee_per_gas,
    )
    if tip > fee:
        return RefusalError(failures.tip_above_fee(sender, tip, fee))
    if env.base_fee is not None and fee < env.base_fee:
        return RefusalError(failures.fee_below_base_fee(sender, fee, env.base_fee), retry=True)
    return None


def _against_blobs(
    env: BlockEnv, transaction: Transaction, fork: ForkModules
) -> RefusalError | None:
    if not transaction.blob_hashes or env.excess_blob_gas is None:
        return None
    count, most = len(transaction.blob_hashes), getattr(fork.fork, "BLOB_COUNT_LIMIT", None)
    if most is not None and count > most:
        return RefusalError(failures.too_many_blobs(transaction.sender, count, int(most)))
    price = int(fork.gas.calculate_blob_gas_price(U64(env.excess_blob_gas)))
    fee = transaction.max_fee_per_blob_gas
    if fee < price:
        words = failures.blob_fee_below_price(transaction.sender, fee, price)
        return RefusalError(words, retry=True)
    return None


def _against_gas(env: BlockEnv, fork: ForkModules, transaction: Transaction, tx: Any) -> str | None:
    cap = env.limits.of_transaction(env.fork)
    if transaction.gas > cap:
        return failures.gas_cap(transaction.gas, cap)
    limit = init_code_limit(fork)
    if transaction.to is None and limit is not None and len(transaction.data) > limit:
        return failures.initcode_size(len(transaction.data), limit)
    return too_little_gas(transaction.gas, tx, fork)


def too_little_gas(gas: int, tx: Any, fork: ForkModules) -> str | None:
    """Return the message for gas below the minimum cost of the transaction, or None if it is enough."""
    intrinsic, floor = intrinsic_cost(tx, fork)
    if gas < intrinsic:
        return failures.intrinsic_gas(gas, intrinsic)
    if gas < floor:
        return failures.floor_gas(gas, floor)
    return None


def _is_contract(account: Any) -> bool:
    code = b"" if account is None else bytes(account.code)
    return bool(code) and not is_delegation(code)


def is_delegation(code: bytes) -> bool:
    """Return whether code is an EIP-7702 delegation."""
    return code.startswith(DELEGATION_PREFIX) and len(code) == len(DELEGATION_PREFIX) + 20


def _against_sender(transaction: Transaction, account: Any) -> RefusalError | None:
    nonce = 0 if account is None else int(account.nonce)
    balance = 0 if account is None else int(account.balance)
    sender = transaction.sender
    if transaction.nonce != nonce:
        return RefusalError(
            failures.nonce_mismatch(sender, transaction.nonce, nonce),
            retry=transaction.nonce > nonce,
        )
    if nonce == _MAX_NONCE:
        return RefusalError(
            f"nonce has max value: address {checksum_address(sender)}, nonce: {nonce}"
        )
    if transaction.cost >> 256:
        return RefusalError(
            f"insufficient funds for gas * price + value: address "
            f"{checksum_address(sender)} required balance exceeds 256 bits"
        )
    if balance < transaction.cost:
        return RefusalError(failures.insufficient_funds(sender, balance, transaction.cost))
    return None
