"""An engine that counts the blocks and calls that it traces."""

from typing import Any

from cchain_app.evm.engine import BlockEnv, CallMessage, StateReader
from cchain_app.evm.tracing import BlockTrace, Recording, TracingEngine, TransactionTrace


class CountingEngine:
    """A wrapper that counts the work of another engine."""

    def __init__(self, engine: TracingEngine) -> None:
        self._engine = engine
        self.blocks: list[tuple[int, int, int]] = []
        """Per executed block: its number, the number of transactions, the first recorded index."""
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
        """Count the block and trace it."""
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
        """Count the call and trace it."""
        self.calls += 1
        return self._engine.trace_call(env, message, state, recording, **options)
