"""Pending transactions."""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField, BytesField, HashField, UInt64Field, UInt256Field


class PoolTransaction(models.Model):
    """An acknowledged transaction that is in no block yet; keys increase in order of arrival."""

    id = models.BigAutoField(primary_key=True)
    hash = HashField(unique=True)
    sender = AddressField()
    nonce = UInt64Field()
    gas = models.BigIntegerField()
    max_fee_per_gas = UInt256Field()
    max_priority_fee_per_gas = UInt256Field()
    value = UInt256Field()
    size = models.IntegerField(help_text="Bytes of the envelope")
    received_at = models.BigIntegerField(help_text="Unix seconds of wall time")
    authorities = BytesField(null=True, help_text="Signers of its authorizations, 20 bytes each")
    raw = BytesField(help_text="The signed envelope")

    class Meta:
        ordering = ["id"]
        verbose_name = "waiting transaction"
        constraints = [
            models.UniqueConstraint(fields=["sender", "nonce"], name="cchain_pool_nonce_once"),
        ]

    @override
    def __str__(self) -> str:
        return str(self.hash)
