"""Whom a development chain lets everybody send for without a key."""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField


class Impersonation(models.Model):
    """One row is an account that needs no key, or the word that none does; keys grow as they come."""

    id = models.BigAutoField(primary_key=True)
    address = AddressField(null=True, unique=True, help_text="Null: every account")

    class Meta:
        ordering = ["id"]

    @override
    def __str__(self) -> str:
        return "every account" if self.address is None else str(self.address)
