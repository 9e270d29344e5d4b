"""Queries token data and balances from contracts. Their answers may be false."""

from collections.abc import Callable
from typing import Final, TypeVar

from explorer_app.selectors.contracts import Contracts, DetailsUnavailable
from explorer_app.selectors.token_logs import BalanceQuery, DueToken
from explorer_app.store.tokens import MetadataQuery, TokenMetadata
from explorer_app.tokens import questions, strings
from explorer_app.tokens.events import TokenStandard
from primitives.evm import Address

FIRST_PAUSE: Final = 60
"""Seconds until a contract with incomplete answers is queried again; doubled each time."""

MAX_ATTEMPTS: Final = 12
"""Limit of consecutive incomplete attempts, reached after two days; later only news triggers another query."""

T = TypeVar("T")


def ask_contract(contracts: Contracts, token: DueToken, now: int) -> MetadataQuery:
    """Query a contract's token data.

    Unspecified: an attempt counts as failed if the contract is not a token, or lacks a name, a symbol or, for ERC-20,
    decimals. ERC-1155 does not define them, so such a contract is not queried again.

    Args:
        contracts: The chain's contracts, at a height.
        token: The contract.
        now: Wall time in Unix seconds.

    Raises:
        DetailsUnavailable: The answers could not be determined.
    """
    metadata = _metadata(contracts, token)
    if _is_complete(metadata):
        return MetadataQuery(metadata, contracts.height, None, 0)
    return MetadataQuery(metadata, contracts.height, *next_attempt(token, now))


def next_attempt(token: DueToken, now: int) -> tuple[int | None, int]:
    """Return when a contract with incomplete answers is queried again (None: never), and its failed attempts."""
    attempts = token.attempts + 1
    pause = FIRST_PAUSE * 2**token.attempts
    return (now + pause if attempts < MAX_ATTEMPTS else None), attempts


def is_collection(contracts: Contracts, address: Address) -> bool:
    """Return whether a contract claims to be an ERC-721.

    Unspecified: false if the answer could not be determined, because all later transfers wait for the result.
    """
    try:
        return _standard(contracts, address) is TokenStandard.ERC721
    except DetailsUnavailable:
        return False


def read_balance(contracts: Contracts, query: BalanceQuery) -> int | None:
    """Return the balance that a contract reports; None if it reports none. Raises as `ask_contract`."""
    question = questions.balance(query.holder, query.token_id)
    return _read(contracts, query.contract, question, strings.read_number)


def _metadata(contracts: Contracts, token: DueToken) -> TokenMetadata:
    address = token.address
    supply = _read(contracts, address, questions.TOTAL_SUPPLY, strings.read_number)
    kind = _standard(contracts, address)
    if kind is None and token.may_be_erc20 and supply is not None:
        kind = TokenStandard.ERC20
    if kind is None:
        return TokenMetadata(None, None, None, None, None)
    name = _read(
        contracts, address, questions.NAME, lambda data: strings.read_text(data, strings.MAX_NAME)
    )
    symbol = _read(
        contracts,
        address,
        questions.SYMBOL,
        lambda data: strings.read_text(data, strings.MAX_SYMBOL),
    )
    decimals = None
    if kind is TokenStandard.ERC20:
        decimals = _read(contracts, address, questions.DECIMALS, strings.read_decimals)
    return TokenMetadata(kind, name, symbol, decimals, supply)


def _is_complete(metadata: TokenMetadata) -> bool:
    if metadata.kind is None or metadata.kind is TokenStandard.ERC1155:
        return metadata.kind is not None
    named = metadata.name is not None and metadata.symbol is not None
    return named and (metadata.kind is TokenStandard.ERC721 or metadata.decimals is not None)


def _standard(contracts: Contracts, address: Address) -> TokenStandard | None:
    """Return the standard that a contract claims by ERC-165, if its answers are consistent."""
    if not _supports(contracts, address, questions.ERC165):
        return None
    if _supports(contracts, address, questions.NO_INTERFACE) is not False:
        return None
    if _supports(contracts, address, questions.ERC721):
        return TokenStandard.ERC721
    return TokenStandard.ERC1155 if _supports(contracts, address, questions.ERC1155) else None


def _supports(contracts: Contracts, address: Address, interface: bytes) -> bool | None:
    question, gas = questions.supports(interface), questions.GAS_OF_INTERFACES
    return _read(contracts, address, question, strings.read_bool, gas)


def _read(
    contracts: Contracts,
    address: Address,
    question: bytes,
    read: Callable[[bytes], T | None],
    gas: int = questions.GAS,
) -> T | None:
    answer = contracts.ask(address, question, gas)
    return None if answer is None else read(answer)
