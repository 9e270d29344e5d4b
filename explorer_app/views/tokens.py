"""Pages of tokens: lists by kind, a token with its transfers, holders and inventory, and a single NFT."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse

from adminkit.terms import parse_term
from explorer_app.selectors import contracts
from explorer_app.selectors import tokens as token_rows
from explorer_app.selectors.cchain import PAGE
from explorer_app.selectors.tokens import TokenRow, TransferRow
from explorer_app.services import indexes
from explorer_app.site import Explorer
from explorer_app.tokens.events import TokenStandard
from explorer_app.tokens.strings import described
from explorer_app.views.page import (
    NO_PART,
    cchain_page,
    further_pages,
    list_pages,
    read_number,
    rendered,
    shown_of,
)
from primitives.evm import ZERO_ADDRESS, Address

KINDS: Final = {"": "All", "20": "ERC-20", "721": "ERC-721", "1155": "ERC-1155"}

_MAX_DIGITS: Final = 78
_MAX_ID: Final = 2**256 - 1
_NOT_INDEXED: Final = (
    "No token is known at this address: this node has indexed no transfer event from it."
)
_NO_ITEM: Final = (
    "The token has no such ID: no transfer of the ID was indexed, or the token is an ERC-20."
)

Tab = Callable[[Explorer, HttpRequest, TokenRow], dict[str, Any]]


class ListedTransfer(NamedTuple):
    """A transfer in a list; `_transfers.html` shows it."""

    transfer: TransferRow
    direction: str = ""
    """On the page of an address: `in`, `out` or `self`."""

    @property
    def doubt(self) -> str:
        """A word about a transfer that its event alone does not prove; empty if there is no doubt."""
        if not self.transfer.doubtful or self.transfer.is_confirmed:
            return ""
        return "unconfirmed" if self.transfer.value else "zero value"

    @property
    def is_mint(self) -> bool:
        """Whether the transfer minted tokens."""
        return bytes(self.transfer.sender) == ZERO_ADDRESS

    @property
    def is_burn(self) -> bool:
        """Whether the transfer burned tokens."""
        return bytes(self.transfer.to) == ZERO_ADDRESS


@cchain_page
def tokens(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show tokens, the latest first: filtered by `?kind=`, in pages by `?before=` (the key of a first log)."""
    kind = request.GET.get("kind", "")
    if kind not in KINDS:
        raise Http404(NO_PART)
    indexes.wait_for_tokens(site)
    listed_tokens = token_rows.tokens(
        site.evm,
        TokenStandard(int(kind)) if kind else None,
        before=read_number(request.GET.get("before")),
        count=PAGE + 1,
    )
    page_rows, has_more = shown_of(listed_tokens, PAGE)
    context = {
        "section": "tokens",
        "kind": kind,
        "kinds": KINDS.items(),
        "rows": page_rows,
        "how_far": token_rows.how_far(site.evm),
        **list_pages(request, page_rows, lambda row: row.first_log, has_more=has_more),
    }
    return rendered(site, request, "tokens.html", context)


