"""Payments of the faucet in the last hour, which count towards its limits."""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField
from primitives.counting import counted


class FaucetPayment(models.Model):
    """A payment that was made or is being made."""

    recipient = BytesField(
        help_text="Letter of the chain, or 32-byte blockchain ID of a subnet's chain, followed by the 20-byte address"
    )
    client = models.CharField(max_length=64, help_text="IP address of the client")
    coins = models.IntegerField()
    paid_at = models.DateTimeField()

    class Meta:
        ordering = ["-paid_at"]
        indexes = [models.Index(fields=["paid_at"], name="explorer_faucet_by_time")]

    @override
    def __str__(self) -> str:
        return f"{counted(self.coins, 'coin')} at {self.paid_at}"
