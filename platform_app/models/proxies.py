"""Stakers by what they do, for the admin: the rows are `Staker`'s."""

from platform_app.models.staking import Staker


class Validator(Staker):
    """One row is a stay of a node among the validators of a subnet."""

    class Meta:
        proxy = True
        ordering = ["-position"]
        verbose_name = "validator"


class Delegator(Staker):
    """One row is stake that was added to a validator."""

    class Meta:
        proxy = True
        ordering = ["-position"]
        verbose_name = "delegator"
