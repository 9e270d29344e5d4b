"""Why a genesis cannot be used.

GenesisError
├── UnreadableGenesisFile   a file that is not there, or not for this user
├── UnencodableGenesis      values that the binary form has no room for
├── MissingGenesisField     a field that must be there
├── MalformedGenesisField   a field that is not what it should be
├── NoSupply · SupplyOverflow
├── SupplyAboveCap          more than there may ever be
├── OtherDenomination       coins with other decimals than the network's parameters
├── NoAllocationToStake     validators without funds, or funds that nobody was given
├── DuplicateStakedFunds    an address that stakes twice
├── NoStakePerValidator     fewer smallest units than validators
├── TooManyValidators       more stake than the supply of a new network allows
├── DuplicateValidator      a node that is named twice
├── StakeDurationTooShort   the last validator would end before it begins
├── UnexpectedGenesisTx     another kind of transaction than a genesis has there
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
    """Values that the binary form has no room for."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"genesis cannot be encoded: {reason}")


class MissingGenesisField(GenesisError):
    """A field that must be there."""

    def __init__(self, name: str) -> None:
        super().__init__(f"genesis field {name} is missing")
        self.name = name


class MalformedGenesisField(GenesisError):
    """A field of another form."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"genesis field {name}: {reason}")
        self.name = name


class NoSupply(GenesisError):
    """Nobody has anything."""

    def __init__(self) -> None:
        super().__init__("initial supply must be > 0")


class SupplyOverflow(GenesisError):
    """More than 64 bits hold."""

    def __init__(self) -> None:
        super().__init__("initial supply overflows")


class SupplyAboveCap(GenesisError):
    """There is more from the beginning than there may ever be: amounts of another scale."""

    def __init__(self, supply: int, cap: int) -> None:
        super().__init__(f"initial supply {supply} is above the cap {cap}: see NODE_PARAMETERS")
        self.supply = supply
        self.cap = cap


class OtherDenomination(GenesisError):
    """The genesis counts in coins of other decimals than the network's parameters."""

    def __init__(self, got: int, wanted: int) -> None:
        super().__init__(
            f"coins of this genesis have {got} decimals, not {wanted}: see NODE_PARAMETERS"
        )
        self.got = got
        self.wanted = wanted


class NoAllocationToStake(GenesisError):
    """Validators without funds, or funds that nobody was given."""

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
    """The stake of all validators is more than there may be in a new network."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(f"{count} validators are too many: {most} at most")
        self.count = count
        self.most = most


class DuplicateValidator(GenesisError):
    """A node that shall validate twice."""

    def __init__(self, node_id: NodeID) -> None:
        super().__init__(f"{node_id} is named twice")
        self.node_id = node_id


class StakeDurationTooShort(GenesisError):
    """The offsets of validators use up the whole duration."""

    def __init__(self) -> None:
        super().__init__("initial stake duration is too low")


class UnexpectedGenesisTx(GenesisError):
    """A transaction among validators that adds none, or one among chains that creates none."""

    def __init__(self, kind: str, place: str) -> None:
        super().__init__(f"genesis has a {kind} among its {place}")
        self.kind = kind
        self.place = place


class MissingGenesisChain(GenesisError):
    """A chain that every Primary Network has."""

    def __init__(self, name: str) -> None:
        super().__init__(f"genesis has no {name}")
        self.name = name


class MissingGenesisAsset(GenesisError):
    """Nothing to stake and to pay fees with."""

    def __init__(self) -> None:
        super().__init__("genesis of the X-Chain has no asset")
