"""Why a genesis cannot be used.

GenesisError
├── MissingGenesisField     a field that must be there
├── MalformedGenesisField   a field that is not what it should be
├── NoSupply · SupplyOverflow
├── NoAllocationToStake     validators without funds, or funds that nobody was given
├── DuplicateStakedFunds    an address that stakes twice
├── NoStakePerValidator     fewer smallest units than validators
├── StakeDurationTooShort   the last validator would end before it begins
├── MissingGenesisChain     genesis bytes without an X-Chain or a C-Chain
└── MissingGenesisAsset     an X-Chain without assets
"""

from primitives.ids import ShortID


class GenesisError(Exception):
    """A genesis that cannot be used."""


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


class StakeDurationTooShort(GenesisError):
    """The offsets of validators use up the whole duration."""

    def __init__(self) -> None:
        super().__init__("initial stake duration is too low")


class MissingGenesisChain(GenesisError):
    """A chain that every Primary Network has."""

    def __init__(self, name: str) -> None:
        super().__init__(f"genesis has no {name}")
        self.name = name


class MissingGenesisAsset(GenesisError):
    """Nothing to stake and to pay fees with."""

    def __init__(self) -> None:
        super().__init__("genesis of the X-Chain has no asset")
