"""Reasons why a chain cannot be forked, and why a request to the remote node fails.

ForkRefused                 the chain of this data directory is not, or cannot become, that fork
├── MalformedForkSetting    a setting that cannot be read
├── NotAFork                the data directory has a chain that is not a fork
├── OtherFork               it has a fork of another block, or of another chain, or with another replay
├── CannotReplay            a transaction with which a fork should begin cannot be executed here
└── ForkNeedsOwnChain       only a local chain of one process can be a fork
UpstreamError               the remote node does not give the requested data
├── UpstreamAway            it does not answer, or no URL is set
├── UpstreamRefused         it answers with an error
├── ArchiveNeeded           it has pruned the state
├── BadUpstreamAnswer       its answer is malformed
├── NoSuchPin               it does not have the block
├── NoSuchTransaction       it does not have the transaction up to which to replay
└── TransactionPending      that transaction is not in a block yet
NoForkedProof               blocks on a fork have no true state root
"""

from typing import Final

MAX_WORDS: Final = 500
"""Maximum length of an upstream's message in this node's messages, in characters."""


class ForkRefused(Exception):
    """The chain is not that fork."""


class MalformedForkSetting(ForkRefused):
    """A NODE_FORK_… setting cannot be read; the message never contains its value, which may contain a key."""


class NotAFork(ForkRefused):
    """A fork can only begin in an empty data directory."""

    def __init__(self) -> None:
        super().__init__(
            "the data directory has a chain that is no fork: choose another one, or leave NODE_FORK_URL out"
        )


class OtherFork(ForkRefused):
    """The data directory has a different fork."""

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
    """A chain that other nodes follow, vote on or share cannot be a fork."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"a forked chain is for development by one node alone: {reason}")


class UpstreamError(Exception):
    """The remote node of a fork does not give the requested data. Messages contain only the host of its URL."""


class UpstreamAway(UpstreamError):
    """The remote node does not answer."""


class UpstreamRefused(UpstreamError):
    """It answered with a JSON-RPC error, or with an HTTP status that retries cannot change."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message[:MAX_WORDS])
        self.code = code
        self.data = data


class ArchiveNeeded(UpstreamError):
    """It only keeps the state of its latest blocks."""

    def __init__(self, host: str, message: str) -> None:
        super().__init__(
            f"{host} no longer has this state, a fork of this block needs an archive node: "
            f"{message[:MAX_WORDS]}"
        )


class BadUpstreamAnswer(UpstreamError):
    """Its answer was not JSON, or JSON of another form."""


class NoSuchPin(UpstreamError):
    """The block from which the chain should continue does not exist."""


class NoSuchTransaction(UpstreamError):
    """The transaction up to which a block should be replayed is unknown."""

    def __init__(self, host: str, transaction: str) -> None:
        super().__init__(f"{host} does not have transaction {transaction}")


class TransactionPending(UpstreamError):
    """That transaction is still pending, so there is no block to replay."""

    def __init__(self, host: str, transaction: str) -> None:
        super().__init__(f"{host} has transaction {transaction} in no block yet")


class NoForkedProof(Exception):
    """A proof was requested at a block whose state is that of another chain."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"block {number} stands on a fork: only what changed since is in its state root, so there is no proof"
        )
        self.number = number


class Unanswered(Exception):
    """A request got no answer; `late`: it did not come in time."""

    def __init__(self, *, late: bool) -> None:
        super().__init__()
        self.late = late


class NotKept(Exception):
    """A database transaction needs remote data that is not stored yet and must be requested outside of it.

    Attributes:
        accounts: Addresses of unknown accounts.
        slots: Addresses and slots of unknown values.
    """

    def __init__(
        self, accounts: tuple[bytes, ...] = (), slots: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__("state that was not fetched yet")
        self.accounts = accounts
        self.slots = slots
