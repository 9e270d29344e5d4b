"""The port of the EVM engines: the calls that the chain makes and the values that an engine returns.

There are two engines: `native` (revm, the one for normal use) and `reference` (the
executable specification, the oracle of the tests). Both read state through a `StateReader` and write
nothing: the changes of a block or call are returned as values. Roots are computed by `trie`, not here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from cchain_app.config import DEPOSIT_CONTRACT, ETHEREUM_LIMITS, ExecutionLimits
from cchain_app.evm.coreth import ETHEREUM, GRANITE_FEATURES, CorethFeatures
from cchain_app.precompiles.active import NO_STATEFUL, StatefulPrecompiles
from cchain_app.txs.transaction import Transaction
from chainvm.errors import InvalidBlock
from primitives.evm import ZERO_HASH, Address, Hash, Slot, Word

HISTORY_STORAGE_ADDRESS: Final = Address(bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935"))
"""The contract of EIP-2935, to which each block writes its parent's hash."""
HISTORY_SERVE_WINDOW: Final = 8191
"""Number of its slots, which are written in turn."""
BEACON_ROOTS_ADDRESS: Final = Address(bytes.fromhex("000f3df6d732807ef1319fb7b8bb8522d0beac02"))
"""The contract of EIP-4788, which stores the roots of beacon blocks in the same way."""


class AccountState(NamedTuple):
    """An account as in the state trie, without its storage root."""

    nonce: int
    balance: int
    """Wei."""
    code_hash: Hash
    """Keccak-256 of the code; `EMPTY_HASH` for an account without code."""


NativeMemory = tuple[object, int, Address | None]
"""State that the native engine reads without calling the reader, whose attribute `memory` returns it: the cache,
the height at which it is read, and one account for which the reader must be called all the same."""


class StateReader(Protocol):
    """State at one block, as an engine reads it. Reading never fails: missing values are None or zero."""

    def account(self, address: Address) -> AccountState | None:
        """Return the account, or None if it does not exist."""

    def storage(self, address: Address, slot: Slot) -> Word:
        """Return the 32-byte value of a slot, zero if it was never written."""

    def has_storage(self, address: Address) -> bool:
        """Return whether any slot of the account is not zero, so that no contract can be created there.

        It is only called for an existing account with nonce 0 and without code (EIP-7610). On coreth such an account
        holds other assets, and a contract that is created there deletes them.
        """

    def code(self, code_hash: Hash) -> bytes:
        """Return the code with this hash; it is only called with hashes that `account` returned."""

    def block_hash(self, number: int) -> Hash:
        """Return the hash of one of the 256 blocks before this one, zero if there is no such block."""


BASE_FEE_BITS: Final = 64
"""Bits of a base fee that the native engine can read; blocks with a wider one run in the reference engine."""


@dataclass(frozen=True, slots=True)
class BlockEnv:
    """The environment that a block, or a call on top of one, can read."""

    fork: str
    """Name of the rule set, as `ForkSchedule` gives it: "frontier" … "prague", "osaka"."""
    chain_id: int
    number: int
    timestamp: int
    """Unix seconds."""
    coinbase: Address
    gas_limit: int
    base_fee: int | None
    """Wei per gas; None before London."""
    prev_randao: Hash
    """The header's mixHash; PREVRANDAO since Paris."""
    difficulty: int = 0
    """Value of DIFFICULTY before Paris."""
    excess_blob_gas: int | None = None
    """None before Cancun."""
    blob_base_fee_update_fraction: int | None = None
    """From the genesis file's `blobSchedule`; None before Cancun."""
    parent_hash: Hash = ZERO_HASH
    """For the EIP-2935 system call."""
    parent_beacon_block_root: Hash | None = None
    """For the EIP-4788 system call; None before Cancun."""
    blob_base_fee: int | None = None
    """Wei per blob gas, if a call overrides it; None: computed from `excess_blob_gas`."""
    precompile_moves: tuple[tuple[Address, Address | None], ...] = ()
    """(from, to): a precompile that calls find at another address; None: it is removed."""
    signers: tuple[tuple[bytes, Address], ...] = ()
    """(signature, signer): the address that ecrecover returns for 65 bytes of r, s and v, whatever the digest, at
    its usual price; no signature occurs twice. Only development chains use this (devnet.md 4)."""
    deposit_contract: Address = DEPOSIT_CONTRACT
    """The contract whose logs are deposits (EIP-6110)."""
    limits: ExecutionLimits = ETHEREUM_LIMITS
    """The chain's limits of gas, code and memory."""
    stateful: StatefulPrecompiles = NO_STATEFUL
    """The stateful precompiles in force: allow lists, minter, managers, warp."""
    variant: str = ETHEREUM
    """"ethereum", or "coreth": the EVM of a C-Chain of avalanchego."""
    coreth: CorethFeatures = GRANITE_FEATURES
    """What differs on coreth in the block's phase."""
    milliseconds: int = 0
    """The block's time in Unix milliseconds, if its header has it."""
    capacity: int | None = None
    """On coreth: gas for the block's transactions and its payload together; None: it is not known."""


