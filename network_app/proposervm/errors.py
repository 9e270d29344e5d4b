"""Errors of outer blocks: malformed bytes, or a block that may not follow its parent (p2p.md 11).

OuterBlockError
├── MalformedBlock
│   ├── NotAnOuterBlock         another version, type or length: a bare block, or not a block
│   ├── UnexpectedSignature     a signature without a certificate
│   ├── MissingSignature        a certificate without a signature
│   ├── CutOff                  a block without its last field, the signature
│   ├── InvalidCertificate      a certificate that nodes do not accept from each other
│   ├── ZeroEpoch               a missing epoch that is encoded as zeros
│   └── HeightTooLarge          a P-Chain height or the number of an epoch above 63 bits
└── InvalidChild
    ├── WrongParent             it names another outer parent
    ├── WrongInnerParent        the inner block has another parent
    ├── WrongHeight             the inner height is not the parent's inner height plus one
    ├── OptionExpected          the parent is a proposal: its children are options
    ├── NotAnOption             the inner block is not one of the proposal's options
    ├── ProposalExpected        an option whose parent is not a proposal
    ├── SignedTooEarly          a signed block on a bare one
    ├── TimeDecreased           its time is before the parent's
    ├── HeightDecreased         its P-Chain height is below the parent's
    ├── WrongEpoch              it has another epoch than expected
    ├── WindowNotStarted        its proposer must wait longer (before Durango)
    ├── UnexpectedProposer      the slot belongs to another node
    ├── ProposerMismatch        signed although the slot has no owner, or unsigned although it has one
    ├── WrongSignature          the signature does not match the certificate's key
    └── NotYetValid             the block may become valid later
        ├── TimeTooAdvanced     its time is too far in the future
        └── HeightNotReached    its P-Chain height is not known here yet

NotOurSlot, NotWrapped          the proposer VM cannot build, or lacks an outer block
"""

from primitives.codec_errors import CodecError
from primitives.identity import CertificateError
from primitives.ids import ID, NodeID


class OuterBlockError(Exception):
    """Bytes that are not an outer block, or an outer block that may not follow its parent."""


class MalformedOuterBlock(OuterBlockError):
    """Bytes that are not an outer block."""


