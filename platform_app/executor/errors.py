"""Reasons that depend on state for rejecting a transaction, with the reference's messages (pchain.md 5, 7.3).

Reasons that need no state are in `txs.errors`, those that other chains share in `utxo.errors`, all under the
same base class. Two of them are raised here too: SumOverflow by the flow check, CredentialsDifferFromInputs by
authorizations.

InvalidTx                               in `utxo.errors`
├── RefusedType
│   ├── WrongTxType · TransformSubnetRefused · EtnaFeature · HeliconFeature
│   └── AddValidatorRefused · AddDelegatorRefused
├── InvalidSpend                        the flow check (5.2)
│   ├── WrongNumberOfCredentials · UtxoMissing · SharedUtxoMissing
│   ├── AssetMismatch · LockedFundsNotMarked · LocktimeMismatch
│   ├── TransferNotVerified             has a RefusedCredential
│   └── InsufficientLockedFunds · InsufficientUnlockedFunds
├── RefusedCredential                   one input's or an authorization's signatures, in `utxo.errors`
├── FlowCheckFailed · ExportNotFunded   have the reason of a flow check
├── InvalidPeer                         SameChain · UnknownPeer · PeerOfOtherSubnet
├── InvalidAuthorization                SubnetNotFound · UnauthorizedModification (5.3)
├── InvalidStaker                       the staking rules (5.4.3), in `staking_errors`
└── InvalidReward                       NoStaker · WrongStaker · StakerNotDue (7.3)
"""

from datetime import UTC, datetime

from primitives.ids import ID
from utxo.errors import InvalidTx, RefusedCredential


def moment(seconds: int) -> str:
    """Format a time as the reference does; a time beyond the calendar as a number of seconds."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"
    except (ValueError, OverflowError, OSError):
        return str(seconds)


class RefusedType(InvalidTx):
    """A type that this chain does not execute, or not in this context."""


class WrongTxType(RefusedType):
    """A type that only block builders create, or that is obsolete."""

    words = "wrong transaction type"


class TransformSubnetRefused(RefusedType):
    """Subnets stay permissioned."""

    words = "TransformSubnetTx is not permitted post-Etna"


class AddValidatorRefused(RefusedType):
    """Replaced by AddPermissionlessValidatorTx since Durango."""

    words = "AddValidatorTx is not permitted post-Durango"


class AddDelegatorRefused(RefusedType):
    """Replaced by AddPermissionlessDelegatorTx since Durango."""

    words = "AddDelegatorTx is not permitted post-Durango"


class EtnaFeature(RefusedType):
    """L1 validators are not supported."""

    words = "attempting to use an Etna-upgrade feature prior to activation"


class HeliconFeature(RefusedType):
    """Auto-renewed validators are not supported."""

    words = "attempting to use a Helicon-upgrade feature prior to activation"


class InvalidSpend(InvalidTx):
    """Consumed and produced amounts that do not match."""


class WrongNumberOfCredentials(InvalidSpend):
    """More or fewer credentials than inputs."""

    def __init__(self, inputs: int, credentials: int) -> None:
        super().__init__(
            f"wrong number of credentials: {inputs} inputs != {credentials} credentials"
        )
        self.inputs = inputs
        self.credentials = credentials


class UtxoMissing(InvalidSpend):
    """An output that does not exist or is already spent."""

    def __init__(self, tx_id: ID, output_index: int) -> None:
        super().__init__(f"failed to read consumed UTXO {tx_id}:{output_index} due to: not found")
        self.tx_id = tx_id
        self.output_index = output_index


class SharedUtxoMissing(InvalidSpend):
    """An output that the other chain did not export, or that is already imported."""

    words = "failed to get shared memory: not found"


class AssetMismatch(InvalidSpend):
    """An input whose asset differs from its output's."""

    def __init__(self, of_input: ID, of_utxo: ID) -> None:
        super().__init__(f"input asset ID does not match UTXO asset ID: {of_input} != {of_utxo}")
        self.of_input = of_input
        self.of_utxo = of_utxo


