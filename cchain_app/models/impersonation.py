"""Whom a development chain lets everybody send for without a key, and whose some signatures are."""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField, BytesField


class Impersonation(models.Model):
    """One row is an account that needs no key, or the word that none does; keys grow as they come."""

    id = models.BigAutoField(primary_key=True)
    address = AddressField(null=True, unique=True, help_text="Null: every account")

    class Meta:
        ordering = ["id"]

    @override
    def __str__(self) -> str:
        return "every account" if self.address is None else str(self.address)


class ImpersonatedSignature(models.Model):
    """One row is a signature of which ecrecover answers a signer by decree, from a block on; keys grow as they come."""

    id = models.BigAutoField(primary_key=True)
    number = models.BigIntegerField(help_text="The first block that it is so in", db_index=True)
    signature = BytesField(help_text="r, s and v: 65 bytes")
    signer = AddressField()

    class Meta:
        ordering = ["id"]

    @override
    def __str__(self) -> str:
        return f"{self.signature} by {self.signer}"
