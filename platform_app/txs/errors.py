"""Reasons that need no state for rejecting a transaction, with the reference's messages (pchain.md 2.3, 3.2).

The reasons that other chains share are in `utxo.errors`, those that depend on state in `executor.errors`, all
under the same base class. Bytes that are not a transaction raise a `primitives.codec_errors.CodecError`.

InvalidTx                          in `utxo.errors`
├── UnsupportedTxType              a type that has no dynamic fee, or cannot be issued
├── InvalidWarpMessage             bytes that are not a signed warp message
└── InvalidSyntax                  in `utxo.errors`
    ├── WrongNetworkId · WrongBlockchainId · MemoTooLong
    ├── CredentialsDifferFromInputs
    ├── InvalidComponent           in `utxo.errors`; two more for stakeable locks
    │   └── InvalidLocktime · NestedLock
    ├── InvalidStake
    │   ├── TooManyShares · ValidatorWeightTooLow · EmptyNodeId · NoStake
    │   ├── StakeNotStakingAsset · MultipleStakedAssets
    │   ├── ValidatorWeightMismatch · DelegatorWeightMismatch
    │   └── InvalidSigner · InvalidProofOfPossession
    ├── InvalidOnPrimaryNetwork    allowed on other subnets only
    │   ├── AddToPrimaryNetwork · RemoveFromPrimaryNetwork · ChainOnPrimaryNetwork
    │   └── TransformPrimaryNetwork · TransferPermissionless · ConvertPermissionless
    ├── InvalidChain
    │   └── ChainNameTooLong · IllegalChainName · InvalidVmId · FxIdsNotSorted · GenesisTooLong
    ├── InvalidTransfer
    │   └── NoImportedInputs · NoExportedOutputs · LockedExport
    ├── EmptyStakerId              a reward without a staker
    ├── InvalidTransformation      one class, one text for each limit
    └── InvalidConversion
        ├── ManagerAddressTooLong · NoL1Validators · L1ValidatorsNotSorted
        └── L1WeightZero · L1NodeIdSize · BalanceZero
"""

from primitives.ids import ID
from utxo.errors import InvalidComponent, InvalidSyntax, InvalidTx

PERCENT_DENOMINATOR = 1_000_000
"""100 percent, in millionths."""


class UnsupportedTxType(InvalidTx):
    """A type of transaction without the calculated fee."""

    words = "unsupported transaction type"


class InvalidWarpMessage(InvalidTx):
    """Bytes that are not a signed warp message."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"failed to parse warp message: {reason}")


class WrongNetworkId(InvalidSyntax):
    """A transaction for another network."""

    words = "tx has wrong network ID"


class WrongBlockchainId(InvalidSyntax):
    """A transaction for another chain."""

    words = "tx has wrong chain ID"


class MemoTooLong(InvalidSyntax):
    """A memo that is too long."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"memo exceeds maximum length: {size} > {limit}")
        self.size = size
        self.limit = limit


class CredentialsDifferFromInputs(InvalidSyntax):
    """A number of credentials that differs from the number of inputs and authorizations."""

    words = "should have the same number of credentials as inputs"


class InvalidLocktime(InvalidComponent):
    """A lock with locktime zero."""

    words = "invalid locktime"


class NestedLock(InvalidComponent):
    """A stakeable lock within another. The codec rejects such bytes before this check."""

    words = "shouldn't nest stakeable locks"


class InvalidStake(InvalidSyntax):
    """An inconsistent staking transaction."""


class TooManyShares(InvalidStake):
    """A delegation fee above 100 percent."""

    words = f"a staker can only require at most {PERCENT_DENOMINATOR} shares from delegators"


class ValidatorWeightTooLow(InvalidStake):
    """A staker without weight."""

    words = "weight of this validator is too low"


class EmptyNodeId(InvalidStake):
    """A missing node ID."""

    words = "validator nodeID cannot be empty"


class NoStake(InvalidStake):
    """A transaction without stake."""

    words = "no stake"


class StakeNotStakingAsset(InvalidStake):
    """Stake in an asset other than the Primary Network's."""

    def __init__(self, asset_id: ID) -> None:
        super().__init__(f'stake must be AVAX but is "{asset_id}"')
        self.asset_id = asset_id


class MultipleStakedAssets(InvalidStake):
    """Two assets staked in one transaction."""

    words = "multiple staked assets"


class ValidatorWeightMismatch(InvalidStake):
    """A validator weight that differs from the amount staked."""

    def __init__(self, weight: int, stake: int) -> None:
        super().__init__(f"validator weight mismatch: weight {weight} != stake {stake}")
        self.weight = weight
        self.stake = stake


