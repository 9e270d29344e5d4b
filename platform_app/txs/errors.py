"""Why a transaction is refused before any state is looked at, in the reference's words (pchain.md 2.3, 3.2).

The reasons that depend on state are in `executor.errors`, under the same root. Bytes that are no
transaction at all raise a `primitives.codec_errors.CodecError`.

InvalidTx
├── UnsupportedTxType              a type that has no dynamic fee, or cannot be issued
├── InvalidWarpMessage             bytes that are no signed warp message
└── InvalidSyntax
    ├── WrongNetworkId · WrongChainId · MemoTooLong · SumOverflow
    ├── CredentialsDifferFromInputs
    ├── InvalidComponent
    │   ├── UnspendableOutput · UnoptimizedOutput · AddressesNotSorted
    │   ├── OutputWithoutValue · InputWithoutValue · IndicesNotSorted
    │   ├── EmptyAssetId · InvalidLocktime · NestedLock
    │   └── OutputsNotSorted · InputsNotSorted
    ├── InvalidStake
    │   ├── TooManyShares · ValidatorWeightTooLow · EmptyNodeId · NoStake
    │   ├── StakeNotStakingAsset · MultipleStakedAssets
    │   ├── ValidatorWeightMismatch · DelegatorWeightMismatch
    │   └── InvalidSigner · InvalidProofOfPossession
    ├── InvalidOnPrimaryNetwork    what only other subnets have
    │   ├── AddToPrimaryNetwork · RemoveFromPrimaryNetwork · ChainOnPrimaryNetwork
    │   └── TransformPrimaryNetwork · TransferPermissionless · ConvertPermissionless
    ├── InvalidChain
    │   └── ChainNameTooLong · IllegalChainName · InvalidVmId · FxIdsNotSorted · GenesisTooLong
    ├── InvalidTransfer
    │   └── NoImportedInputs · NoExportedOutputs · LockedExport
    ├── EmptyStakerId              a reward for nobody
    ├── InvalidTransformation      one class, one text for each limit
    └── InvalidConversion
        ├── ManagerAddressTooLong · NoL1Validators · L1ValidatorsNotSorted
        └── L1WeightZero · L1NodeIdSize · BalanceZero
"""

from typing import ClassVar

from primitives.ids import ID

MAX_SHARES = 1_000_000
"""All of it, in millionths."""


class InvalidTx(Exception):
    """A transaction that cannot be accepted. Without a message a class has its own words."""

    words: ClassVar[str] = "invalid transaction"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.words if message is None else message)


class UnsupportedTxType(InvalidTx):
    """A type of transaction that the calculation does not know."""

    words = "unsupported transaction type"


class InvalidWarpMessage(InvalidTx):
    """Bytes that are no signed warp message."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"failed to parse warp message: {reason}")


class InvalidSyntax(InvalidTx):
    """Refused for what it is, whatever the state."""


class WrongNetworkId(InvalidSyntax):
    """Made for another network."""

    words = "tx has wrong network ID"


class WrongChainId(InvalidSyntax):
    """Made for another chain."""

    words = "tx has wrong chain ID"


class MemoTooLong(InvalidSyntax):
    """More bytes than a memo may have."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"memo exceeds maximum length: {size} > {limit}")
        self.size = size
        self.limit = limit


class SumOverflow(InvalidSyntax):
    """Amounts whose sum does not fit into 64 bits."""

    words = "overflow"


class CredentialsDifferFromInputs(InvalidSyntax):
    """More or fewer credentials than what must be signed."""

    words = "should have the same number of credentials as inputs"


class InvalidComponent(InvalidSyntax):
    """An input, output or owner that is not well formed."""


class UnspendableOutput(InvalidComponent):
    """More signatures wanted than there are owners."""

    words = "output is unspendable"


class UnoptimizedOutput(InvalidComponent):
    """Owners of whom none must sign."""

    words = "output representation should be optimized"


class AddressesNotSorted(InvalidComponent):
    """Owners out of order, or twice."""

    words = "addresses not sorted and unique"


class OutputWithoutValue(InvalidComponent):
    """An output of nothing."""

    words = "output has no value"


class InputWithoutValue(InvalidComponent):
    """An input of nothing."""

    words = "input has no value"


class IndicesNotSorted(InvalidComponent):
    """Signature indices out of order, or twice."""

    words = "address indices not sorted and unique"


class EmptyAssetId(InvalidComponent):
    """No asset."""

    words = "empty asset ID is not valid"


class InvalidLocktime(InvalidComponent):
    """A lock that locks until the beginning of time."""

    words = "invalid locktime"


class NestedLock(InvalidComponent):
    """A stakeable lock within another. Bytes do not get that far: the codec refuses them."""

    words = "shouldn't nest stakeable locks"


class OutputsNotSorted(InvalidComponent):
    """Outputs out of order."""

    words = "outputs not sorted"


