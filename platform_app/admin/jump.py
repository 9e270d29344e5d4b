"""From what a person types to the page of exactly that: block, transaction, subnet, node or address."""

from adminkit.identifiers import read_term
from adminkit.terms import parse_term
from platform_app.admin import links
from platform_app.models import UTXO, Block, Blockchain, DroppedTx, MempoolTx, Subnet, Tx
from platform_app.models.staking import Staker
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID


def find_page(text: str) -> str | None:
    """Return the page that an identifier, an address or a height means, or None when there is none.

    A few questions by unique keys. The ID of a subnet or blockchain leads there: its page names the
    transaction that has the same ID. Twenty bytes in hex are the C-Chain's.
    """
    term = read_term(text)
    if term.number is not None:
        found = Block.objects.filter(pk=term.number).exists()
        return links.block_page(term.number) if found else None
    if term.id is not None:
        return _find_id(term.id)
    if parse_term(text).address is not None:
        return None
    if term.node_id is not None:
        return _find_node(term.node_id)
    return None if term.address is None else links.address_page(text)


def _find_id(wanted: ID) -> str | None:
    if wanted == PRIMARY_NETWORK_ID:
        return links.subnet_page(wanted)
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
            return links.page(name, wanted)
    return None


def _find_node(node_id: NodeID) -> str | None:
    """Return the page of a node's latest stay, or the list of them where it had several."""
    stays = Staker.objects.filter(is_delegator__in=[False], node_id=node_id).order_by("-position")
    found = list(stays.values_list("pk", flat=True)[:2])
    if len(found) == 1:
        return links.staker_page(found[0], is_delegator=False)
    return links.node_page(node_id) if found else None