class DelegatorWeightMismatch(InvalidStake):
    """A delegator weight that differs from the amount staked."""

    def __init__(self, weight: int, stake: int) -> None:
        super().__init__(
            "delegator weight is not equal to total stake weight, "
            f"delegator weight {weight} total stake weight {stake}"
        )
        self.weight = weight
        self.stake = stake


class InvalidSigner(InvalidStake):
    """A BLS key outside the Primary Network, or a missing BLS key on it."""

    def __init__(self, *, has_key: bool, is_primary_network: bool) -> None:
        super().__init__(
            f"invalid signer: hasKey={has_key} != isPrimaryNetwork={is_primary_network}".replace(
                "True", "true"
            ).replace("False", "false")
        )
        self.has_key = has_key
        self.is_primary_network = is_primary_network


class InvalidProofOfPossession(InvalidStake):
    """An invalid proof of possession."""

    words = "invalid proof of possession"


class InvalidOnPrimaryNetwork(InvalidSyntax):
    """An operation that is allowed on other subnets only."""


class AddToPrimaryNetwork(InvalidOnPrimaryNetwork):
    """Validators of the Primary Network are added by other types of transactions."""

    words = "can't add primary network validator with AddSubnetValidatorTx"


class RemoveFromPrimaryNetwork(InvalidOnPrimaryNetwork):
    """Validators of the Primary Network leave at the end of their staking period."""

    words = "can't remove primary network validator with RemoveSubnetValidatorTx"


class ChainOnPrimaryNetwork(InvalidOnPrimaryNetwork):
    """The Primary Network's chains are created by genesis."""

    words = "new blockchain can't be validated by primary network"


class TransformPrimaryNetwork(InvalidOnPrimaryNetwork):
    """The Primary Network is already permissionless."""

    words = "cannot transform primary network"


class TransferPermissionless(InvalidOnPrimaryNetwork):
    """The Primary Network has no owner."""

    words = "cannot transfer ownership of a permissionless subnet"


class ConvertPermissionless(InvalidOnPrimaryNetwork):
    """The Primary Network cannot become an L1."""

    words = "cannot convert a permissionless subnet"


class InvalidChain(InvalidSyntax):
    """A blockchain that cannot be created."""


class ChainNameTooLong(InvalidChain):
    """A name of more than 128 bytes."""

    words = "name too long"


class IllegalChainName(InvalidChain):
    """A name with characters other than ASCII letters, digits and spaces."""

    words = "illegal name character"


class InvalidVmId(InvalidChain):
    """A missing virtual machine ID."""

    words = "invalid VM ID"


class FxIdsNotSorted(InvalidChain):
    """Feature extensions that are out of order or duplicated."""

    words = "feature extensions IDs must be sorted and unique"


class GenesisTooLong(InvalidChain):
    """Genesis data of more than a mebibyte."""

    words = "genesis too long"


class InvalidTransfer(InvalidSyntax):
    """A transfer between chains that is empty, or whose outputs cannot be transferred."""


class NoImportedInputs(InvalidTransfer):
    """Nothing to import."""

    words = "tx has no imported inputs"


class NoExportedOutputs(InvalidTransfer):
    """Nothing to export."""

    words = "no export outputs"


class LockedExport(InvalidTransfer):
    """An export of a stakeable lock, which exists only on this chain."""

    words = "wrong locktime reported"


class EmptyStakerId(InvalidSyntax):
    """A reward without a staker."""

    words = "invalid ID"


class InvalidTransformation(InvalidSyntax):
    """A limit of a TransformSubnetTx that is invalid or contradicts another."""


class InvalidConversion(InvalidSyntax):
    """A transaction about L1 validators that is not well formed."""


class ManagerAddressTooLong(InvalidConversion):
    """A manager's address of more than 4096 bytes."""

    words = "address is too long"


class NoL1Validators(InvalidConversion):
    """An L1 without validators."""

    words = "conversion must include at least one validator"


class L1ValidatorsNotSorted(InvalidConversion):
    """Validators that are not in order of their node IDs, or duplicated."""

    words = "conversion validators must be sorted and unique"


class L1WeightZero(InvalidConversion):
    """A validator without weight."""

    words = "validator weight must be non-zero"


class L1NodeIdSize(InvalidConversion):
    """A node ID that is not 20 bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"invalid hash length: expected 20 bytes but got {size}")
        self.size = size


class BalanceZero(InvalidConversion):
    """A balance increase of zero."""

    words = "balance must be greater than 0"
