"""Selects the memory of a chain: the native engine's or Python's."""

from cchain_app.memory.chain import Memory
from cchain_app.memory.state import PythonStateMemory

GAS_OF_REQUEST = 200_000
"""Gas limit of all calls of one body that are answered on an event loop."""

SECONDS_OF_REQUEST = 0.01
"""Time limit, for causes that gas does not measure, such as a machine that is busy with other work."""

GAS_OF_SHORTCUT = 10_000_000
SECONDS_OF_SHORTCUT = 0.001
"""The same limits for calls that the shortcut runs from memory alone. The time limit is the one that matters. The clock
is read every 50,000 gas, which take some milliseconds for the slowest operations and a hundredth of that for reading
storage."""

SECONDS_OF_WHOLE = 0.004
"""Time limit on the event loop of all calls in whole requests and frames together; each call is also subject to the
limit above. The allowance recovers as time passes (`loop_time.rs`)."""

SECONDS_IN_THREAD = 0.5
"""Time limit of the calls of one body that the shortcut runs in a thread, each time it runs them. It counts by the clock,
also while other calls have their turn: four calls of 10 M gas on two processors need a tenth to a quarter of it. A call
that exceeds it is executed again by its method, from the beginning, for a tenth more of the time that a call may take by
default (NODE_RPC_CALL_TIMEOUT)."""

SECONDS_OF_LONG = 60e-6
"""Minimum duration of a call in whole requests for which another thread pays off while other calls arrive. Switching
to the thread and back takes a third of it."""


def make_memory(
    *, native: bool, accounts: int, slots: int, blocks: int, answers: bool = True
) -> Memory:
    """Return the memory of a chain with the given limits.

    Args:
        native: Whether the chain uses the native engine, which then has been built.
        accounts: Limit of accounts, and of pending nonces.
        slots: Limit of slots of all accounts together.
        blocks: Limit of blocks, with their transactions.
        answers: Whether the native engine may answer requests itself.
    """
    if not native:
        state = PythonStateMemory(accounts=accounts, slots=slots)
        return Memory(state, accounts=accounts, blocks=blocks)
    from cchain_app.memory.native import NativeStateMemory

    known = NativeStateMemory(accounts=accounts, slots=slots)
    if not answers:
        return Memory(known, accounts=accounts, blocks=blocks)
    own = known.answers(
        gas=GAS_OF_SHORTCUT,
        seconds=SECONDS_OF_SHORTCUT,
        whole_seconds=SECONDS_OF_WHOLE,
        thread_seconds=SECONDS_IN_THREAD,
        long_seconds=SECONDS_OF_LONG,
    )
    return Memory(known, accounts=accounts, blocks=blocks, answers=own)
