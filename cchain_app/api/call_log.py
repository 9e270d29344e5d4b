"""Reports called RPC methods to the transaction log; RPC endpoints use it for each call."""

from collections.abc import Iterable
from typing import Final

from cchain_app.services.transaction_log import TransactionLog
from cchain_app.transaction_log.methods import acts

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
