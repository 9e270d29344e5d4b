"""Which accounts a development chain's node made for those who asked."""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField, RowIdField


class CreatedAccount(models.Model):
    """One row is an account that personal_newAccount made; its key follows from NODE_MNEMONIC, and is no column."""

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
