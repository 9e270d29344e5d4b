"""Reasons for rejecting a block, with the reference's messages (pchain.md 4).

Parsing bytes that are not a block raises a `primitives.codec_errors.CodecError`; for a block from
another node, that error becomes the reason of an `UnreadableBlock`.

InvalidBlock
├── UnreadableBlock                                             its bytes; has the reason
├── UnknownParent · WrongHeight · ApricotAfterFork
├── TimeBeforeChain · TimeTooFarAhead · TimeAfterStakerChange   its time
├── NoStateChanges · ConflictingTxs                             its transactions as a whole
├── RefusedTx                                                   one of them; has the reason
└── InvalidOption                                               NoProposal · OptionTimeDiffers
"""

from platform_app.executor.errors import moment
from primitives.codec_errors import CodecError
from primitives.ids import ID
from utxo.errors import InvalidTx


class InvalidBlock(Exception):
    """A block that cannot be accepted."""


class UnreadableBlock(InvalidBlock):
    """Bytes that are not a block, that have trailing data, or that are too long."""

    def __init__(self, reason: CodecError) -> None:
        super().__init__(f"failed to parse block: {reason}")
        self.reason = reason


class UnknownParent(InvalidBlock):
    """A block whose parent is not the expected one."""

    def __init__(self, expected: ID, got: ID) -> None:
        super().__init__(f"unexpected parent: expected {expected} but got {got}")
        self.expected = expected
        self.got = got


class WrongHeight(InvalidBlock):
    """A height that is not the parent's plus 1."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__(f"incorrect block height expected {expected}, but found {got}")
        self.expected = expected
        self.got = got


class ApricotAfterFork(InvalidBlock):
    """A block without a timestamp."""

    def __init__(self, timestamp: int) -> None:
        super().__init__(f"apricot block issued after fork: timestamp = {moment(timestamp)}")
        self.timestamp = timestamp


class TimeBeforeChain(InvalidBlock):
    """A time before the chain's time."""

    def __init__(self, time: int, chain_time: int) -> None:
        super().__init__(
            "proposed timestamp before current chain time: "
            f"proposed timestamp ({moment(time)}), chain time ({moment(chain_time)})"
        )
        self.time = time
        self.chain_time = chain_time


class TimeTooFarAhead(InvalidBlock):
    """A time too far ahead of the node's clock."""

    def __init__(self, time: int, now: int) -> None:
        super().__init__(
            "proposed timestamp is too far in the future relative to local time, "
            f"proposed time ({moment(time)}), local time ({moment(now)})"
        )
        self.time = time
        self.now = now


class TimeAfterStakerChange(InvalidBlock):
    """A time after the next change of the staker sets."""

    def __init__(self, time: int, change: int) -> None:
        super().__init__(
            "proposed timestamp later than next staker change time, "
            f"proposed timestamp ({moment(time)}), next staker change time ({moment(change)})"
        )
        self.time = time
        self.change = change


class NoStateChanges(InvalidBlock):
    """A standard block that changes nothing."""

    def __init__(self) -> None:
        super().__init__("BanffStandardBlock performs no state changes")


class ConflictingTxs(InvalidBlock):
    """Two transactions that import the same output."""

    def __init__(self) -> None:
        super().__init__("block contains conflicting transactions")


class RefusedTx(InvalidBlock):
    """A transaction that cannot be accepted."""

    def __init__(self, tx_id: ID, reason: InvalidTx) -> None:
        super().__init__(f"tx {tx_id} failed execution: {reason}")
        self.tx_id = tx_id
        self.reason = reason


class InvalidOption(InvalidBlock):
    """A commit or abort block that does not match a proposal block."""


class NoProposal(InvalidOption):
    """An option whose parent is not a proposal block, or another child of a proposal block."""

    def __init__(self) -> None:
        super().__init__("option blocks follow proposal blocks, and nothing else does")


class OptionTimeDiffers(InvalidOption):
    """An option's time differs from its proposal's."""

    def __init__(self, proposal_time: int, option_time: int) -> None:
        super().__init__(
            "option block proposed timestamp not matching parent block one "
            f"parent block timestamp ({moment(proposal_time)}) "
            f"option block timestamp ({moment(option_time)})"
        )
        self.proposal_time = proposal_time
        self.option_time = option_time
