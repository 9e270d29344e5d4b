"""Payments of the faucet in the last hour, which count towards its limits."""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField


class FaucetPayment(models.Model):
    """A payment that was made or is being made."""

    recipient = BytesField(help_text="The letter of the chain, and the address of 20 bytes")
    client = models.CharField(max_length=64, help_text="The address of the client that asked")
    coins = models.IntegerField()
    paid_at = models.DateTimeField()

    class Meta:
        ordering = ["-paid_at"]
        indexes = [models.Index(fields=["paid_at"], name="explorer_faucet_by_time")]

    @override
    def __str__(self) -> str:
        return f"{self.coins} coins at {self.paid_at}"
