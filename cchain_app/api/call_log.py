"""Tells the log which RPC methods are called: the part that doors ask for each call."""

from collections.abc import Iterable
from typing import Final

from cchain_app.services.transaction_log import TransactionLog
from cchain_app.transaction_log.methods import acts

TELL_THEMSELVES: Final = frozenset({"eth_call", "eth_estimateGas"})
"""Handlers that tell the log of their calls, with what those say by console.log."""


class CallNames:
    """Hands the names of called methods to the log, of a door and once for each call.

    Args:
        log: Takes them.
        methods: Those that there are.
    """

    def __init__(self, log: TransactionLog, methods: Iterable[str]) -> None:
        self._log = log
        self._acts = {name: acts(name) for name in methods}

    def announce(self, method: str, count: int) -> None:
        """Tell of calls of a method; for any thread, also that of the event loop."""
        that_act = self._acts.get(method)
        if method in TELL_THEMSELVES or not self._log.takes_calls(that_act=that_act is not False):
            return
        self._log.called(method, count, exists=that_act is not None)
