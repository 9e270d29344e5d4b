"""Assets, outputs with their owners, and the transactions of each address."""

from django.db import models
from django.db.models import Q
from typing_extensions import override

from chaindb.fields import BytesField, IDField, ShortIDField, UInt64Field


class XOutputKind(models.IntegerChoices):
    """Types of outputs, with the protocol's numbers."""

    MINT_RIGHT = 6, "right to mint coins"
    COINS = 7, "coins"
    NFT_MINT_RIGHT = 10, "right to mint collectibles"
    COLLECTIBLE = 11, "collectible"
    PROPERTY_MINT_RIGHT = 15, "right to mint property"
    PROPERTY = 16, "property"


class XAsset(models.Model):
    """An asset: the accepted transaction that created it."""

    asset_id = IDField(primary_key=True, help_text="The ID of the transaction that created it")
    alias = models.TextField(help_text="Its name in the genesis; empty for other assets")
    name = models.TextField()
    symbol = models.TextField()
    denomination = models.SmallIntegerField(help_text="Number of decimals")
    extensions = models.SmallIntegerField(
        help_text="Sum of 1 for coins, 2 for collectibles, 4 for property"
    )
    height = models.BigIntegerField(help_text="Height of the block that created it")

    class Meta:
        ordering = ["-height", "asset_id"]
        verbose_name = "asset"
        indexes = [
            models.Index(fields=["alias"], name="xchain_asset_by_alias"),
            models.Index(fields=["symbol"], name="xchain_asset_by_symbol"),
        ]

    @override
    def __str__(self) -> str:
        return str(self.asset_id)


class XOutput(models.Model):
    """An output of this chain, spent or unspent."""

    utxo_id = IDField(primary_key=True)
    tx_id = IDField()
    output_index = models.BigIntegerField()
    asset_id = IDField()
    kind = models.SmallIntegerField(choices=XOutputKind)
    amount = UInt64Field(null=True, help_text="Coins in the smallest units; empty for other kinds")
    group_id = models.BigIntegerField(
        null=True, help_text="The group of a collectible or its right"
    )
    payload = BytesField(null=True, help_text="The payload of a collectible")
    locktime = UInt64Field(help_text="Unix seconds before which the owners cannot sign; 0: no lock")
    threshold = models.BigIntegerField(help_text="Number of owners that must sign")
    height = models.BigIntegerField(help_text="Height of the block that created it")
    output = BytesField(help_text="The output as serialised in transactions, with its type ID")
    spent_by = IDField(null=True, help_text="The transaction that spent it")
    spent_height = models.BigIntegerField(null=True, help_text="The height of that transaction")

    class Meta:
        ordering = ["-height", "utxo_id"]
        verbose_name = "UTXO"
        indexes = [
            models.Index(fields=["asset_id", "kind"], name="xchain_output_by_asset"),
            models.Index(fields=["tx_id", "output_index"], name="xchain_output_by_tx"),
            models.Index(
                fields=["asset_id", "kind", "amount", "utxo_id"],
                condition=Q(spent_height__isnull=True),
                name="xchain_unspent_of_asset",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.tx_id}:{self.output_index}"


class XOwner(models.Model):
    """An address that may sign for an unspent output."""

    pk = models.CompositePrimaryKey("address", "utxo_id")
    address = ShortIDField()
    utxo = models.ForeignKey(
        XOutput, models.PROTECT, related_name="owners", db_index=False, db_constraint=False
    )
    height = models.BigIntegerField(help_text="Height of the block that created the output")

    class Meta:
        # The pages of an address's outputs, the latest first, are read from this index alone.
        indexes = [
            models.Index(fields=["address", "-height", "utxo"], name="xchain_owned_newest_first")
        ]

    @override
    def __str__(self) -> str:
        return f"{self.address} of {self.utxo_id}"


class XAddressTx(models.Model):
    """A transaction that consumed or created an output of an asset that names an address as owner."""

    pk = models.CompositePrimaryKey("address", "asset_id", "position")
    address = ShortIDField()
    asset_id = IDField()
    position = models.BigIntegerField(help_text="The key of the transaction's row")

    class Meta:
        indexes = [models.Index(fields=["address", "position"], name="xchain_tx_of_address")]

    @override
    def __str__(self) -> str:
        return f"{self.address} in {self.position}"
