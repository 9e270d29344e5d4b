"""Why and in which frame a transaction or call failed, as text (tracing.md 4 and 8). Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cchain_app.evm import failures
from cchain_app.evm.failures import ERROR_SELECTOR, PANIC_SELECTOR, reason_of
from cchain_app.evm.tracing import Frame
from cchain_app.transaction_log.abi import SELECTOR_BYTES
from cchain_app.transaction_log.declarations import KnownSignatures
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

_PANIC_BYTES: Final = 36
_MAX_BYTES: Final = 256
"""Bytes of an unknown error that are shown."""


class FailureText(NamedTuple):
    """A failure as text."""

    reason: str
    """The reason of the failure."""
    frame: str | None = None
    """The inner call in which the failure began; None: the transaction's own frame."""


def failure_of(frames: Sequence[Frame], known: KnownSignatures) -> FailureText | None:
    """Return why the outermost frame failed; None if it did not."""
    path = failure_path(frames)
    if not path:
        return None
    inner = path[-1]
    frame = _named(inner, known) if inner.depth else None
    if inner.error != failures.REVERTED:
        return FailureText(str(inner.error), frame)
    contracts = [item.to for item in reversed(path) if item.to is not None]
    return FailureText(reverted_with(inner.output, known, contracts), frame)


def failure_path(frames: Sequence[Frame]) -> list[Frame]:
    """Return the failed frames from the outermost one to the one in which the failure began.

    A frame that reverts with the same output as its last call passes on the failure of that call.
    """
    path: list[Frame] = []
    start = 0
    while start < len(frames) and frames[start].error is not None:
        frame = frames[start]
        path.append(frame)
        last = _last_call(frames, start)
        if last is None or frame.error != failures.REVERTED:
            break
        if frames[last].output != frame.output:
            break
        start = last
    return path


def _last_call(frames: Sequence[Frame], start: int) -> int | None:
    """Return the index of the last direct call of a frame."""
    depth = frames[start].depth
    last = None
    for index in range(start + 1, len(frames)):
        if frames[index].depth <= depth:
            break
        if frames[index].depth == depth + 1:
            last = index
    return last


def reverted_with(output: bytes, known: KnownSignatures, contracts: Sequence[Address] = ()) -> str:
    """Return revert data as text.

    Args:
        output: The revert data.
        known: Names of errors.
        contracts: The contracts that reverted with it, the one that did so first at the beginning.
    """
    if not output:
        return "reverted without a reason"
    reason = reason_of(output)
    if reason is not None and output.startswith(ERROR_SELECTOR):
        return f"reverted with reason string '{reason}'"
    if reason is not None and output.startswith(PANIC_SELECTOR):
        code = int.from_bytes(output[SELECTOR_BYTES:_PANIC_BYTES], "big")
        return f"reverted with panic code {code:#x} ({reason})"
    if len(output) < SELECTOR_BYTES:
        return f"reverted with data 0x{output.hex()}"
    shown = known.error(output, contracts)
    if shown is None:
        shown = f"0x{output[:SELECTOR_BYTES].hex()}"
        if arguments := output[SELECTOR_BYTES:]:
            cut = "…" if len(arguments) > _MAX_BYTES else ""
            shown += f" with data 0x{arguments[:_MAX_BYTES].hex()}{cut}"
    return f"reverted with custom error {shown}"


def _named(frame: Frame, known: KnownSignatures) -> str:
    """Return a frame as `TYPE ADDRESS METHOD`."""
    parts = [frame.type]
    if frame.to is not None:
        parts.append(checksum_address(frame.to))
    if not frame.type.startswith("CREATE") and (method := known.method(frame.input, frame.to)):
        parts.append(method)
    return " ".join(parts)
