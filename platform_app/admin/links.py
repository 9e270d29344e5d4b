"""URLs of the P-Chain's admin pages, and the page for a search text."""

from typing import Final

from adminkit.display import PageLinks
from adminkit.terms import parse_term, read_term
from platform_app.apps import platform_chain
from platform_app.models import UTXO, Block, Blockchain, DroppedTx, MempoolTx, Subnet, Tx
from platform_app.models.staking import Staker
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

_PAGES: Final = PageLinks("platform_app")
page, list_page, search_page = _PAGES.page, _PAGES.list_page, _PAGES.search_page
_SHARED_PAGES: Final = PageLinks("shared_app")


def block_page(key: object) -> str:
    """Return the URL of a block's page by its height or ID."""
    return page("block", key)


def tx_page(tx_id: object) -> str:
    """Return the URL of an accepted transaction's page."""
    return page("tx", tx_id)


def shared_output_page(utxo_id: object) -> str:
    """Return the URL of the page of an output that waits between two chains."""
    return _SHARED_PAGES.page("sharedoutput", utxo_id)


def staker_page(tx_id: object, *, is_delegator: bool) -> str:
    """Return the URL of the page of the staker that a transaction added."""
    return page("delegator" if is_delegator else "validator", tx_id)


def subnet_page(subnet_id: object) -> str:
    """Return the URL of a subnet's page; for the Primary Network, of the list of its validators."""
    if str(subnet_id) == str(PRIMARY_NETWORK_ID):
        return search_page("validator", subnet_id, show="current")
    return page("subnet", subnet_id)


def address_page(address: object) -> str:
    """Return the URL of the list of an address's unspent outputs."""
    return search_page("utxo", address)


def node_page(node_id: object) -> str:
    """Return the URL of the list of a node's staking periods."""
    return search_page("validator", node_id)


def find_page(text: str) -> str | None:
    """Return the page for an identifier, an address or a height, or None if no page matches.

    A few queries by unique keys. An alias of the chain leads to its blocks. The ID of a subnet or blockchain leads to
    that object's page, which links the transaction with the same ID. Twenty bytes in hex are a C-Chain address.
    """
    if text in platform_chain().aliases:
        return list_page("block")
    term = read_term(text)
    if term.number is not None:
        exists = Block.objects.filter(pk=term.number).exists()
        return block_page(term.number) if exists else None
    if term.id is not None:
        return _find_id(term.id)
    if parse_term(text).address is not None:
        return None
    if term.node_id is not None:
        return _find_node(term.node_id)
    return None if term.address is None else address_page(text)


def _find_id(wanted: ID) -> str | None:
    if wanted == PRIMARY_NETWORK_ID:
        return subnet_page(wanted)
    for model, name, field in (
        (Subnet, "subnet", "pk"),
        (Blockchain, "blockchain", "pk"),
        (Tx, "tx", "tx_id"),
        (Block, "block", "block_id"),
        (UTXO, "utxo", "pk"),
        (MempoolTx, "mempooltx", "tx_id"),
        (DroppedTx, "droppedtx", "tx_id"),
    ):
        key = model.objects.filter(**{field: wanted}).values_list("pk", flat=True).first()
        if key is not None:
            return page(name, wanted)
    return None


def _find_node(node_id: NodeID) -> str | None:
    """Return the page of a node's staking period, or the list of its periods if it had several."""
    periods = Staker.objects.filter(is_delegator__in=[False], node_id=node_id).order_by("-position")
    staker_ids = list(periods.values_list("pk", flat=True)[:2])
    if len(staker_ids) == 1:
        return staker_page(staker_ids[0], is_delegator=False)
    return node_page(node_id) if staker_ids else None
