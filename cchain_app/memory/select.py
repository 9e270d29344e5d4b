"""Which memory stands behind a chain: the native engine's own, or Python's."""

from cchain_app.memory.chain import Memory
from cchain_app.memory.state import PythonStateMemory

GAS_OF_REQUEST = 200_000
"""Gas of all calls of one body that are answered on an event loop."""

SECONDS_OF_REQUEST = 0.01
"""Against what gas does not measure, such as a machine that is busy with something else."""

GAS_OF_SHORTCUT = 10_000_000
SECONDS_OF_SHORTCUT = 0.001
"""The same for calls that the shortcut runs, which asks nobody: the clock is their measure. It is read every 50,000
gas, which the slowest work takes some milliseconds for; the same gas of reading storage takes a hundredth of that."""

SECONDS_OF_WHOLE = 0.004
"""What calls in whole requests and frames may take of the event loop together, each of them no more than above; it
comes back as time goes by (`loop_time.rs`)."""

SECONDS_IN_THREAD = 0.05
"""What calls of one body may take that the shortcut runs in a thread, each time it runs them: what takes longer the
method runs once more, from its beginning."""

SECONDS_OF_LONG = 60e-6
"""What a call takes in whole requests that is worth another thread where others come beside it: the way there and back
takes a third of it."""


def make_memory(*, native: bool, accounts: int, slots: int, blocks: int) -> Memory:
    """Return the memory of a chain that remembers so many of each at most.

    Args:
        native: Whether the native engine, which was built then, is the chain's.
        accounts: Accounts, and pending nonces.
        slots: Slots of all accounts together.
        blocks: Blocks with their transactions.
    """
    if not native:
        state = PythonStateMemory(accounts=accounts, slots=slots)
        return Memory(state, accounts=accounts, blocks=blocks)
    from cchain_app.memory.native import NativeStateMemory

    known = NativeStateMemory(accounts=accounts, slots=slots)
    answers = known.answers(
        gas=GAS_OF_SHORTCUT,
        seconds=SECONDS_OF_SHORTCUT,
        whole_seconds=SECONDS_OF_WHOLE,
        thread_seconds=SECONDS_IN_THREAD,
        long_seconds=SECONDS_OF_LONG,
    )
    return Memory(known, accounts=accounts, blocks=blocks, answers=answers)
