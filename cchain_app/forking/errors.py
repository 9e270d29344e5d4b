"""Why a chain is not forked, and why the remote node does not tell something.

ForkRefused                 the chain of this data directory is not, or does not become, that fork
├── MalformedForkSetting    a setting that cannot be read
├── NotAFork                the data directory has a chain of its own
├── OtherFork               it has a fork of another block, or of another chain, or with another replay
├── CannotReplay            a transaction that a fork is to begin with cannot be executed here
└── ForkNeedsOwnChain       only a local chain of one process can be a fork
UpstreamError               the remote node does not tell
├── UpstreamAway            it does not answer, or no URL is set
├── UpstreamRefused         it answers with an error
├── ArchiveNeeded           it has forgotten the state
├── BadUpstreamAnswer       it answers with something else than was asked for
├── NoSuchPin               it does not have the block
├── NoSuchTransaction       it does not have the transaction that is to be replayed
└── TransactionPending      it has it in no block
NoForkedProof               blocks on a fork have no true state root
"""

from typing import Final

MOST_WORDS: Final = 500
"""Characters of an upstream's message that travel on."""


class ForkRefused(Exception):
    """The chain is not that fork."""


class MalformedForkSetting(ForkRefused):
    """A NODE_FORK_… setting cannot be read; the message never has its value, which may hold a key."""


class NotAFork(ForkRefused):
    """A fork begins in an empty data directory."""

    def __init__(self) -> None:
        super().__init__(
            "the data directory has a chain that is no fork: choose another one, or leave NODE_FORK_URL out"
        )


class OtherFork(ForkRefused):
    """The data directory has a fork of something else."""

    def __init__(self, what: str, stored: int | str, wanted: int | str) -> None:
        super().__init__(
            f"the data directory has a fork with {what} {stored}, but the settings give {wanted}: choose "
            "another one, or anvil_reset"
        )
        self.stored = stored
        self.wanted = wanted


class CannotReplay(ForkRefused):
    """A transaction of another chain's block cannot be executed here as it was there."""

    def __init__(self, transaction: str, number: int, reason: str) -> None:
        super().__init__(
            f"transaction {transaction} of block {number} cannot be executed here, so the fork does not begin: "
            f"{reason}"
        )
        self.transaction = transaction
        self.number = number


class ForkNeedsOwnChain(ForkRefused):
    """Where others follow, vote or share the chain, it cannot be a fork."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"a forked chain is for development by one node alone: {reason}")


class UpstreamError(Exception):
    """The remote node of a fork does not tell what was asked for. No message has more of its URL than the host."""


class UpstreamAway(UpstreamError):
    """Nobody answers."""


class UpstreamRefused(UpstreamError):
    """It answered with a JSON-RPC error, or with an HTTP status that no retry betters."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message[:MOST_WORDS])
        self.code = code
        self.data = data


class ArchiveNeeded(UpstreamError):
    """It keeps the state of its last blocks only."""

    def __init__(self, host: str, message: str) -> None:
        super().__init__(
            f"{host} no longer has this state, a fork of this block needs an archive node: "
            f"{message[:MOST_WORDS]}"
        )


class BadUpstreamAnswer(UpstreamError):
    """It answered with no JSON, or with JSON of another form."""


class NoSuchPin(UpstreamError):
    """The block from which the chain was to go on is not there."""


class NoSuchTransaction(UpstreamError):
    """The transaction up to which a block was to be replayed is not known."""

    def __init__(self, host: str, transaction: str) -> None:
        super().__init__(f"{host} does not have transaction {transaction}")


class TransactionPending(UpstreamError):
    """That transaction waits: there is no block to replay."""

    def __init__(self, host: str, transaction: str) -> None:
        super().__init__(f"{host} has transaction {transaction} in no block yet")


class NoForkedProof(Exception):
    """A proof was asked for at a block that stands on another chain's state."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"block {number} stands on a fork: only what changed since is in its state root, so there is no proof"
        )
        self.number = number


class Unanswered(Exception):
    """A question has no answer; `late`: it did not come in time."""

    def __init__(self, *, late: bool) -> None:
        super().__init__()
        self.late = late


class NotKept(Exception):
    """Within a transaction of the database something is missing that is to be asked for outside of it.

    Attributes:
        accounts: Addresses of which nothing is known.
        slots: Address and slot, likewise.
    """

    def __init__(
        self, accounts: tuple[bytes, ...] = (), slots: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__("state that was not fetched yet")
        self.accounts = accounts
        self.slots = slots