class Log(NamedTuple):
    """One log of a transaction; logs are in order of emission."""

    address: Address
    topics: tuple[Word, ...]
    data: bytes


class TransactionResult(NamedTuple):
    """The result of a transaction that is in the block."""

    succeeded: bool
    gas_used: int
    """Gas that the sender pays for, after refunds."""
    logs: tuple[Log, ...]
    """Empty if it failed."""
    contract_address: Address | None
    """Set for a contract creation, even a failed one."""


@dataclass(frozen=True, slots=True)
class SkippedTransaction:
    """A transaction that cannot be in this block."""

    index: int
    """Its index among the given transactions."""
    reason: str
    """The reason as text, for the log and the pool."""
    retry: bool
    """Whether a later block may include it (block is full, nonce too high, fee below the base fee)."""


class AccountChange(NamedTuple):
    """An account before and after a block; None if it does not exist."""

    before: AccountState | None
    after: AccountState | None


class SlotChange(NamedTuple):
    """A storage slot before and after a block."""

    before: Word
    after: Word


@dataclass(frozen=True, slots=True)
class StateChanges:
    """The difference that a block makes. It only lists real changes: before and after differ."""

    accounts: Mapping[Address, AccountChange] = field(default_factory=dict)
    storage: Mapping[tuple[Address, Slot], SlotChange] = field(default_factory=dict)
    codes: Mapping[Hash, bytes] = field(default_factory=dict)
    """New code by its hash."""
    cleared: frozenset[Address] = frozenset()
    """Accounts whose whole storage was deleted first (SELFDESTRUCT before Cancun; on coreth also the creation of a
    contract); their entries in `storage` were written afterwards."""


@dataclass(frozen=True, slots=True)
class ExecutedBlock:
    """The outcome of executing a block's transactions in order."""

    included: tuple[int, ...]
    """Indexes of the included transactions among the given ones."""
    results: tuple[TransactionResult, ...]
    """One for each included transaction, in the same order."""
    skipped: tuple[SkippedTransaction, ...]
    gas_used: int
    changes: StateChanges
    requests_hash: Hash | None
    """EIP-7685; None before Prague."""


class CallMessage(NamedTuple):
    """A read-only call, as eth_call and eth_estimateGas make it.

    Named tuples are faster to pass to the native engine, which reads the fields by position.
    """

    sender: Address
    to: Address | None
    """None: contract creation, with `data` as init code."""
    gas: int
    gas_price: int
    """Effective price in wei; 0 means that no balance is needed for gas and BASEFEE reads 0."""
    value: int
    data: bytes
    access_list: tuple[tuple[Address, tuple[Slot, ...]], ...] = ()
    authorizations: tuple[bytes, ...] = ()
    """EIP-7702 tuples as RLP; if there are any, the transaction is of type 4."""
    max_priority_fee: int | None = None
    blob_hashes: tuple[Hash, ...] = ()
    nonce: int | None = None
    """The sender's nonce, if it is to be checked; None: the nonce in the state."""


