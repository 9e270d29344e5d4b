"""Etherscan's questions about tokens: what a contract answers itself, and lists, which need rows of transfers."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from explorer_app.api.proxy_actions import ask
from explorer_app.api.replies import ActionError, NotIndexed, Query, Reply, text_of

_BALANCE_OF: Final = "0x70a08231"
_TOTAL_SUPPLY: Final = "0x18160ddd"
_WORD: Final = 66
"""Characters of a word as 0x text."""


class NoToken(ActionError):
    """A contract that does not answer as a token does."""

    text: ClassVar[str] = "Error! The contract is no token"


def tokenbalance(query: Query) -> Reply:
    """Return what an account has of a token, as the contract says; with `tag` at a height."""
    account = query.address("address")
    return Reply.ok(str(_asked(query, f"{_BALANCE_OF}{account.hex():0>64}")))


def tokensupply(query: Query) -> Reply:
    """Return how much of a token there is, as the contract says."""
    return Reply.ok(str(_asked(query, _TOTAL_SUPPLY)))


def _asked(query: Query, data: str) -> int:
    contract = text_of(query.address("contractaddress"))
    call = {"to": contract, "data": data}
    found: Any = ask(query, "eth_call", [call, query.text("tag") or "latest"]).get("result")
    if not isinstance(found, str) or len(found) != _WORD:
        raise NoToken
    return int(found, 16)


def _not_indexed(query: Query) -> Reply:
    """Refuse what needs rows of transfers and holders."""
    raise NotIndexed


def _refused(*names: str) -> dict[str, Callable[[Query], Reply]]:
    return dict.fromkeys(names, _not_indexed)


OF_ACCOUNTS: Final = {
    "tokenbalance": tokenbalance,
    **_refused(
        "tokentx", "tokennfttx", "token1155tx", "addresstokenbalance", "addresstokennftbalance"
    ),
}
OF_SUPPLY: Final = {"tokensupply": tokensupply}
ACTIONS: Final = _refused(
    "tokeninfo", "tokenholderlist", "tokenholdercount", "gettoken", "gettokenholders"
)