class LockedFundsNotMarked(InvalidSpend):
    """A locked output spent by an input without a lock."""

    words = "locked funds not marked as locked"


class LocktimeMismatch(InvalidSpend):
    """An input whose locktime differs from its output's."""

    def __init__(self, of_input: int, of_utxo: int) -> None:
        super().__init__(f"input locktime does not match UTXO locktime: {of_input} != {of_utxo}")
        self.of_input = of_input
        self.of_utxo = of_utxo


class TransferNotVerified(InvalidSpend):
    """An input whose credential does not satisfy its output's owners."""

    def __init__(self, reason: RefusedCredential) -> None:
        super().__init__(f"failed to verify transfer: {reason}")
        self.reason = reason


class InsufficientLockedFunds(InvalidSpend):
    """More locked than locked inputs and unlocked coins together cover."""

    def __init__(self, owner_id: ID, missing: int, asset_id: ID, locktime: int) -> None:
        super().__init__(
            f"insufficient locked funds: {owner_id} needs {missing} more {asset_id} "
            f"for locktime {locktime}"
        )
        self.missing = missing
        self.asset_id = asset_id
        self.locktime = locktime


class InsufficientUnlockedFunds(InvalidSpend):
    """More produced, the fee included, than consumed."""

    def __init__(self, missing: int, asset_id: ID) -> None:
        super().__init__(f"insufficient unlocked funds: needs {missing} more {asset_id}")
        self.missing = missing
        self.asset_id = asset_id


class FlowCheckFailed(InvalidTx):
    """A failed flow check of a transaction about stakers or subnet owners."""

    def __init__(self, reason: InvalidTx) -> None:
        super().__init__(f"flow check failed: {reason}")
        self.reason = reason


class ExportNotFunded(InvalidTx):
    """A failed flow check of an export."""

    def __init__(self, reason: InvalidTx) -> None:
        super().__init__(f"failed verifySpend: {reason}")
        self.reason = reason


class InvalidPeer(InvalidTx):
    """A chain with which no exchange is possible."""


class SameChain(InvalidPeer):
    """The P-Chain itself."""

    words = "same chainID"


class UnknownPeer(InvalidPeer):
    """A chain that does not exist."""

    def __init__(self, chain_id: ID) -> None:
        super().__init__(
            f'failed to get subnet of "{chain_id}": problem retrieving blockchain "{chain_id}": '
            "not found"
        )
        self.chain_id = chain_id


class PeerOfOtherSubnet(InvalidPeer):
    """A chain outside the Primary Network."""

    def __init__(self, expected: ID, got: ID) -> None:
        super().__init__(f'mismatched subnetIDs; expected "{expected}" got "{got}"')
        self.expected = expected
        self.got = got


class InvalidAuthorization(InvalidTx):
    """A missing or invalid authorization by a subnet's owner."""


class SubnetNotFound(InvalidAuthorization):
    """There is no such subnet."""

    words = "not found"


class UnauthorizedModification(InvalidAuthorization):
    """The last credential is not the owner's."""

    def __init__(self, reason: RefusedCredential) -> None:
        super().__init__(f"unauthorized modification: {reason}")
        self.reason = reason


class InvalidReward(InvalidTx):
    """A reward proposal that does not name the next staker to leave."""


class NoStaker(InvalidReward):
    """There is no staker to reward."""

    words = "failed to get next staker to remove: not found"


class WrongStaker(InvalidReward):
    """Another staker is next."""

    def __init__(self, expected: ID, got: ID) -> None:
        super().__init__(f"attempting to remove wrong staker: {expected} != {got}")
        self.expected = expected
        self.got = got


class StakerNotDue(InvalidReward):
    """The next staker to leave has not reached its end."""

    def __init__(self, tx_id: ID, timestamp: int, end: int) -> None:
        super().__init__(
            "attempting to remove staker before their end time: "
            f"TxID = {tx_id} with {moment(timestamp)} < {moment(end)}"
        )
        self.tx_id = tx_id
        self.timestamp = timestamp
        self.end = end
