"""Auto-renewed validators: the terms of their renewal, and the periods that ended with one (etna.md 9)."""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField, IDField, UInt64Field
from platform_app.models.staking import Staker
from primitives.ids import ID


class AutoRenewedValidator(models.Model):
    """The terms of an auto-renewed validator. The staker's row has its present period, or the last one."""

    staker = models.OneToOneField(
        Staker,
        models.PROTECT,
        primary_key=True,
        related_name="auto_renewal",
        db_constraint=False,
    )
    authority = BytesField(
        help_text="Serialised OutputOwners, without type ID, of the keys that may change the terms"
    )
    next_period = models.BigIntegerField(
        help_text="Seconds; 0: the validator leaves at the end of the present period"
    )
    auto_compound_shares = models.IntegerField(
        help_text="The part of its rewards that is restaked, in millionths"
    )
    accrued_validation_rewards = UInt64Field(
        help_text="Restaked rewards for its own stake, part of its weight"
    )
    accrued_delegatee_rewards = UInt64Field(
        help_text="Restaked shares of its delegators' rewards, part of its weight"
    )
    reward_tx_id = IDField(
        null=True, help_text="The transaction with which it left; its rewards are outputs of it"
    )

    class Meta:
        indexes = [
            models.Index(fields=["reward_tx_id"], name="platform_last_reward_tx"),
        ]

    @override
    def __str__(self) -> str:
        return f"terms of {self.staker_id}"


class RenewedPeriod(models.Model):
    """A period of an auto-renewed validator that another one followed."""

    pk = models.CompositePrimaryKey("staker_id", "joined_height")
    staker = models.ForeignKey(
        Staker,
        models.PROTECT,
        related_name="renewed_periods",
        db_index=False,
        db_constraint=False,
    )
    joined_height = models.BigIntegerField(help_text="Height of the block in which it began")
    left_height = models.BigIntegerField(
        help_text="Height of the block in which the next one began"
    )
    start_time = models.BigIntegerField(help_text="Unix seconds")
    end_time = models.BigIntegerField(help_text="Unix seconds")
    weight = UInt64Field(help_text="Stake in the smallest units, restaked rewards included")
    potential_reward = UInt64Field(help_text="The reward for its own stake, which it was given")
    delegatee_reward = UInt64Field(help_text="Its share of its delegators' rewards in the period")
    up_duration = models.BigIntegerField(help_text="Seconds online")
    reward_tx_id = IDField(
        help_text="The transaction that ended it; rewards that were not restaked are outputs of it"
    )

    class Meta:
        ordering = ["-joined_height"]
        indexes = [
            models.Index(fields=["left_height", "joined_height"], name="platform_renewed_members"),
            models.Index(fields=["reward_tx_id"], name="platform_renewing_tx"),
        ]

    @override
    def __str__(self) -> str:
        return f"period of {self.staker_id} from block {self.joined_height}"

    @property
    def tx_id(self) -> ID:
        """The transaction that added the validator."""
        found: ID = self.staker_id
        return found
