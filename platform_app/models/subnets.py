"""Subnets, their owners, and the blockchains that they validate."""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField, IDField, ShortIDField, UInt64Field


class Subnet(models.Model):
    """A subnet; the Primary Network has no row."""

    subnet_id = IDField(primary_key=True, help_text="The ID of the transaction that created it")
    position = models.BigIntegerField(unique=True, help_text="Key of the transaction's row")
    locktime = UInt64Field(help_text="Its owners cannot sign before: Unix seconds, 0 for none")
    threshold = models.BigIntegerField(help_text="So many control keys must sign")
    owner = BytesField(help_text="OutputOwners without type ID")

    class Meta:
        ordering = ["position"]

    @override
    def __str__(self) -> str:
        return str(self.subnet_id)


class SubnetOwner(models.Model):
    """A control key of a subnet."""

    pk = models.CompositePrimaryKey("address", "subnet_id")
    address = ShortIDField()
    subnet = models.ForeignKey(
        Subnet, models.PROTECT, related_name="control_keys", db_constraint=False
    )

    @override
    def __str__(self) -> str:
        return f"{self.address} of {self.subnet_id}"


class Blockchain(models.Model):
    """A blockchain; the P-Chain itself has no row."""

    blockchain_id = IDField(primary_key=True, help_text="The ID of its transaction")
    position = models.BigIntegerField(unique=True, help_text="Key of the transaction's row")
    subnet_id = IDField(help_text="The subnet that validates it; zeros: the Primary Network")
    name = models.CharField(max_length=128)
    vm_id = IDField()
    fx_ids = BytesField(help_text="Feature extensions, 32 bytes each")
    genesis_size = models.IntegerField(help_text="Bytes; its transaction has them")

    class Meta:
        ordering = ["position"]
        indexes = [models.Index(fields=["subnet_id", "position"], name="platform_chains_of_subnet")]

    @override
    def __str__(self) -> str:
        return self.name
