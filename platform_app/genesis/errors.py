"""Reasons for which a genesis cannot be used.

GenesisError
├── UnreadableGenesisFile   a file that is missing or not readable for this user
├── UnencodableGenesis      values that do not fit into the binary format
├── MissingGenesisField     a required field that is missing
├── MalformedGenesisField   a field with an invalid value
├── NoSupply · SupplyOverflow
├── SupplyAboveCap          more than the maximum supply
├── OtherDenomination       coins with other decimals than the network's parameters
├── NoAllocationToStake     validators without funds, or staked funds without an allocation
├── DuplicateStakedFunds    an address that stakes twice
├── NoStakePerValidator     fewer smallest units than validators
├── TooManyValidators       more stake than the supply of a new network allows
├── DuplicateValidator      a node that is named twice
├── StakeDurationTooShort   the last validator would end before it starts
├── UnexpectedGenesisTx     a transaction of a kind that is not allowed in its place
├── MissingGenesisChain     genesis bytes without an X-Chain or a C-Chain
└── MissingGenesisAsset     an X-Chain without assets
"""

from primitives.ids import NodeID, ShortID


class GenesisError(Exception):
    """A genesis that cannot be used."""


class UnreadableGenesisFile(GenesisError):
    """A file that cannot be read."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"genesis file {name} cannot be read: {reason}")
        self.name = name


class UnencodableGenesis(GenesisError):
    """Values that do not fit into the binary format."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"genesis cannot be encoded: {reason}")


class MissingGenesisField(GenesisError):
    """A required field that is missing."""

    def __init__(self, name: str) -> None:
        super().__init__(f"genesis field {name} is missing")
        self.name = name


class MalformedGenesisField(GenesisError):
    """A field with an invalid value."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"genesis field {name}: {reason}")
        self.name = name


class NoSupply(GenesisError):
    """A genesis without any funds."""

    def __init__(self) -> None:
        super().__init__("initial supply must be > 0")


class SupplyOverflow(GenesisError):
    """A supply that does not fit into 64 bits."""

    def __init__(self) -> None:
        super().__init__("initial supply overflows")


class SupplyAboveCap(GenesisError):
    """An initial supply above the maximum, as with amounts of another scale."""

    def __init__(self, supply: int, cap: int) -> None:
        super().__init__(f"initial supply {supply} is above the cap {cap}: see NODE_PARAMETERS")
        self.supply = supply
        self.cap = cap


class OtherDenomination(GenesisError):
    """A genesis whose coins have other decimals than the network's parameters."""

    def __init__(self, got: int, wanted: int) -> None:
        super().__init__(
            f"coins of this genesis have {got} decimals, not {wanted}: see NODE_PARAMETERS"
        )
        self.got = got
        self.wanted = wanted


class NoAllocationToStake(GenesisError):
    """Validators without funds, or staked funds without an allocation."""

    def __init__(self) -> None:
        super().__init__("no allocation to stake")


class DuplicateStakedFunds(GenesisError):
    """An address that stakes twice."""

    def __init__(self, address: ShortID) -> None:
        super().__init__(f"duplicate initially staked address: {address}")
        self.address = address


class NoStakePerValidator(GenesisError):
    """Fewer smallest units staked than there are validators."""

    def __init__(self) -> None:
        super().__init__("validator has no weight")


class TooManyValidators(GenesisError):
    """A total stake above that allowed in a new network."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(f"{count} validators are too many: {most} at most")
        self.count = count
        self.most = most


class DuplicateGenesisValidator(GenesisError):
    """A node that is named twice as validator."""

    def __init__(self, node_id: NodeID) -> None:
        super().__init__(f"{node_id} is named twice")
        self.node_id = node_id


class StakeDurationTooShort(GenesisError):
    """Offsets of validators that use up the whole duration."""

    def __init__(self) -> None:
        super().__init__("initial stake duration is too low")


class UnexpectedGenesisTx(GenesisError):
    """A transaction among the validators or chains that adds no validator or creates no chain."""

    def __init__(self, kind: str, place: str) -> None:
        super().__init__(f"genesis has a {kind} among its {place}")
        self.kind = kind
        self.place = place


class MissingGenesisChain(GenesisError):
    """A missing chain that every Primary Network has."""

    def __init__(self, name: str) -> None:
        super().__init__(f"genesis has no {name}")
        self.name = name


class MissingGenesisAsset(GenesisError):
    """No asset for staking and fees."""

    def __init__(self) -> None:
        super().__init__("genesis of the X-Chain has no asset")
