"""Asks contracts what they are, and what somebody holds of them. What they answer need not be true."""

from collections.abc import Callable
from typing import Final, TypeVar

from explorer_app.selectors.contracts import Contracts, NotTold
from explorer_app.selectors.token_logs import Held, ToAsk
from explorer_app.store.tokens import Asked, Facts
from explorer_app.tokens import questions, texts
from explorer_app.tokens.events import Kind
from primitives.evm import Address

FIRST_PAUSE: Final = 60
"""Seconds after which a contract that did not answer all is asked again; each time twice as long."""

MOST_ATTEMPTS: Final = 12
"""After so many in a row it is not asked any more, unless there is news: that is after two days."""

T = TypeVar("T")


def ask_contract(contracts: Contracts, token: ToAsk, now: int) -> Asked:
    """Ask a contract what it is.

    Unspecified: a failure is that it is no token, or has no name, no symbol or, of ERC-20, no decimals. ERC-1155
    does not know them, and is not asked again.

    Args:
        contracts: Of the chain, at a height.
        token: The contract.
        now: Wall time in Unix seconds.

    Raises:
        NotTold: Nobody knows what it answers.
    """
    facts = _facts(contracts, token)
    if _says_all(facts):
        return Asked(facts, contracts.height, None, 0)
    return Asked(facts, contracts.height, *next_attempt(token, now))


def next_attempt(token: ToAsk, now: int) -> tuple[int | None, int]:
    """Return when a contract that did not answer all is asked again (None: not), and how often in a row it did not."""
    attempts = token.attempts + 1
    pause = FIRST_PAUSE * 2**token.attempts
    return (now + pause if attempts < MOST_ATTEMPTS else None), attempts


def is_collection(contracts: Contracts, address: Address) -> bool:
    """Say whether a contract says that it is an ERC-721.

    Unspecified: where nobody knows what it says it is none, since the transfers of all others wait for the answer.
    """
    try:
        return _standard(contracts, address) is Kind.ERC721
    except NotTold:
        return False


def read_balance(contracts: Contracts, held: Held) -> int | None:
    """Return what a contract says that somebody holds; None if it does not. Raises as `ask_contract`."""
    question = questions.balance(held.holder, held.token_id)
    return _read(contracts, held.contract, question, texts.read_number)


def _facts(contracts: Contracts, token: ToAsk) -> Facts:
    address = token.address
    supply = _read(contracts, address, questions.TOTAL_SUPPLY, texts.read_number)
    kind = _standard(contracts, address)
    if kind is None and token.may_be_erc20 and supply is not None:
        kind = Kind.ERC20
    if kind is None:
        return Facts(None, None, None, None, None)
    name = _read(
        contracts, address, questions.NAME, lambda one: texts.read_text(one, texts.MOST_NAME)
    )
    symbol = _read(
        contracts, address, questions.SYMBOL, lambda one: texts.read_text(one, texts.MOST_SYMBOL)
    )
    decimals = None
    if kind is Kind.ERC20:
        decimals = _read(contracts, address, questions.DECIMALS, texts.read_decimals)
    return Facts(kind, name, symbol, decimals, supply)


def _says_all(facts: Facts) -> bool:
    if facts.kind is None or facts.kind is Kind.ERC1155:
        return facts.kind is not None
    named = facts.name is not None and facts.symbol is not None
    return named and (facts.kind is Kind.ERC721 or facts.decimals is not None)


def _standard(contracts: Contracts, address: Address) -> Kind | None:
    """Return what a contract says that it is, by ERC-165, if it can be believed."""
    if not _supports(contracts, address, questions.ERC165):
        return None
    if _supports(contracts, address, questions.NO_INTERFACE) is not False:
        return None
    if _supports(contracts, address, questions.ERC721):
        return Kind.ERC721
    return Kind.ERC1155 if _supports(contracts, address, questions.ERC1155) else None


def _supports(contracts: Contracts, address: Address, interface: bytes) -> bool | None:
    question, gas = questions.supports(interface), questions.GAS_OF_INTERFACES
    return _read(contracts, address, question, texts.read_bool, gas)


def _read(
    contracts: Contracts,
    address: Address,
    question: bytes,
    read: Callable[[bytes], T | None],
    gas: int = questions.GAS,
) -> T | None:
    answer = contracts.ask(address, question, gas)
    return None if answer is None else read(answer)
