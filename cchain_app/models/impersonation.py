"""Accounts of a development chain that can send without a key, and impersonated signatures."""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField, BytesField


class Impersonation(models.Model):
    """An account that needs no key, or the setting that no account needs one; keys increase in order of creation."""

    id = models.BigAutoField(primary_key=True)
    address = AddressField(null=True, unique=True, help_text="Null: every account")

    class Meta:
        ordering = ["id"]

    @override
    def __str__(self) -> str:
        return "every account" if self.address is None else str(self.address)


class ImpersonatedSignature(models.Model):
    """A signature with the signer that ecrecover returns for it from a block on; keys increase in order of creation."""

    id = models.BigAutoField(primary_key=True)
    number = models.BigIntegerField(help_text="The first block that it is so in", db_index=True)
    signature = BytesField(help_text="r, s and v: 65 bytes")
    signer = AddressField()

    class Meta:
        ordering = ["id"]

    @override
    def __str__(self) -> str:
        return f"{self.signature} by {self.signer}"
