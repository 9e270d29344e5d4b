"""Reasons for rejecting the addition or removal of a staker, with the reference's messages (pchain.md 5.4.3).

InvalidTx
└── InvalidStaker
    ├── StakeTooLow · StakeTooHigh · DelegationFeeTooLow · WrongStakedAsset · SubnetNotTransformed
    ├── PeriodTooShort · PeriodTooLong · StartTooFarAhead · PeriodMismatch
    ├── AlreadyValidator · DuplicateValidator · DuplicateSubnetValidator
    ├── PrimaryValidatorMissing · DelegateeMissing · NotPrimaryValidator · NotSubnetValidator
    └── StakeLimitOverflow · OverDelegated · RemovingPermissionless
"""

from primitives.ids import ID, NodeID
from utxo.errors import InvalidTx


class InvalidStaker(InvalidTx):
    """A staker that may not be added or removed."""


class StakeTooLow(InvalidStaker):
    """Less than the minimum stake."""

    words = "weight of this validator is too low"


class StakeTooHigh(InvalidStaker):
    """More than the maximum stake."""

    words = "weight of this validator is too large"


class DelegationFeeTooLow(InvalidStaker):
    """A delegation fee below the network's minimum."""

    words = "staker charges an insufficient delegation fee"


class WrongStakedAsset(InvalidStaker):
    """Stake in another asset than the subnet's."""

    def __init__(self, expected: ID, got: ID) -> None:
        super().__init__(f"incorrect staked assetID: {expected} != {got}")
        self.expected = expected
        self.got = got


class SubnetNotTransformed(InvalidStaker):
    """Permissionless stakers on a subnet that has no rules for them."""

    words = "not found"


class PeriodTooShort(InvalidStaker):
    """Less than the minimum period."""

    words = "staking period is too short"


class PeriodTooLong(InvalidStaker):
    """More than the maximum period."""

    words = "staking period is too long"


class StartTooFarAhead(InvalidStaker):
    """A start too far in the future."""

    def __init__(self, most: int) -> None:
        hours, seconds = divmod(most, 3600)
        minutes, seconds = divmod(seconds, 60)
        super().__init__(
            "staker is attempting to start staking more than "
            f"{hours}h{minutes}m{seconds}s ahead of the current chain time"
        )
        self.most = most


class PeriodMismatch(InvalidStaker):
    """A period that is not within the validator's."""

    words = "proposed staking period is not inside dependent staking period"


class AlreadyValidator(InvalidStaker):
    """A second AddValidatorTx for a node."""

    def __init__(self, node_id: NodeID) -> None:
        super().__init__(f"{node_id} is already a validator of the primary network")
        self.node_id = node_id


class DuplicateValidator(InvalidStaker):
    """A second AddPermissionlessValidatorTx for a node."""

    def __init__(self, node_id: NodeID, subnet_id: ID) -> None:
        super().__init__(f"duplicate validator: {node_id} on {subnet_id}")
        self.node_id = node_id
        self.subnet_id = subnet_id


class DuplicateSubnetValidator(InvalidStaker):
    """A second AddSubnetValidatorTx for a node and subnet."""

    def __init__(self, node_id: NodeID, subnet_id: ID) -> None:
        super().__init__(
            f"attempted to issue duplicate validator for {node_id} on subnet {subnet_id}"
        )
        self.node_id = node_id
        self.subnet_id = subnet_id


class PrimaryValidatorMissing(InvalidStaker):
    """An AddDelegatorTx for a node that is not a validator."""

    def __init__(self, node_id: NodeID) -> None:
        super().__init__(f"failed to fetch the primary network validator for {node_id}: not found")
        self.node_id = node_id


class DelegateeMissing(InvalidStaker):
    """An AddPermissionlessDelegatorTx for a node that is not a validator."""

    def __init__(self, node_id: NodeID, subnet_id: ID) -> None:
        super().__init__(f"failed to fetch the validator for {node_id} on {subnet_id}: not found")
        self.node_id = node_id
        self.subnet_id = subnet_id


class NotPrimaryValidator(InvalidStaker):
    """A subnet validator that does not validate the Primary Network."""

    def __init__(self, node_id: NodeID) -> None:
        super().__init__(f"{node_id} isn't a current or pending validator of the primary network")
        self.node_id = node_id


class NotSubnetValidator(InvalidStaker):
    """The removal of a node that does not validate the subnet."""

    def __init__(self, node_id: NodeID, subnet_id: ID) -> None:
        super().__init__(
            f"{node_id} isn't a current or pending validator of {subnet_id}: not found"
        )
        self.node_id = node_id
        self.subnet_id = subnet_id


class StakeLimitOverflow(InvalidStaker):
    """A validator whose weight, multiplied by the factor, does not fit into 64 bits."""

    words = "validator stake exceeds limit"


class OverDelegated(InvalidStaker):
    """More stake on one validator than allowed."""

    words = "validator would be over delegated"


class RemovingPermissionless(InvalidStaker):
    """The removal of a validator that the subnet's owner did not add."""

    words = "attempting to remove permissionless validator"