class InputsNotSorted(InvalidComponent):
    """Inputs out of order, or one twice."""

    words = "inputs not sorted and unique"


class InvalidStake(InvalidSyntax):
    """A staking transaction that disagrees with itself."""


class TooManyShares(InvalidStake):
    """A delegation fee above everything."""

    words = f"a staker can only require at most {MAX_SHARES} shares from delegators"


class ValidatorWeightTooLow(InvalidStake):
    """A staker without weight."""

    words = "weight of this validator is too low"


class EmptyNodeId(InvalidStake):
    """No node."""

    words = "validator nodeID cannot be empty"


class NoStake(InvalidStake):
    """Nothing staked."""

    words = "no stake"


class StakeNotStakingAsset(InvalidStake):
    """Another asset staked than the Primary Network's."""

    def __init__(self, asset_id: ID) -> None:
        super().__init__(f'stake must be AVAX but is "{asset_id}"')
        self.asset_id = asset_id


class MultipleStakedAssets(InvalidStake):
    """Two assets staked in one transaction."""

    words = "multiple staked assets"


class ValidatorWeightMismatch(InvalidStake):
    """A weight that is not what is staked."""

    def __init__(self, weight: int, stake: int) -> None:
        super().__init__(f"validator weight mismatch: weight {weight} != stake {stake}")
        self.weight = weight
        self.stake = stake


class DelegatorWeightMismatch(InvalidStake):
    """The same of a delegator."""

    def __init__(self, weight: int, stake: int) -> None:
        super().__init__(
            "delegator weight is not equal to total stake weight, "
            f"delegator weight {weight} total stake weight {stake}"
        )
        self.weight = weight
        self.stake = stake


class InvalidSigner(InvalidStake):
    """A BLS key outside the Primary Network, or none on it."""

    def __init__(self, *, has_key: bool, is_primary_network: bool) -> None:
        super().__init__(
            f"invalid signer: hasKey={has_key} != isPrimaryNetwork={is_primary_network}".replace(
                "True", "true"
            ).replace("False", "false")
        )
        self.has_key = has_key
        self.is_primary_network = is_primary_network


class InvalidProofOfPossession(InvalidStake):
    """A proof that does not prove anything."""

    words = "invalid proof of possession"


class InvalidOnPrimaryNetwork(InvalidSyntax):
    """Something that only other subnets have."""


class AddToPrimaryNetwork(InvalidOnPrimaryNetwork):
    """Validators of the Primary Network are added otherwise."""

    words = "can't add primary network validator with AddSubnetValidatorTx"


class RemoveFromPrimaryNetwork(InvalidOnPrimaryNetwork):
    """Validators of the Primary Network leave at their end."""

    words = "can't remove primary network validator with RemoveSubnetValidatorTx"


class ChainOnPrimaryNetwork(InvalidOnPrimaryNetwork):
    """The Primary Network's chains come from genesis."""

    words = "new blockchain can't be validated by primary network"


class TransformPrimaryNetwork(InvalidOnPrimaryNetwork):
    """The Primary Network is permissionless already."""

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
    """A name of other characters than ASCII letters, digits and spaces."""

    words = "illegal name character"


class InvalidVmId(InvalidChain):
    """No virtual machine."""

    words = "invalid VM ID"


class FxIdsNotSorted(InvalidChain):
    """Feature extensions out of order, or one twice."""

    words = "feature extensions IDs must be sorted and unique"


class GenesisTooLong(InvalidChain):
    """Genesis data of more than a mebibyte."""

    words = "genesis too long"


class InvalidTransfer(InvalidSyntax):
    """A transfer between chains that transfers nothing, or what cannot be transferred."""


class NoImportedInputs(InvalidTransfer):
    """Nothing to import."""

    words = "tx has no imported inputs"


class NoExportedOutputs(InvalidTransfer):
    """Nothing to export."""

    words = "no export outputs"


class LockedExport(InvalidTransfer):
    """Only this chain knows stakeable locks."""

    words = "wrong locktime reported"


class EmptyStakerId(InvalidSyntax):
    """A reward for nobody."""

    words = "invalid ID"


class InvalidTransformation(InvalidSyntax):
    """A limit of a TransformSubnetTx that contradicts another, or itself."""


class InvalidConversion(InvalidSyntax):
    """A transaction about L1 validators that is not well formed."""


class ManagerAddressTooLong(InvalidConversion):
    """A manager's address of more than 4096 bytes."""

    words = "address is too long"


class NoL1Validators(InvalidConversion):
    """An L1 without validators."""

    words = "conversion must include at least one validator"


class L1ValidatorsNotSorted(InvalidConversion):
    """Validators out of order of their node IDs, or one twice."""

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
    """Nothing to add to a balance."""

    words = "balance must be greater than 0"
