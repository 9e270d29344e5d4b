"""The port of the EVM engines: what the chain asks, and what an engine answers.

Two engines stand behind it: `native` (revm, the one that is meant to run) and `reference` (the
executable specification, the oracle). Both are given state through a `StateReader` and change
nothing: what a block or call did comes back as values. Roots are made by `trie`, not here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, Self

from cchain_app.config import DEPOSIT_CONTRACT
from cchain_app.txs.transaction import Transaction
from primitives.evm import ZERO_HASH, Address, Hash, Slot, Word

BLOCK_HASHES: Final = Address(bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935"))
"""The contract of EIP-2935, to which each block writes its parent's hash."""
BLOCK_HASHES_KEPT: Final = 8191
"""Slots of it, which are written in turn."""
BEACON_ROOTS: Final = Address(bytes.fromhex("000f3df6d732807ef1319fb7b8bb8522d0beac02"))
"""The contract of EIP-4788, which keeps the roots of beacon blocks likewise."""


class AccountState(NamedTuple):
    """What the state trie says of an account, less its storage root."""

    nonce: int
    balance: int
    """Wei."""
    code_hash: Hash
    """Keccak-256 of the code; `EMPTY_HASH` for an account without code."""


NativeMemory = tuple[object, int, Address | None]
"""What the native engine reads without asking a reader, which has it as `memory`: a memory of its own, the
height as of which it is read, and an account that the reader is asked for all the same."""


class StateReader(Protocol):
    """State at one block, as an engine asks for it. Reading never fails: absent is None or zero."""

    def account(self, address: Address) -> AccountState | None:
        """Return the account, or None when it does not exist."""

    def storage(self, address: Address, slot: Slot) -> Word:
        """Return the 32-byte value of a slot, zero when it was never written."""

    def has_storage(self, address: Address) -> bool:
        """Return whether any slot of the account is not zero: then nothing is created there.

        It is only asked of an account that exists, with nonce 0 and without code (EIP-7610).
        """

    def code(self, code_hash: Hash) -> bytes:
        """Return the code with this hash; it is only asked for hashes that `account` returned."""

    def block_hash(self, number: int) -> Hash:
        """Return the hash of one of the 256 blocks before this one, zero when there is none."""


@dataclass(frozen=True, slots=True)
class BlockEnv:
    """What a block (or a call on top of one) sees of its environment."""

    fork: str
    """Name of the rule set, as `ForkSchedule` gives it: "frontier" … "prague", "osaka"."""
    chain_id: int
    number: int
    timestamp: int
    """Unix seconds."""
    coinbase: Address
    gas_limit: int
    base_fee: int | None
    """Wei for each gas; None before London."""
    prev_randao: Hash
    """Header's mixHash; PREVRANDAO since Paris."""
    difficulty: int = 0
    """DIFFICULTY before Paris."""
    excess_blob_gas: int | None = None
    """None before Cancun."""
    blob_base_fee_update_fraction: int | None = None
    """From the genesis file's `blobSchedule`; None before Cancun."""
    parent_hash: Hash = ZERO_HASH
    """For the EIP-2935 system call."""
    parent_beacon_block_root: Hash | None = None
    """For the EIP-4788 system call; None before Cancun."""
    blob_base_fee: int | None = None
    """Wei for each blob gas, as a call overrides it; None: what `excess_blob_gas` makes it."""
    precompile_moves: tuple[tuple[Address, Address | None], ...] = ()
    """(from, to): a precompile that calls find elsewhere; None: nowhere."""
    signers: tuple[tuple[bytes, Address], ...] = ()
    """(signature, signer): whom ecrecover answers for 65 bytes of r, s and v, whatever was signed and at its
    usual price; none twice. Only a chain to develop against has any (devnet.md 4)."""
    deposit_contract: Address = DEPOSIT_CONTRACT
    """Whose logs are deposits (EIP-6110)."""


