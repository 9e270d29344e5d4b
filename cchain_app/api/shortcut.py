"""The dispatcher's shortcut: the native engine answers frequent request bodies from bytes to bytes.

It answers the most frequent methods: balances, nonces, code, slots and calls at the head, and repeated requests whose
answers are still valid. All other bodies, and all other spellings, go to the dispatcher, which defines the behaviour.
Both report called methods to the transaction log (`CallNames`).
"""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from cchain_app.api.errors import CallFailed
from cchain_app.chain import EvmChain
from cchain_app.selectors.state import prefetch
from cchain_app.services.transaction_log import TransactionLog
from cchain_app.transaction_log.waiting import CallFailure, acts
from jsonrpc.dispatch.calls import DispatchLimits, Shortcut, ShortcutAnswer
from jsonrpc.dispatch.dispatcher import SMALL_BODY
from jsonrpc.errors import REVERTED, JsonRpcError
from jsonrpc.http.replies import WholeFrames, WholeRequests
from jsonrpc.limits.interpreter import LoopTurn
from jsonrpc.limits.memory import SMALL
from primitives.evm import Address, Slot

Names = str | dict[str, int]
"""The name of a method; for a batch the number of calls by name."""

Told = Callable[[Names, float], None]

READINGS = 4
"""Maximum number of rounds in which the state that calls need is read in bulk. A call that needs more rounds reads item
by item."""

CORES = os.cpu_count() or 1
"""Cores of the machine. A process uses its share of them as native threads, in which long calls of several connections
run in parallel; none of these calls is too long for an event loop. With a share of one core they stay on the loop."""

NEAR_SECONDS = 0.005
"""Calls within this time count as simultaneous. Calls of a single connection never wait for another thread."""

_ESTIMATE = b"eth_estimateGas"
_CALL = b"eth_call"


