"""The shortcut of the dispatcher: bodies that the native engine answers from bytes to bytes.

What it answers is what clients ask most: balances, nonces, code, slots and calls at the head, and what was asked
before and is still true. All else, and every other way of writing it, is the dispatcher's, which is the definition.
"""

import os
import time
from collections.abc import Callable

from cchain_app.api.call_log import TELL_THEMSELVES
from cchain_app.chain import EvmChain
from cchain_app.selectors.state import prefetch
from cchain_app.services.transaction_log import TransactionLog
from jsonrpc.dispatch.dispatcher import Limits, Shortcut, ShortcutAnswer
from jsonrpc.http.replies import WholeFrames, WholeRequests
from jsonrpc.limits.memory import SMALL
from jsonrpc.limits.turn import LoopTurn
from primitives.evm import Address, Slot

Names = str | dict[str, int]
"""The name of a method; of a batch the number of calls by name."""

Told = Callable[[Names, float], None]

READINGS = 4
"""So often what calls ask for is read together; what needs more rounds reads by itself, one after the other."""

CORES = os.cpu_count() or 1
"""A process has its share of them in threads of native code, in which long calls of several connections run side by
side: none takes longer than an event loop can bear. Where that is one core, they stay on the loop."""

NEAR_SECONDS = 0.005
"""Within so long they are of several connections. One connection alone waits for no other thread."""

_ESTIMATE = b"eth_estimateGas"
_CALL = b"eth_call"


def whole_requests(
    chain: EvmChain, log: TransactionLog, told: Told, limits: Limits
) -> WholeRequests | None:
    """Return what answers whole requests over HTTP; None where the chain's engine has no such.

    Calls in them ask for no turn of the event loop: that would have it look for what has arrived once more,
    which takes longer than a small call. Time that comes back as it goes by bounds them (`loop_time.rs`), those in
    frames with them, and what finds too little of it, or needs more, is left to the shortcut. Calls that are long, but
    not too long for that, run in threads of the crate when they come on several connections.

    Args:
        chain: Whose memory is asked.
        log: Is told of calls, as the method tells it.
        told: Takes the names of what was answered, as the shortcut gives them, and the seconds it took.
        limits: Of a batch.
    """
    answers = chain.memory.answers
    if answers is None:
        return None
    told = _logging_calls(log, told)
    threads = max(1, CORES // chain.node.web_workers)
    return answers.whole_requests(told, limits.batch, limits.response, threads, NEAR_SECONDS)


def whole_frames(
    chain: EvmChain, log: TransactionLog, told: Told, limits: Limits
) -> WholeFrames | None:
    """Return what answers frames of WebSockets; None where there is none. Takes what `whole_requests` does."""
    answers = chain.memory.answers
    if answers is None:
        return None
    return answers.whole_frames(_logging_calls(log, told), limits.batch, limits.response, SMALL)


def shortcut_of(chain: EvmChain, log: TransactionLog, turn: LoopTurn) -> Shortcut | None:
    """Return the shortcut of a chain, None where its engine has none.

    Args:
        chain: Whose memory is asked.
        log: Is told of calls, as the method tells it.
        turn: What calls may take of the event loop's, together with all others but those in whole requests.
    """
    answers = chain.memory.answers
    if answers is None:
        return None
    answer = answers.answer

    def shortcut(body: bytes, most_calls: int, most_bytes: int) -> ShortcutAnswer | None:
        # To ask for the turn has the loop look for what has arrived once more: only calls take enough to be asked for.
        if not _may_hold_calls(body):
            return answer(body, False, most_calls, most_bytes)
        found = answer(body, not turn.is_spent(), most_calls, most_bytes)
        if found is not None and found[1] is not None:
            _log_calls(log, found[1])
        return found

    return shortcut


def thread_shortcut_of(chain: EvmChain, log: TransactionLog) -> Shortcut | None:
    """Return the shortcut of a chain for threads, None where its engine is none that has one.

    It runs calls that are no small ones, in the engine's call slots and without the interpreter lock. What they ask for
    that is not remembered is read together, some times at most: what they read may tell what else they ask for. What
    else a body may hold the event loop has tried already.

    Args:
        chain: Whose memory is asked.
        log: Is told of calls, as the method tells it.
    """
    answers, engine = chain.memory.answers, chain.engine
    if answers is None:
        return None
    # Only here: there is no such module where the crate was not built.
    from cchain_app.evm.native import NativeEngine

    if not isinstance(engine, NativeEngine):
        return None
    call_slots = engine.call_slots

    def shortcut(body: bytes, most_calls: int, most_bytes: int) -> ShortcutAnswer | None:
        if not _may_hold_calls(body):
            return None
        # What a fork has not fetched yet the method asks for.
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


def _logging_calls(log: TransactionLog, told: Told) -> Told:
    """Return what tells the log of calls as well."""

    def logged(names: Names, seconds: float) -> None:
        _log_calls(log, names)
        told(names, seconds)

    return logged


def _log_calls(log: TransactionLog, names: Names) -> None:
    if isinstance(names, str):
        if names in TELL_THEMSELVES and log.takes_calls(that_act=True):
            log.called(names)
        return
    for name in TELL_THEMSELVES & names.keys():
        if log.takes_calls(that_act=True):
            log.called(name, names[name])
