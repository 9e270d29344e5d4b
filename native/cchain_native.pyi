"""The native engine as Python sees it: plain values in, plain values out."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, Self, TypeAlias, final

__version__: str

Account: TypeAlias = tuple[int, int, bytes]
"""Nonce, balance, code hash."""
LogValues: TypeAlias = tuple[bytes, tuple[bytes, ...], bytes]
AccessListValues: TypeAlias = list[tuple[bytes, tuple[bytes, ...]]]
Outcome: TypeAlias = tuple[bool, int, list[LogValues], bytes | None]
"""Succeeded, gas used, logs, created contract."""
Changes: TypeAlias = tuple[
    dict[bytes, tuple[Account | None, Account | None]],
    dict[tuple[bytes, bytes], tuple[bytes, bytes]],
    dict[bytes, bytes],
    list[bytes],
]
"""Accounts and slots before and after, new codes, cleared accounts."""
Block: TypeAlias = tuple[
    list[int], list[Outcome], list[tuple[int, str, bool]], int, Changes, bytes | None
]
"""Included, outcomes, skipped, gas used, changes, requests hash."""
Answer: TypeAlias = tuple[bytes, int, int, str | None, list[LogValues], AccessListValues | None]
"""Output, gas used, gas peak, error, logs, access list."""
OpcodeUse: TypeAlias = tuple[
    dict[int, int],
    dict[bytes, bytes],
    dict[bytes, int],
    dict[bytes, int],
    dict[bytes, int],
    list[bytes],
    dict[bytes, tuple[int, int]],
]
"""Counts by opcode, values of slots that were read, counts of slots that were written, of transient
slots that were read and written, accounts whose code was looked at, size of code and opcode by account."""
Frame: TypeAlias = tuple[
    int,
    str,
    bytes,
    bytes | None,
    int | None,
    int,
    int,
    bytes,
    bytes,
    str | None,
    bool,
    OpcodeUse | None,
]
"""Depth, type, sender, to, value, gas, gas used, input, output, error, precompile, opcodes."""
TouchedState: TypeAlias = tuple[
    dict[bytes, Account | None],
    dict[bytes, dict[bytes, bytes]],
    dict[bytes, bytes],
    Changes,
]
"""Accounts, slots by account, codes, changes."""
Trace: TypeAlias = tuple[
    bool,
    int,
    int,
    int,
    bytes,
    str | None,
    list[LogValues],
    bytes | None,
    list[Frame],
    list[tuple[int, int]],
    TouchedState | None,
    bytes,
    bytes,
    list[bytes],
]
"""Succeeded, gas limit, gas used, gas peak, output, error, logs, created contract, frames, of each log
its frame and the calls of that before it, state, steps, vm, preimages."""

class InvalidBlock(Exception): ...
class CallRejected(Exception): ...
class CallInterrupted(Exception): ...
class TraceTooLarge(Exception): ...

def execute_block(
    env: object, transactions: Sequence[object], state: object, *, skip_invalid: bool
) -> Block: ...
def close_block(
    env: object, state: object, logs: Sequence[tuple[object, ...]]
) -> tuple[Changes, bytes | None]: ...

class Allowance(Protocol):
    @property
    def left(self) -> int: ...
    def use(self, gas: int) -> None: ...

@final
class Environment:
    def __new__(cls, env: object) -> Self: ...

@final
class StateMemory:
    """Accounts and slots as of one height."""

    def __new__(cls, accounts: int, slots: int) -> Self: ...
    @property
    def number(self) -> int | None: ...
    def version_at(self, number: int) -> int | None: ...
    def account(self, address: bytes, number: int) -> Account | Literal[False] | None: ...
    def slot(self, address: bytes, slot: bytes, number: int) -> bytes | None: ...
    def remember_accounts(
        self, accounts: list[tuple[bytes, Account | None]], version: int | None
    ) -> None: ...
    def remember_slot(
        self, address: bytes, slot: bytes, value: bytes, version: int | None
    ) -> None: ...
    def advance(self, number: int, changes: object) -> None: ...
    def move_to(
        self, number: int, accounts: list[bytes], slots: list[tuple[bytes, bytes]]
    ) -> None: ...
    def reset(self, number: int) -> None: ...
    def kept(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]: ...

@final
class HotAnswers:
    """Answers to frequent requests about the head of a chain."""

    def __new__(
        cls,
        memory: StateMemory,
        most_bytes: int,
        gas: int,
        seconds: float,
        whole_seconds: float,
        thread_seconds: float,
        long_seconds: float,
    ) -> Self: ...
    @property
    def epoch(self) -> int: ...
    def begin_move(self) -> None: ...
    def set_head(self, number: int, begins: bool) -> None: ...
    def end_epoch(self) -> None: ...
    def keep(self, epoch: int, method: str, result: bytes) -> None: ...
    def keep_by_hash(self, epoch: int, method: str, hash: bytes, result: bytes) -> None: ...
    def keep_block(
        self, epoch: int, number: int, hash: bytes, full: bool, result: bytes
    ) -> None: ...
    def keep_environment(self, epoch: int, env: object, gas_cap: int, watched: bytes) -> None: ...
    def keep_estimates(
        self, epoch: int, gas: int, most_gas: int, error_ratio: float, is_default: bool
    ) -> None: ...
    def kept(self) -> tuple[int, int]: ...
    def answer(
        self, body: bytes, may_call: bool, most_calls: int, most_bytes: int
    ) -> tuple[bytes, str | dict[str, int] | None] | None: ...
    def answer_in_thread(
        self, body: bytes, call_slots: CallSlots, reads: bool, most_calls: int, most_bytes: int
    ) -> tuple[bytes, str | dict[str, int]] | UnreadState | None: ...
    def whole_requests(
        self,
        on_answered: Callable[[str | dict[str, int], float], None],
        most_calls: int,
        most_bytes: int,
        threads: int,
        near_seconds: float,
    ) -> WholeAnswers: ...
    def whole_frames(
        self,
        on_answered: Callable[[str | dict[str, int], float], None],
        most_calls: int,
        most_bytes: int,
        longest: int,
    ) -> FrameAnswers: ...

@final
class UnreadState:
    """What the calls of a body asked for that is not remembered of the state at a height."""

    @property
    def number(self) -> int: ...
    @property
    def accounts(self) -> list[bytes]: ...
    @property
    def slots(self) -> list[tuple[bytes, bytes]]: ...

@final
class WholeAnswers:
    """Answers to whole requests over HTTP."""

    def keep_head(
        self, head: bytes, length: int, longest: int, start: bytes, defaults: object
    ) -> None: ...
    def serve(self, data: bytes, defaults: object, connection: int) -> bytes | None: ...
    def fileno(self) -> int | None: ...
    def finished(self) -> list[tuple[int, bytes | None]]: ...

@final
class FrameAnswers:
    """Answers to whole frames of a WebSocket."""

    def serve(self, data: bytes) -> tuple[bytes, int] | None: ...

def render_log_rows(rows: list[tuple[object, ...]], first: int, most: int) -> bytes: ...
def render_logs(
    logs: tuple[LogValues, ...], place: tuple[int, bytes, int, bytes, int], first: int
) -> tuple[bytes, list[int]]: ...
def encode_logs(logs: tuple[LogValues, ...]) -> tuple[bytes, bytes]: ...

@final
class CallSlots:
    def __new__(cls, count: int) -> Self: ...

def call(
    call_slots: CallSlots,
    environment: Environment,
    message: tuple[object, ...],
    state: object,
    allowance: Allowance | None,
    time_limit: float | None,
    with_access_list: bool,
) -> Answer: ...
def estimate(
    call_slots: CallSlots,
    environment: Environment,
    message: tuple[object, ...],
    state: object,
    allowance: Allowance | None,
    time_limit: float | None,
    error_ratio: float,
) -> tuple[int | None, Answer | None]: ...
def trace_block(
    call_slots: CallSlots,
    env: object,
    transactions: Sequence[object],
    state: object,
    recording: tuple[object, ...],
    first: int,
    time_limit: float | None,
) -> tuple[Changes, list[Trace]]: ...
def trace_call(
    call_slots: CallSlots,
    environment: Environment,
    message: tuple[object, ...],
    state: object,
    recording: tuple[object, ...],
    validate: bool,
    free: bool,
    time_limit: float | None,
) -> Trace: ...
def recover_senders(
    signatures: Sequence[tuple[bytes, int, int, int]],
) -> list[bytes | None]: ...
def keccak256(data: bytes) -> bytes: ...
def ordered_root(items: Sequence[bytes]) -> bytes: ...
def bls_public_key(secret: bytes) -> bytes: ...
def bls_sign(secret: bytes, message: bytes, tag: bytes) -> bytes: ...
def bls_is_signature(signature: bytes) -> bool: ...
def bls_verify(key: bytes, message: bytes, signature: bytes, tag: bytes) -> bool: ...
def bls_aggregate_public_keys(keys: Sequence[bytes]) -> bytes | None: ...
def bls_aggregate_signatures(signatures: Sequence[bytes]) -> bytes | None: ...
def kzg_verify_blobs(
    blobs: Sequence[bytes], commitments: Sequence[bytes], proofs: Sequence[bytes]
) -> bool: ...
def kzg_verify_cells(
    blobs: Sequence[bytes], commitments: Sequence[bytes], proofs: Sequence[bytes]
) -> bool: ...
def kzg_commitment(blob: bytes) -> bytes: ...
def kzg_blob_proof(blob: bytes, commitment: bytes) -> bytes: ...
def kzg_cell_proofs(blob: bytes) -> list[bytes]: ...

class MissingNode(Exception): ...
class ForeignNode(Exception): ...
class MissingAccount(Exception): ...

@final
class StateTrie:
    def __new__(cls, capacity: int, of_coreth: bool = False) -> Self: ...
    def update(
        self, root: bytes, changes: object, reader: object
    ) -> tuple[bytes, dict[bytes, bytes | None]]: ...
    def prove(
        self, root: bytes, address: bytes, slots: Sequence[bytes], reader: object
    ) -> tuple[Account | None, bytes, list[bytes], list[tuple[bytes, list[bytes]]]]: ...
    def commit(self, root: bytes) -> None: ...
