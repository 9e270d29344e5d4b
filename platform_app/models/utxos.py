"""Outputs: unspent ones by owner, and rewards.

Owners have their own rows, in the order that pages of getUTXOs have: by address, then by UTXO.
"""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField, IDField, ShortIDField, UInt64Field


class UTXO(models.Model):
    """An unspent output of this chain; a block that spends it deletes the row."""

    tx_id = IDField()
    output_index = models.BigIntegerField()
    asset_id = IDField()
    amount = UInt64Field()
    locktime = UInt64Field(help_text="Unix seconds before which the owners cannot sign; 0: no lock")
    threshold = models.BigIntegerField(help_text="Number of owners that must sign")
    height = models.BigIntegerField(help_text="Height of the block that created it")
    output = BytesField(help_text="The output as serialised in transactions, with its type ID")
    utxo_id = IDField(primary_key=True)
    stakeable_locktime = UInt64Field(
        help_text="Unix seconds before which it can only be staked; 0: no lock"
    )

    class Meta:
        ordering = ["utxo_id"]
        verbose_name = "UTXO"

    @override
    def __str__(self) -> str:
        return f"{self.tx_id}:{self.output_index}"


class UTXOOwner(models.Model):
    """An address that may sign for an unspent output."""

    pk = models.CompositePrimaryKey("address", "utxo_id")
    address = ShortIDField()
    utxo = models.ForeignKey(
        UTXO, models.PROTECT, related_name="owners", db_index=False, db_constraint=False
    )

    @override
    def __str__(self) -> str:
        return f"{self.address} of {self.utxo_id}"


class RewardUTXO(models.Model):
    """An output that rewarded a staker; the row remains after the output is spent."""

    utxo_id = IDField(primary_key=True)
    tx_id = IDField(
        help_text="The transaction that added the staker; of an auto-renewed validator, the one that rewarded it"
    )
    output_index = models.BigIntegerField(
        help_text="Index after the outputs and the stake outputs of that transaction"
    )
    asset_id = IDField()
    amount = UInt64Field()
    height = models.BigIntegerField(help_text="Height of the block that paid the reward")
    output = BytesField(help_text="The output as serialised in transactions, with its type ID")

    class Meta:
        ordering = ["utxo_id"]
        verbose_name = "reward UTXO"
        constraints = [
            models.UniqueConstraint(
                fields=["tx_id", "output_index"], name="platform_reward_of_staker"
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"reward of {self.tx_id}"
