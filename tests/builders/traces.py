"""Frames and transaction traces as engines record them, with chosen contents."""

from typing import Any

from cchain_app.evm.tracing import Frame, TransactionTrace
from primitives.evm import Address

CALLER = Address(b"\xca" * 20)
CALLEE = Address(b"\xce" * 20)
OTHER = Address(b"\x0e" * 20)
PRECOMPILE = Address(bytes(19) + b"\x02")


def frame(depth: int = 0, **changes: Any) -> Frame:
    """Return a successful call with the changes."""
    values: dict[str, Any] = {
        "depth": depth,
        "type": "CALL",
        "sender": CALLER,
        "to": CALLEE,
        "value": 0,
        "gas": 50_000,
        "gas_used": 700,
        "input": b"\x01\x02",
        "output": b"\x03",
        "error": None,
        "precompile": False,
    }
    return Frame(**{**values, **changes})


def selfdestruct(depth: int, **changes: Any) -> Frame:
    """Return a SELFDESTRUCT of the called contract, with the changes."""
    values: dict[str, Any] = {
        "type": "SELFDESTRUCT",
        "sender": CALLEE,
        "to": OTHER,
        "value": 12,
        "gas": 0,
        "gas_used": 0,
        "input": b"",
        "output": b"",
    }
    return frame(depth, **{**values, **changes})


def trace(*frames: Frame, **changes: Any) -> TransactionTrace:
    """Return the trace of a transaction with these frames, with the changes."""
    top = frames[0] if frames else frame()
    values: dict[str, Any] = {
        "succeeded": top.error is None,
        "gas_limit": top.gas + 21_000,
        "gas_used": top.gas_used + 21_000,
        "gas_peak": top.gas_used + 21_000,
        "output": top.output,
        "error": top.error,
        "logs": (),
        "contract_address": None,
        "frames": frames,
    }
    return TransactionTrace(**{**values, **changes})
