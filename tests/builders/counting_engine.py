"""An engine that tells what it was given to trace, and traces it."""

from typing import Any

from cchain_app.evm.engine import BlockEnv, CallMessage, StateReader
from cchain_app.evm.tracing import BlockTrace, Recording, TracingEngine, TransactionTrace


class CountingEngine:
    """Another engine's work, counted."""

    def __init__(self, engine: TracingEngine) -> None:
        self._engine = engine
        self.blocks: list[tuple[int, int, int]] = []
        """Of each execution of a block: its number, how many transactions, the first that is recorded."""
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def trace_block(
        self,
        env: BlockEnv,
        transactions: Any,
        state: StateReader,
        recording: Recording,
        *,
        first: int = 0,
        time_limit: float | None = None,
    ) -> BlockTrace:
        """Count and trace."""
        self.blocks.append((env.number, len(transactions), first))
        return self._engine.trace_block(
            env, transactions, state, recording, first=first, time_limit=time_limit
        )

    def trace_call(
        self,
        env: BlockEnv,
        message: CallMessage,
        state: StateReader,
        recording: Recording,
        **options: Any,
    ) -> TransactionTrace:
        """Count and trace."""
        self.calls += 1
        return self._engine.trace_call(env, message, state, recording, **options)
