"""Requests for peers' signatures by processes that have no connections, and the answers of the network process."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from network_app.models import SignatureQuery
from primitives.ids import NodeID


class OpenQuery(NamedTuple):
    """A request that has no answer yet."""

    key: int
    chain: str
    """The name of the chain whose message it is."""
    payload: bytes
    """A SignatureRequest."""
    node_ids: Sequence[NodeID]


def ask(chain: str, payload: bytes, node_ids: Collection[NodeID]) -> int:
    """Write a request; return its key. The caller holds the transaction."""
    row = SignatureQuery.objects.create(
        chain=chain, payload=payload, node_ids=b"".join(node_ids), asked_at=datetime.now(UTC)
    )
    key: int = row.pk
    return key


def unanswered(seconds: float, most: int, besides: Collection[int]) -> list[OpenQuery]:
    """Return the oldest requests of the last seconds, besides some, that have no answer yet."""
    since = datetime.now(UTC) - timedelta(seconds=seconds)
    rows = SignatureQuery.objects.filter(signatures__isnull=True, asked_at__gte=since)
    found = rows.exclude(pk__in=list(besides)).order_by("pk")[:most]
    size = NodeID.SIZE
    return [
        OpenQuery(
            row.pk,
            row.chain,
            bytes(row.payload),
            [
                NodeID(bytes(row.node_ids)[start : start + size])
                for start in range(0, len(row.node_ids), size)
            ],
        )
        for row in found
    ]


def answer(key: int, signatures: Mapping[NodeID, bytes]) -> None:
    """Write the signatures of a request, unless its process has given up."""
    shown = {bytes(node_id).hex(): signature.hex() for node_id, signature in signatures.items()}
    SignatureQuery.objects.filter(pk=key).update(signatures=shown)


def answer_of(key: int) -> Mapping[NodeID, bytes] | None:
    """Return the signatures of a request; None: it has no answer yet."""
    row = SignatureQuery.objects.filter(pk=key).values_list("signatures", flat=True).first()
    if row is None:
        return None
    return {
        NodeID(bytes.fromhex(node_id)): bytes.fromhex(signature)
        for node_id, signature in row.items()
    }


def forget(key: int) -> None:
    """Delete a request."""
    SignatureQuery.objects.filter(pk=key).delete()


def forget_old(seconds: float) -> None:
    """Delete the requests of processes that have ended."""
    before = datetime.now(UTC) - timedelta(seconds=seconds)
    SignatureQuery.objects.filter(asked_at__lt=before).delete()