class CallResult(NamedTuple):
    """The outcome of a call. A failure inside the EVM is a value, not an exception."""

    output: bytes
    """Return data; for a creation the runtime code, for a revert the revert data."""
    gas_used: int
    """Gas used after refunds."""
    gas_peak: int
    """Gas used before refunds, the highest amount in use (for eth_estimateGas)."""
    error: str | None
    """None on success, "execution reverted", or geth's message for the failure ("out of gas" …)."""
    logs: tuple[Log, ...] = ()
    access_list: tuple[tuple[Address, tuple[Slot, ...]], ...] | None = None
    """Accessed addresses and slots, if requested, without the sender, the recipient (or created contract) and
    precompiles; addresses and keys are in ascending order."""

    @property
    def reverted(self) -> bool:
        """Whether the call ended in REVERT, so that `output` is the revert data."""
        return self.error == "execution reverted"


class GasEstimate(NamedTuple):
    """The gas that a call needs."""

    gas: int | None
    """A limit with which it succeeds; None if all the gas of the message is not enough."""
    failure: CallResult | None = None
    """The failure with all that gas, unless it is a lack of gas; then `gas` is None."""


class CallRejected(Exception):
    """A call that could not start: insufficient funds, gas below the intrinsic cost, bad access list.

    The message is geth's, without its "err: " prefix.
    """


class CallInterrupted(Exception):
    """A call that exceeded its gas allowance or its time limit."""


class GasAllowance:
    """Gas that a sequence of calls may use before they are aborted.

    It measures work and is invisible to the executed programs, whose gas is the message's. All
    execution counts, whatever its result, repeated runs included. The intrinsic cost of a transaction
    (21,000 and its bytes) does not count, except for the parts that take time.
    """

    __slots__ = ("left",)

    def __init__(self, gas: int) -> None:
        """Set the amount of gas that is allowed."""
        self.left = gas
        """Gas that may still be used."""

    def use(self, gas: int) -> None:
        """Subtract used gas. If it is more than is left, nothing remains: the call was stopped at the limit."""
        self.left -= min(gas, self.left)


class Engine(Protocol):
    """An EVM. It is stateless, so several threads may use it."""

    name: str
    """For logs and web3_clientVersion: "revm" or "ethereum-execution"."""
    fast: bool
    """Whether a few 100,000 gas take only milliseconds, so that short calls may run on the event
    loop."""

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
        (block production); without it, it raises (verification of a given block). The senders are those
        given with the transactions; only an impersonated sender may have code (EIP-3607).

        Raises:
            ExecutionInvalid: A transaction cannot be in the block, and skip_invalid is off.
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
        """Run one call on the state and discard its changes.

        Nonce and EIP-3607 are not checked; funds are, against value plus gas times price.
        `env.base_fee` counts as 0 when the message's gas price is 0.

        Args:
            env: The block environment of the call.
            message: The call.
            state: The state on which it runs.
            allowance: Abort before more gas than this is used (a first try on the event loop).
            time_limit: Abort after this many seconds.
            with_access_list: Also report the accessed addresses and slots.

        Raises:
            CallRejected: The call could not start.
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
        """Find the least gas with which a call succeeds, by geth's bisection (`estimation`).

        Runs are as in `call`; `state` is read once for each account and slot.

        Args:
            env: The block environment of the call.
            message: The call; its gas is the highest limit that is tried.
            state: The state on which it runs.
            error_ratio: The fraction by which the result may be too high.
            allowance: Abort before all runs together use more gas than this.
            time_limit: Abort after this many seconds for all runs together.

        Raises:
            CallRejected: The call could not start with all its gas, for a reason other than too little gas.
            CallInterrupted: A limit was reached.
        """


class ExecutionInvalid(InvalidBlock):
    """A block that an engine cannot execute; the message names the rule it breaks."""