class Log(NamedTuple):
    """One log of a transaction, in order of emission."""

    address: Address
    topics: tuple[Word, ...]
    data: bytes


class TransactionResult(NamedTuple):
    """What became of a transaction that is in the block."""

    succeeded: bool
    gas_used: int
    """After refunds: what the sender pays for."""
    logs: tuple[Log, ...]
    """Empty when it failed."""
    contract_address: Address | None
    """Set for a creation, even a failed one."""


@dataclass(frozen=True, slots=True)
class SkippedTransaction:
    """A transaction that cannot be in this block."""

    index: int
    """Its place among the transactions given."""
    reason: str
    """Why, in words, for the log and the pool."""
    retry: bool
    """Whether a later block may take it (block is full, nonce too high, fee below the base fee)."""


class AccountChange(NamedTuple):
    """An account before and after a block; None where it does not exist."""

    before: AccountState | None
    after: AccountState | None


class SlotChange(NamedTuple):
    """A storage slot before and after a block."""

    before: Word
    after: Word


@dataclass(frozen=True, slots=True)
class StateChanges:
    """The difference a block makes. Only true changes: before and after differ."""

    accounts: Mapping[Address, AccountChange] = field(default_factory=dict)
    storage: Mapping[tuple[Address, Slot], SlotChange] = field(default_factory=dict)
    codes: Mapping[Hash, bytes] = field(default_factory=dict)
    """New code by its hash."""
    cleared: frozenset[Address] = frozenset()
    """Accounts whose whole storage was deleted first (SELFDESTRUCT before Cancun); what `storage`
    says of them was written afterwards."""


@dataclass(frozen=True, slots=True)
class ExecutedBlock:
    """The outcome of executing a block's transactions in order."""

    included: tuple[int, ...]
    """Indexes, among the transactions given, of those that are in the block."""
    results: tuple[TransactionResult, ...]
    """One for each included transaction, same order."""
    skipped: tuple[SkippedTransaction, ...]
    gas_used: int
    changes: StateChanges
    requests_hash: Hash | None
    """EIP-7685; None before Prague."""


class CallMessage(NamedTuple):
    """A read-only call, as eth_call and eth_estimateGas make it.

    Named tuples cross the border to the native engine faster; it reads this one by its order.
    """

    sender: Address
    to: Address | None
    """None: `data` is init code."""
    gas: int
    gas_price: int
    """Effective price in wei; 0 means that no balance is needed for gas and BASEFEE reads 0."""
    value: int
    data: bytes
    access_list: tuple[tuple[Address, tuple[Slot, ...]], ...] = ()
    authorizations: tuple[bytes, ...] = ()
    """EIP-7702 tuples as RLP; the transaction is of type 4 when there are any."""
    max_priority_fee: int | None = None
    blob_hashes: tuple[Hash, ...] = ()
    nonce: int | None = None
    """Of the sender, where it is to be checked; None: whatever the state says."""


class CallResult(NamedTuple):
    """The outcome of a call. Failure inside the EVM is data, not an exception."""

    output: bytes
    """Return data; of a creation the runtime code; of a revert the revert data."""
    gas_used: int
    """After refunds."""
    gas_peak: int
    """Before refunds: the most gas that was in use (for eth_estimateGas)."""
    error: str | None
    """None on success, "execution reverted", or the failure in geth's words ("out of gas" …)."""
    logs: tuple[Log, ...] = ()
    access_list: tuple[tuple[Address, tuple[Slot, ...]], ...] | None = None
    """What was touched, when asked for; without sender, recipient (or created contract) and
    precompiles; addresses and keys in ascending order."""

    @property
    def reverted(self) -> bool:
        """Whether it ended in REVERT, so that `output` is the revert data."""
        return self.error == "execution reverted"


