"""The C-Chain's blocks of a seeded history: transfers from a few senders to many recipients, and empty blocks.

Blocks are made in one of two ways. Through the pool, as clients send transactions: each block is built from the pool
and committed. Or directly: blocks are built from their transactions without the pool, and many are committed together,
which makes a long history several times as fast. Both ways give the same blocks, each with its outer block.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.selectors import blocks, state
from cchain_app.services import transactions
from cchain_app.services.acceptance import DirectBlockRefused
from cchain_app.txs.codec import decode_stored
from cchain_app.txs.signing import UnsignedTransaction, encode_signed, signing_digest
from cchain_app.txs.transaction import DYNAMIC_FEE, Transaction
from chaindb import clock
from chainvm.port import HeadMoved
from nodeproject.management.seeding_payments import FUNDER, SeededOwner, owner
from primitives.counting import counted
from primitives.evm import Address
from primitives.hashing import keccak256, sha256
from primitives.secp256k1 import SigningKey

GWEI: Final = 10**9
MAX_FEE: Final = 100 * GWEI
"""Wei per gas: far above the base fee that a history reaches."""
TRANSFER_GAS: Final = 21_000
ALLOWANCE: Final = 10**18
"""Wei that each sender gets in addition to the fees of its transfers."""
FEE_OF_TRANSFER: Final = 3 * GWEI * TRANSFER_GAS
"""Wei that each sender has for each of its transfers."""


class UnexpectedBlock(Exception):
    """A block of the history has unexpected content."""


class TransferSender:
    """An account that signs transfers, with increasing nonces."""

    def __init__(self, holder: SeededOwner) -> None:
        self.address = holder.address
        self._key = SigningKey(holder.key)
        self._chain_id = evm_chain().config.chain_id
        head = blocks.catch_up(evm_chain())
        account = state.state_at(evm_chain(), head.number).account(holder.address)
        self.nonce, self.balance = (0, 0) if account is None else (account.nonce, account.balance)

    def pay(self, to: Address, value: int) -> Transaction:
        """Return a signed transfer of an amount in wei."""
        unsigned = UnsignedTransaction(
            type=DYNAMIC_FEE,
            chain_id=self._chain_id,
            nonce=self.nonce,
            gas=TRANSFER_GAS,
            to=to,
            value=value,
            max_fee_per_gas=MAX_FEE,
            max_priority_fee_per_gas=GWEI,
        )
        self.nonce += 1
        raw = encode_signed(unsigned, self._key.sign(signing_digest(unsigned)))
        return decode_stored(raw, keccak256(raw), self.address)


class TransferBlocks:
    """The transfers of successive blocks, each with one from each sender; each recipient gets one in its turn.

    Args:
        count: Number of blocks.
        each: Transfers in each block, and so the number of senders.
        recipients: Number of recipients.
    """

    def __init__(self, count: int, each: int, recipients: int) -> None:
        self._count = count
        self._senders = [TransferSender(owner("history", number)) for number in range(each)]
        self._recipients = recipients

    def funding(self) -> list[Transaction]:
        """Return the transfers that give the senders the wei that they lack, for a block of its own."""
        funder, fees = TransferSender(FUNDER), self._count * FEE_OF_TRANSFER
        return [
            funder.pay(sender.address, ALLOWANCE + fees - sender.balance)
            for sender in self._senders
            if sender.balance < ALLOWANCE // 2 + fees
        ]

    def __iter__(self) -> Iterator[list[Transaction]]:
        """Yield the transfers of each block; they are signed when they are requested."""
        each = len(self._senders)
        for _ in range(self._count):
            yield [
                sender.pay(_recipient((sender.nonce * each + place) % self._recipients), 1)
                for place, sender in enumerate(self._senders)
            ]


def submit(payments: Sequence[Transaction]) -> None:
    """Admit transactions to the pool.

    Raises:
        PoolRejection: One is rejected.
    """
    for outcome in transactions.submit(evm_runtime(), [payment.raw for payment in payments]):
        if isinstance(outcome, Exception):
            raise outcome


def produce(wanted: int) -> None:
    """Build a block from the pool.

    Raises:
        UnexpectedBlock: It has another number of transactions.
    """
    made = evm_runtime().consensus.produce(now=clock.cchain_now(), allow_empty=True)
    block = None if made is None else blocks.by_number(evm_chain(), made.height)
    if block is None or len(block.transactions) != wanted:
        raise UnexpectedBlock(f"{block} has not {counted(wanted, 'transaction')}")


def produce_together(content: Sequence[Sequence[Transaction]], first: int, interval: int) -> None:
    """Build blocks with these transactions without the pool, and commit them together.

    Args:
        content: The transactions of each block.
        first: Time of the first block in Unix seconds, if the head's is earlier than that.
        interval: Seconds between two blocks; 0: all have the node's time.

    Raises:
        UnexpectedBlock: A block could not be built, transactions are pending, or another process has made a block.
    """
    runtime = evm_runtime()
    chain = runtime.chain
    with chain.vm_lock:
        head = blocks.catch_up(chain)
        if interval:
            first = max(first, head.header.timestamp + interval)
        times = [first + interval * place for place in range(len(content))]
        try:
            with runtime.vm.offering_blocks(content, head.hash):
                made = runtime.consensus.produce_batch(times)
        except DirectBlockRefused as refusal:
            raise UnexpectedBlock("transactions are pending: start with an empty pool") from refusal
        except HeadMoved as moved:
            raise UnexpectedBlock(
                f"another process has made a block above block {head.number}: stop it"
            ) from moved
    if len(made) != len(content):
        raise UnexpectedBlock(
            f"{counted(len(made), 'block')} of {len(content)} could be made above block {head.number}"
        )


def _recipient(number: int) -> Address:
    """Return an address without a known key, always the same for a number."""
    return Address(sha256(b"recipient %d" % number)[:20])
