"""Accounts that a development chain's node created on request."""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField, RowIdField


class CreatedAccount(models.Model):
    """An account that personal_newAccount created; its key is derived from NODE_MNEMONIC and is not stored."""

    number = RowIdField(
        primary_key=True, help_text="Of the mnemonic's account, at the end of NODE_DERIVATION_PATH"
    )
    address = AddressField(unique=True)

    class Meta:
        ordering = ["number"]
        verbose_name = "created account"

    @override
    def __str__(self) -> str:
        return str(self.address)
