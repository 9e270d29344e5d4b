"""The fields of blocks that only the C-Chain of a network of avalanchego nodes has."""

from django.db import models
from typing_extensions import override

from chaindb.fields import HashField, RowIdField, UInt64Field


class CorethBlock(models.Model):
    """The fields of an accepted block's header that Ethereum's headers do not have; null: not in the block's phase."""

    number = RowIdField(primary_key=True)
    ext_data_hash = HashField(help_text="Hash of the atomic transactions")
    ext_data_gas_used = UInt64Field(null=True, help_text="Gas of the atomic transactions")
    block_gas_cost = UInt64Field(null=True, help_text="Gas that the tips had to buy")
    time_milliseconds = UInt64Field(null=True, help_text="The block's time in Unix milliseconds")
    min_delay_excess = UInt64Field(null=True, help_text="The vote on the time between blocks")
    min_delay = UInt64Field(null=True, help_text="Least time to the next block, in milliseconds")
    gas_capacity = UInt64Field(null=True, help_text="Gas left for the next block")
    gas_excess = UInt64Field(
        null=True, help_text="Gas above the target, which determines the price"
    )
    target_excess = UInt64Field(null=True, help_text="The vote on the gas target")
    gas_target = UInt64Field(null=True, help_text="Gas per second at which the price does not move")

    class Meta:
        ordering = ["-number"]

    @override
    def __str__(self) -> str:
        return f"fields of block {self.number}"