class NotAnOuterBlock(MalformedOuterBlock):
    """Bytes of another layout; before the first outer block, they are a bare block."""

    def __init__(self, reason: CodecError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class UnexpectedSignature(MalformedOuterBlock):
    """A signature without a certificate."""

    def __init__(self) -> None:
        super().__init__("signature provided when none was expected")


class MissingSignature(MalformedOuterBlock):
    """A certificate without a signature."""

    def __init__(self) -> None:
        super().__init__("no signature provided when one was expected")


class CutOff(MalformedOuterBlock):
    """A block without its last field, the signature, whose length is present even if it is empty.

    A block's ID is the hash of these bytes, so anyone can derive them from any block. They hash to the ID
    of the block, but do not prove anything about it.
    """

    def __init__(self) -> None:
        super().__init__("the signature's field is cut off")


class InvalidCertificate(MalformedOuterBlock):
    """A certificate that nodes do not accept from each other."""

    def __init__(self, reason: CertificateError) -> None:
        super().__init__(f"invalid certificate: {reason}")
        self.reason = reason


class ZeroEpoch(MalformedOuterBlock):
    """An epoch of zeros in a block that could have omitted it."""

    def __init__(self) -> None:
        super().__init__("epoch must not be zero")


class HeightTooLarge(MalformedOuterBlock):
    """A number that no chain reaches and that database columns cannot hold."""

    def __init__(self, number: int) -> None:
        super().__init__(f"height of more than 63 bits: {number}")
        self.number = number


class InvalidChild(OuterBlockError):
    """An outer block that may not follow this parent."""


class WrongParent(InvalidChild):
    """It names another outer parent."""

    def __init__(self, found: ID, expected: ID) -> None:
        super().__init__(f"outer parentID {found} didn't match expected parent {expected}")
        self.found = found
        self.expected = expected


class WrongInnerParent(InvalidChild):
    """The inner block's parent is not the inner block of the outer parent."""

    def __init__(self, found: ID, expected: ID) -> None:
        super().__init__(f"inner parentID {found} didn't match expected parent {expected}")
        self.found = found
        self.expected = expected


class WrongInnerHeight(InvalidChild):
    """The inner height is not the parent's inner height plus one."""

    def __init__(self, found: int, expected: int) -> None:
        super().__init__(f"block height {found} didn't match expected height {expected}")
        self.found = found
        self.expected = expected


class OptionExpected(InvalidChild):
    """The parent is a proposal, but this block is not one of its options."""

    def __init__(self) -> None:
        super().__init__("unexpected proposer block type: expected an option of the proposal")


class NotAnOption(InvalidChild):
    """An option block whose inner block is not one of the proposal's options."""

    def __init__(self) -> None:
        super().__init__("the inner block is no option of the proposal")


class ProposalExpected(InvalidChild):
    """The parent of an option is not a proposal."""

    def __init__(self) -> None:
        super().__init__("unexpected proposer block type: the parent is no proposal")


class SignedTooEarly(InvalidChild):
    """The child of a bare block is signed."""

    def __init__(self, proposer: NodeID) -> None:
        super().__init__(f"child of a bare block is signed by {proposer}")
        self.proposer = proposer


class TimeDecreased(InvalidChild):
    """Its time is before the parent's."""

    def __init__(self, time: int, parent_time: int) -> None:
        super().__init__(f"time must monotonically increase: {time} < {parent_time}")
        self.time = time
        self.parent_time = parent_time


class HeightDecreased(InvalidChild):
    """Its P-Chain height is below the parent's."""

    def __init__(self, height: int, parent_height: int) -> None:
        super().__init__(f"non monotonically increasing P-chain height: {height} < {parent_height}")
        self.height = height
        self.parent_height = parent_height


class WrongEpoch(InvalidChild):
    """Its epoch is not the one that follows from its parent."""

    def __init__(self, found: object, expected: object) -> None:
        super().__init__(f"epoch mismatch: {found} != expected {expected}")
        self.found = found
        self.expected = expected


class WindowNotStarted(InvalidChild):
    """Its proposer proposed too soon."""

    def __init__(self, delay: int, minimum: int) -> None:
        super().__init__(f"proposer window hasn't started: delay {delay} s < {minimum} s")
        self.delay = delay
        self.minimum = minimum


class UnexpectedProposer(InvalidChild):
    """The slot belongs to another node."""

    def __init__(self, slot: int, expected: NodeID) -> None:
        super().__init__(f"unexpected proposer for current window: slot {slot} expects {expected}")
        self.slot = slot
        self.expected = expected


class ProposerMismatch(InvalidChild):
    """Signed although it must not be, or unsigned although it must be signed."""

    def __init__(self, *, should_be_signed: bool) -> None:
        expected = "signed" if should_be_signed else "unsigned"
        super().__init__(f"proposer mismatch: the block should be {expected}")
        self.should_be_signed = should_be_signed


class WrongBlockSignature(InvalidChild):
    """The signature over this block is not by the certificate's key."""

    def __init__(self, proposer: NodeID) -> None:
        super().__init__(f"invalid signature of {proposer}")
        self.proposer = proposer


class NotYetValid(InvalidChild):
    """Verification depends on data that this node does not have yet; the block may become valid later."""


class TimeTooAdvanced(NotYetValid):
    """Its time is too far in the future."""

    def __init__(self, time: int, latest: float) -> None:
        super().__init__(f"time is too far advanced: {time} > {latest}")
        self.time = time
        self.latest = latest


class HeightNotReached(NotYetValid):
    """It names a P-Chain height above the last accepted one."""

    def __init__(self, height: int, current: int) -> None:
        super().__init__(
            f"block P-chain height larger than current P-chain height: {height} > {current}"
        )
        self.height = height
        self.current = current


class NotOurSlot(Exception):
    """No block is built now: the slot belongs to another validator."""

    def __init__(self, slot: int, owner: NodeID) -> None:
        super().__init__(f"slot {slot} belongs to {owner}")
        self.slot = slot
        self.owner = owner


class NotWrapped(Exception):
    """The chain has accepted a block whose outer block is not stored."""

    def __init__(self, inner_id: ID) -> None:
        super().__init__(f"the accepted block {inner_id} has no outer block")
        self.inner_id = inner_id