@cchain_page
def token(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show a token: `?tab=` selects a tab, `?before=`, `?after=` or `?from=` the page of its list."""
    row = _token(site, text)
    tab = request.GET.get("tab", "")
    tabs = _tabs(site, row)
    if tab not in tabs:
        raise Http404(NO_PART)
    show: dict[str, Tab] = {"": _transfers, "holders": _holders, "inventory": _inventory}
    context = {
        "section": "tokens",
        "token": row,
        "kind_name": KINDS[str(row.kind)],
        "tab": tab,
        "tabs": [(key, *words) for key, words in tabs.items()],
        "how_far": token_rows.how_far(site.evm),
        **show[tab](site, request, row),
    }
    return rendered(site, request, "token.html", context)


@cchain_page
def item(site: Explorer, request: HttpRequest, text: str, token_id: str) -> HttpResponse:
    """Show a token ID of an ERC-721 or ERC-1155."""
    row, number = _token(site, text), read_id(token_id)
    if number is None or row.kind == TokenStandard.ERC20:
        raise Http404(_NO_ITEM)
    before = read_number(request.GET.get("before"))
    listed_transfers = token_rows.transfers_of_token(
        site.evm, row, token_id=number, before=before, count=PAGE + 1
    )
    transfers, has_more = shown_of(listed_transfers, PAGE)
    if not transfers and before is None:
        raise Http404(_NO_ITEM)
    is_collection = row.kind == TokenStandard.ERC721
    uri = contracts.uri_of(
        site.evm, Address(bytes(row.address)), number, is_collection=is_collection
    )
    context = {
        "section": "tokens",
        "token": row,
        "kind_name": KINDS[str(row.kind)],
        "token_id": number,
        "owner": token_rows.owner(site.evm, row, number) if is_collection else None,
        "zero": ZERO_ADDRESS,
        "holders": [] if is_collection else token_rows.holders(site.evm, row, token_id=number),
        "described": None if uri is None else described(uri),
        "transfers": transfer_rows(transfers),
        **list_pages(request, transfers, lambda row: row.id, has_more=has_more),
    }
    return rendered(site, request, "token_item.html", context)


def transfer_rows(
    transfers: Sequence[TransferRow], address: Address | None = None
) -> list[ListedTransfer]:
    """Return transfers with the columns of `_transfers.html`; on the page of an address with their directions."""
    return [ListedTransfer(transfer, _direction(transfer, address)) for transfer in transfers]


def read_id(text: str | None) -> int | None:
    """Return a token ID from a URL; None if it is missing, or not a number of 256 bits."""
    if text is None or not (text.isascii() and text.isdecimal()) or len(text) > _MAX_DIGITS:
        return None
    return int(text) if int(text) <= _MAX_ID else None


def _direction(transfer: TransferRow, address: Address | None) -> str:
    if address is None:
        return ""
    sends, gets = bytes(transfer.sender) == address, bytes(transfer.to) == address
    return "self" if sends and gets else "out" if sends else "in"


def _token(site: Explorer, text: str) -> TokenRow:
    address = parse_term(text).address
    if address is None:
        raise Http404(_NOT_INDEXED)
    indexes.wait_for_tokens(site, balances=True)
    row = token_rows.token(site.evm, Address(address))
    if row is None:
        raise Http404(f"{_NOT_INDEXED} Index: {token_rows.how_far(site.evm)}.")
    return row


def _tabs(site: Explorer, token: TokenRow) -> dict[str, tuple[str, int | None]]:
    """Return the tabs of a token's page with their titles and numbers of rows."""
    tabs: dict[str, tuple[str, int | None]] = {
        "": ("Transfers", token_rows.count_transfers(site.evm, token)),
        "holders": ("Holders", token_rows.count_holders(site.evm, token)),
    }
    return tabs if token.kind == TokenStandard.ERC20 else {**tabs, "inventory": ("Inventory", None)}


def _transfers(site: Explorer, request: HttpRequest, token: TokenRow) -> dict[str, Any]:
    before = read_number(request.GET.get("before"))
    listed_transfers = token_rows.transfers_of_token(site.evm, token, before=before, count=PAGE + 1)
    transfers, has_more = shown_of(listed_transfers, PAGE)
    more = list_pages(request, transfers, lambda row: row.id, has_more=has_more)
    return {"transfers": transfer_rows(transfers), **more}


def _holders(site: Explorer, request: HttpRequest, token: TokenRow) -> dict[str, Any]:
    first = read_number(request.GET.get("from")) or 0
    holders, has_more = shown_of(
        token_rows.holders(site.evm, token, first=first, count=PAGE + 1), PAGE
    )
    more = further_pages(request, "from", first + len(holders) if has_more else None)
    return {"holders": holders, "first_rank": first, **more}


def _inventory(site: Explorer, request: HttpRequest, token: TokenRow) -> dict[str, Any]:
    after = read_id(request.GET.get("after"))
    if token.kind == TokenStandard.ERC721:
        items = token_rows.inventory(site.evm, token, after=after, count=PAGE + 1)
        ids_and_owners = [(item.token_id, item.owner) for item in items]
    else:
        ids = token_rows.ids(site.evm, token, after=after, count=PAGE + 1)
        ids_and_owners = [(token_id, None) for token_id in ids]
    page_items, has_more = shown_of(ids_and_owners, PAGE)
    return {
        "items": page_items,
        **further_pages(request, "after", page_items[-1][0] if has_more else None),
    }