def whole_requests(
    chain: EvmChain, log: TransactionLog, on_answered: Told, limits: DispatchLimits
) -> WholeRequests | None:
    """Return the handler of whole HTTP requests; None if the chain's engine has none.

    Calls in whole requests do not ask for a turn of the event loop, because asking makes the loop poll for new input,
    which takes longer than a small call. A time budget that refills as time passes limits them together with calls in
    frames (`loop_time.rs`). A call that finds too little of it, or needs more, is left to the shortcut. Long calls
    that fit into the budget run in threads of the crate if they come on several connections.

    Args:
        chain: The chain whose memory has the answers.
        log: Logs the calls, as the method itself does.
        on_answered: Receives the names of answered methods, in the shortcut's format, and the seconds they took.
        limits: The limits of a batch.
    """
    answers = chain.memory.answers
    if answers is None:
        return None
    on_answered = _logging_calls(log, on_answered)
    threads = max(1, CORES // chain.node.web_workers)
    return answers.whole_requests(on_answered, limits.batch, limits.response, threads, NEAR_SECONDS)


def whole_frames(
    chain: EvmChain, log: TransactionLog, on_answered: Told, limits: DispatchLimits
) -> WholeFrames | None:
    """Return the handler of WebSocket frames; None if the engine has none. The arguments are those of `whole_requests`."""
    answers = chain.memory.answers
    if answers is None:
        return None
    return answers.whole_frames(
        _logging_calls(log, on_answered), limits.batch, limits.response, SMALL
    )


def shortcut_of(chain: EvmChain, log: TransactionLog, turn: LoopTurn) -> Shortcut | None:
    """Return the shortcut of a chain; None if its engine has none.

    Args:
        chain: The chain whose memory has the answers.
        log: Logs the calls, as the method itself does.
        turn: The time of the event loop that these calls share with all others but those in whole requests.
    """
    answers = chain.memory.answers
    if answers is None:
        return None
    answer = answers.answer

    def shortcut(body: bytes, most_calls: int, most_bytes: int) -> ShortcutAnswer | None:
        # Asking for the turn makes the loop poll for new input, so only bodies with calls, which take longer, ask.
        if not _may_hold_calls(body):
            return answer(body, False, most_calls, most_bytes)
        found = answer(body, not turn.is_spent(), most_calls, most_bytes)
        if found is not None and found[1] is not None:
            _log_calls(log, found[1])
        return found

    return shortcut


def thread_shortcut_of(chain: EvmChain, log: TransactionLog) -> Shortcut | None:
    """Return the shortcut of a chain for threads; None if its engine has none.

    It runs calls that are not small, in the engine's call slots and without the interpreter lock. State that they need
    and that is not in memory is read in bulk, in a few rounds at most, because each read may show what further state
    they need. Small bodies without calls are not tried, because the event loop has tried them already; it leaves larger
    ones to threads untried if other requests have used up its turn.

    Args:
        chain: The chain whose memory has the answers.
        log: Logs the calls, as the method itself does.
    """
    answers, engine = chain.memory.answers, chain.engine
    if answers is None:
        return None
    # Imported here because the module exists only if the crate was built.
    from cchain_app.evm.native import NativeEngine

    if not isinstance(engine, NativeEngine):
        return None
    call_slots = engine.call_slots

    def shortcut(body: bytes, most_calls: int, most_bytes: int) -> ShortcutAnswer | None:
        if len(body) <= SMALL_BODY and not _may_hold_calls(body):
            return None
        # On a fork, the method itself fetches missing state from upstream.
        reads = chain.fork is None
        end = time.monotonic() + chain.call_seconds
        for _ in range(READINGS):
            found = answers.answer_in_thread(body, call_slots, reads, most_calls, most_bytes)
            if isinstance(found, tuple):
                _log_calls(log, found[1])
                return found
            if found is None or time.monotonic() > end:
                return None
            accounts = map(Address, found.accounts)
            slots = ((Address(address), Slot(slot)) for address, slot in found.slots)
            prefetch(chain, accounts, slots, found.number)
        return None

    return shortcut


def _may_hold_calls(body: bytes) -> bool:
    return _CALL in body or _ESTIMATE in body


def _logging_calls(log: TransactionLog, on_answered: Told) -> Told:
    """Return a callback that also logs the calls."""

    def logged(names: Names, seconds: float) -> None:
        _log_calls(log, names)
        on_answered(names, seconds)

    return logged


def _log_calls(log: TransactionLog, names: Names) -> None:
    if isinstance(names, str):
        if names in TELL_THEMSELVES and log.takes_calls(that_act=True):
            log.called(names)
        return
    for name in TELL_THEMSELVES & names.keys():
        if log.takes_calls(that_act=True):
            log.called(name, names[name])


TELL_THEMSELVES: Final = frozenset({"eth_call", "eth_estimateGas"})
"""Methods whose handlers log their own calls, together with console.log messages."""


class CallNames:
    """Reports the names of called methods to the log, once for each call.

    Args:
        log: The log that receives the names.
        methods: The names of all existing methods.
    """

    def __init__(self, log: TransactionLog, methods: Iterable[str]) -> None:
        self._log = log
        self._acts = {name: acts(name) for name in methods}

    def announce(self, method: str, count: int) -> None:
        """Report a number of calls of a method; safe to call from any thread, including the event loop's."""
        that_act = self._acts.get(method)
        if method in TELL_THEMSELVES or not self._log.takes_calls(that_act=that_act is not False):
            return
        self._log.called(method, count, exists=that_act is not None)

    def report(self, method: str, error: JsonRpcError) -> None:
        """Report the error of a call; safe to call from any thread."""
        data = None
        if error.code == REVERTED and isinstance(error.data, str):
            with suppress(ValueError):  # a fork's remote node may have sent anything
                data = bytes.fromhex(error.data.removeprefix("0x"))
        trace = error.trace if isinstance(error, CallFailed) else None
        self._log.failed(method, CallFailure(error.code, error.message, data), trace=trace)
