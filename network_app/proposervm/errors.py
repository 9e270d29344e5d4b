"""Why bytes are no outer block, or an outer block may not follow its parent (p2p.md 11).

OuterBlockError
├── MalformedBlock
│   ├── NotAnOuterBlock         another version, type or length: a bare block, or nothing at all
│   ├── UnexpectedSignature     a signature, but nobody's
│   ├── MissingSignature        a certificate without a signature
│   ├── CutOff                  a block without its last field, the signature's
│   ├── InvalidCertificate      no certificate that nodes accept of each other
│   ├── ZeroEpoch               an epoch that is written though there is none
│   └── HeightTooLarge          a P-Chain height or the number of an epoch above 63 bits
└── InvalidChild
    ├── WrongParent             it names another outer parent
    ├── WrongInnerParent        what is inside has another parent
    ├── WrongHeight             what is inside is not one above what is inside the parent
    ├── OptionExpected          the parent is a proposal: its children are options
    ├── NotAnOption             it is none of the proposal's options
    ├── ProposalExpected        an option on something that proposed nothing
    ├── SignedTooEarly          a signed block on a bare one
    ├── TimeDecreased           its time is before the parent's
    ├── HeightDecreased         its P-Chain height is below the parent's
    ├── WrongEpoch              it is of another epoch
    ├── WindowNotStarted        its proposer must wait longer (before Durango)
    ├── UnexpectedProposer      the slot belongs to somebody else
    ├── ProposerMismatch        signed where nobody owns the slot, or unsigned where somebody does
    ├── WrongSignature          the signature is not of the certificate's key
    └── NotYetValid             these may become right by waiting
        ├── TimeTooAdvanced     it is of the future
        └── HeightNotReached    its P-Chain height is not known here yet
"""

from primitives.codec_errors import CodecError
from primitives.identity import CertificateError
from primitives.ids import ID, NodeID


class OuterBlockError(Exception):
    """Bytes that are no outer block, or an outer block that may not follow its parent."""


class MalformedBlock(OuterBlockError):
    """Bytes that are no outer block."""


class NotAnOuterBlock(MalformedBlock):
    """Bytes of another layout: before the first outer block, they are a bare block."""

    def __init__(self, reason: CodecError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class UnexpectedSignature(MalformedBlock):
    """A signature without a certificate."""

    def __init__(self) -> None:
        super().__init__("signature provided when none was expected")


class MissingSignature(MalformedBlock):
    """A certificate without a signature."""

    def __init__(self) -> None:
        super().__init__("no signature provided when one was expected")


class CutOff(MalformedBlock):
    """A block without its last field: not even an empty signature, which has a length too.

    These are the bytes that a block's ID is the hash of, so that anybody can make them of anybody's
    block: they hash to its ID, and say nothing of it.
    """

    def __init__(self) -> None:
        super().__init__("the signature's field is cut off")


class InvalidCertificate(MalformedBlock):
    """A certificate that no node has."""

    def __init__(self, reason: CertificateError) -> None:
        super().__init__(f"invalid certificate: {reason}")
        self.reason = reason


class ZeroEpoch(MalformedBlock):
    """An epoch of zeros in a block that need not have one."""

    def __init__(self) -> None:
        super().__init__("epoch must not be zero")


class HeightTooLarge(MalformedBlock):
    """A number that no chain reaches, and that rows cannot hold."""

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
    """What is inside has another parent than what is inside the outer parent."""

    def __init__(self, found: ID, expected: ID) -> None:
        super().__init__(f"inner parentID {found} didn't match expected parent {expected}")
        self.found = found
        self.expected = expected


class WrongHeight(InvalidChild):
    """What is inside is not the next."""

    def __init__(self, found: int, expected: int) -> None:
        super().__init__(f"block height {found} didn't match expected height {expected}")
        self.found = found
        self.expected = expected


class OptionExpected(InvalidChild):
    """The parent is a proposal, but this is none of its options."""

    def __init__(self) -> None:
        super().__init__("unexpected proposer block type: expected an option of the proposal")


class NotAnOption(InvalidChild):
    """The wrapping of an option around another block than the proposal's options."""

    def __init__(self) -> None:
        super().__init__("the inner block is no option of the proposal")


class ProposalExpected(InvalidChild):
    """The parent of an option is no proposal."""

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
    """It is of another epoch than its parent makes it."""

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
    """The slot belongs to somebody else."""

    def __init__(self, slot: int, expected: NodeID) -> None:
        super().__init__(f"unexpected proposer for current window: slot {slot} expects {expected}")
        self.slot = slot
        self.expected = expected


class ProposerMismatch(InvalidChild):
    """Signed where nobody should have, or unsigned where somebody should have."""

    def __init__(self, *, should_be_signed: bool) -> None:
        expected = "signed" if should_be_signed else "unsigned"
        super().__init__(f"proposer mismatch: the block should be {expected}")
        self.should_be_signed = should_be_signed


class WrongSignature(InvalidChild):
    """The signature is not of the certificate's key over this block."""

    def __init__(self, proposer: NodeID) -> None:
        super().__init__(f"invalid signature of {proposer}")
        self.proposer = proposer


class NotYetValid(InvalidChild):
    """What this node does not know yet is missing; later the same block may be right."""


class TimeTooAdvanced(NotYetValid):
    """It is of the future."""

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