class GasEstimate(NamedTuple):
    """How much gas a call needs."""

    gas: int | None
    """A limit with which it works; None when all the gas of the message is not enough."""
    failure: CallResult | None = None
    """How it fails with all that gas, unless that is for lack of gas; then `gas` is None."""


class CallRejected(Exception):
    """A call that could not begin: no funds, gas below the intrinsic cost, bad access list.

    The message is geth's, without its "err: " prefix.
    """


class CallInterrupted(Exception):
    """A call that would have used more gas than it was allowed, or took more time."""


class GasAllowance:
    """Gas that calls may use, one after another, before they are given up.

    It measures work and is not seen by the programs that run, whose gas is the message's. Counted
    is what is executed, however it ends and with runs that are repeated; what a transaction costs
    before it begins (21,000 and its bytes) is not, but for what takes time then.
    """

    __slots__ = ("left",)

    def __init__(self, gas: int) -> None:
        """Allow so much."""
        self.left = gas
        """What may still be used."""

    def use(self, gas: int) -> None:
        """Count what was used. More than was left counts as all of that: it was not let go on."""
        self.left -= min(gas, self.left)


class Engine(Protocol):
    """An EVM. Stateless: safe to use from several threads."""

    name: str
    """For logs and web3_clientVersion: "revm" or "ethereum-execution"."""
    fast: bool
    """Whether a few 100,000 gas are a matter of milliseconds: then short calls may run where
    everybody waits for them."""

    def execute_block(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        state: StateReader,
        *,
        skip_invalid: bool,
    ) -> ExecutedBlock:
        """Execute transactions in order, with the fork's system calls around them.

        With skip_invalid a transaction that cannot be in the block is left out and reported
        (block production); without, it raises (verification of a given block). Senders are the
        transactions' own, whoever signed them; only an impersonated one may have code (EIP-3607).

        Raises:
            InvalidBlock: A transaction cannot be in the block, and skip_invalid is off.
        """

    def call(
        self,
        env: BlockEnv,
        message: CallMessage,
        state: StateReader,
        *,
        allowance: GasAllowance | None = None,
        time_limit: float | None = None,
        with_access_list: bool = False,
    ) -> CallResult:
        """Run one call on the state and throw its changes away.

        Nonce and EIP-3607 are not checked; funds are, against value plus gas times price.
        `env.base_fee` counts as 0 when the message's gas price is 0.

        Args:
            env: What the call sees of its block.
            message: The call.
            state: What it runs on.
            allowance: Give up before more gas than this is used (a first try on the event loop).
            time_limit: Give up after so many seconds.
            with_access_list: Also report what was touched.

        Raises:
            CallRejected: The call could not begin.
            CallInterrupted: A limit was reached.
        """

    def estimate(
        self,
        env: BlockEnv,
        message: CallMessage,
        state: StateReader,
        *,
        error_ratio: float,
        allowance: GasAllowance | None = None,
        time_limit: float | None = None,
    ) -> GasEstimate:
        """Find the least gas with which a call works, by geth's bisection (`estimation`).

        Runs are as in `call`; `state` is asked once for each account and slot.

        Args:
            env: What the call sees of its block.
            message: The call; its gas is the highest limit that is tried.
            state: What it runs on.
            error_ratio: By which part the answer may be too high.
            allowance: Give up before all runs together use more gas than this.
            time_limit: Give up after so many seconds, those of all runs together.

        Raises:
            CallRejected: The call could not begin with all its gas, and not for too little of it.
            CallInterrupted: A limit was reached.
        """


class InvalidBlock(Exception):
    """A block that must not enter the chain; the message names the rule it breaks.

    Engines raise this class itself; the tree below it is in `blocks.errors`.
    """

    number: int | None = None
    """Height of the block, where somebody checked several at once and says which it was."""
    hash: Hash | None = None
    """Likewise."""

    def of(self, number: int, block_hash: Hash) -> Self:
        """Note which block is refused, and return this."""
        self.number, self.hash = number, block_hash
        return self
