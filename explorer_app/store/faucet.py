"""Reads and writes the faucet's payments, by which all processes of the node share its limits."""

from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, Max, Min, Sum

from chaindb.database import Database
from explorer_app.models import FaucetPayment


class RecentPayments(NamedTuple):
    """Summary of the payments that still count."""

    of_recipient: datetime | None
    """Time of the last payment to this recipient."""
    of_client: int
    """Number of payments that this client requested."""
    first_of_client: datetime | None
    coins: int
    """Coins of all payments."""
    first: datetime | None


def forget_outside(db: Database, first: datetime, last: datetime) -> None:
    """Delete payments outside a span of time. The caller holds the lock and the transaction."""
    db.objects(FaucetPayment).exclude(paid_at__range=(first, last)).delete()


def recent(db: Database, recipient: bytes, client: str) -> RecentPayments:
    """Return a summary of the remaining payments."""
    payments = db.objects(FaucetPayment)
    to_recipient = payments.filter(recipient=recipient).aggregate(last=Max("paid_at"))
    for_client = payments.filter(client=client[:64]).aggregate(
        count=Count("pk"), first=Min("paid_at")
    )
    everything = payments.aggregate(coins=Sum("coins"), first=Min("paid_at"))
    return RecentPayments(
        of_recipient=to_recipient["last"],
        of_client=for_client["count"],
        first_of_client=for_client["first"],
        coins=everything["coins"] or 0,
        first=everything["first"],
    )


def add(db: Database, recipient: bytes, client: str, coins: int, now: datetime) -> int:
    """Add a payment, and return its key. The caller holds the lock and the transaction."""
    row = db.objects(FaucetPayment).create(
        recipient=recipient, client=client[:64], coins=coins, paid_at=now
    )
    return row.pk


def remove(db: Database, key: int) -> None:
    """Delete a payment that was not made. The caller holds the transaction."""
    db.objects(FaucetPayment).filter(pk=key).delete()
