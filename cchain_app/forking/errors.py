"""Reasons why a chain cannot be forked, and why a request to the remote node fails."""

from enum import StrEnum
from typing import Final

from primitives.reasons import ErrorWithReason

MAX_WORDS: Final = 500
"""Maximum length of an upstream's message in this node's messages, in characters."""


class ForkReason(StrEnum):
    """Why the chain of this data directory is not, or cannot become, a fork."""

    # a fork can only begin in an empty data directory
    NOT_A_FORK = "the data directory has a chain that is not a fork: choose another data directory, or leave out NODE_FORK_URL"
    OTHER_FORK = (
        "the data directory has a fork with {what} {stored}, but the settings give {wanted}: choose another "
        "data directory, or call anvil_reset"
    )
    # the execution here gives another result than upstream's
    CANNOT_REPLAY = "transaction {transaction} of block {number} cannot be executed here, so the fork cannot start: {problem}"
    # a chain that other nodes follow, vote on or share
    NEEDS_OWN_CHAIN = "a forked chain is for development by one node alone: {problem}"
    TWO_BLOCKS = "NODE_FORK_URL and NODE_FORK_BLOCK_NUMBER name two blocks"
    BLOCK_AND_TRANSACTION = (
        "the fork block is given twice, by NODE_FORK_TRANSACTION_HASH and by NODE_FORK_BLOCK_NUMBER or URL@BLOCK: "
        "remove either setting"
    )
    TRANSACTION_HASH = (
        "NODE_FORK_TRANSACTION_HASH must be a transaction's hash, 0x and 64 hexadecimal digits"
    )
    URL = "NODE_FORK_URL must be a URL like https://HOST/PATH, or URL@BLOCK"
    BLOCK_NUMBER = "NODE_FORK_BLOCK_NUMBER must be a whole number"
    HEADERS = "NODE_FORK_HEADERS must be headers like NAME: VALUE"


class ForkRefused(ErrorWithReason):
    """The chain is not that fork."""


class MalformedForkSetting(ForkRefused):
    """A NODE_FORK_… setting cannot be read; the message never contains its value, which may contain a key."""


class UpstreamReason(StrEnum):
    """Why the remote node of a fork does not give the requested data."""

    NO_ANSWER = "{host} does not answer: {problem}"
    NO_BLOCK_NUMBER = "failed to get fork block number; {problem}"
    HTTP_STATUS = "{host} answered with HTTP status {status}"
    NO_URL = "the value is not stored, and NODE_FORK_URL is not set, so it cannot be fetched"
    REFUSED = "{message}"
    # it only keeps the state of its latest blocks
    ARCHIVE_NEEDED = (
        "{host} no longer has this state, a fork of this block needs an archive node: {message}"
    )
    TOO_LONG = "{host} answered {method} with more than {limit} bytes"
    NOT_JSON_RPC = "{host} answered with something other than JSON-RPC"
    OTHER_FORM = "the upstream's answer does not have the requested form"
    NO_LOGS = "the upstream's answer to eth_getLogs is not a list of logs"
    OTHER_BLOCK = "{host} returned block {number}, not {wanted}"
    DIFFERENT_BLOCKS = "{host} returned two different blocks {number}"
    TRANSACTION_MISSING = "the returned block {number} does not contain transaction {transaction}"
    OTHER_HASH = "the fields of transaction {transaction} do not have its hash"
    # The fork block does not exist.
    TOO_FEW_BLOCKS = "{host} has fewer blocks than the requested distance from its last block"
    NO_SUCH_BLOCK = "{host} does not have block {number}"
    IN_FIRST_BLOCK = (
        "transaction {transaction} is in block 0, which has no parent from which a fork could start"
    )
    NO_SUCH_TRANSACTION = "{host} does not have transaction {transaction}"
    TRANSACTION_PENDING = "{host} has not included transaction {transaction} in a block yet"


class UpstreamError(ErrorWithReason):
    """The remote node of a fork does not give the requested data. Messages contain only the host of its URL."""


class UpstreamAway(UpstreamError):
    """The remote node does not answer, or no URL is set."""


class UpstreamRefused(UpstreamError):
    """It answered with a JSON-RPC error, or with an HTTP status that retries cannot change."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(UpstreamReason.REFUSED, message=message[:MAX_WORDS])
        self.code = code
        self.data = data


class BadUpstreamAnswer(UpstreamError):
    """Its answer was not JSON, or JSON of another form."""


class NoForkedProof(Exception):
    """A proof was requested at a block whose state is that of another chain."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"block {number} belongs to a fork: its state root covers only later changes, so there is no proof"
        )
        self.number = number


class Unanswered(Exception):
    """A request got no answer; `late`: it did not come in time."""

    def __init__(self, *, late: bool) -> None:
        super().__init__()
        self.late = late


class MissingState(Exception):
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
