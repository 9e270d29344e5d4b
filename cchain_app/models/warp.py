"""Warp messages that contracts of the chain have sent to other chains."""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField, BytesField, IDField


class WarpMessage(models.Model):
    """A message that an accepted block sends: this node signs it for anybody who asks."""

    message_id = IDField(primary_key=True)
    block_number = models.BigIntegerField(db_index=True)
    log_index = models.IntegerField(help_text="Index of its log in the block")
    sender = AddressField(help_text="The contract or account that has sent it")
    raw = BytesField(help_text="Unsigned bytes; their SHA-256 is the ID")

    class Meta:
        ordering = ["-block_number", "-log_index"]

    @override
    def __str__(self) -> str:
        return str(self.message_id)
