"""Reasons for which a genesis cannot be used."""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class PlatformGenesisReason(StrEnum):
    """Reasons for which a genesis of the P-Chain cannot be used."""

    UNREADABLE_FILE = "genesis file {name} cannot be read: {cause}"
    UNENCODABLE = "genesis cannot be encoded: {cause}"
    MISSING_FIELD = "genesis field {name} is missing"
    MALFORMED_FIELD = "genesis field {name}: {cause}"
    NO_SUPPLY = "initial supply must be > 0"
    SUPPLY_OVERFLOW = "initial supply overflows"
    SUPPLY_ABOVE_CAP = "initial supply {supply} is above the cap {cap}: see NODE_PARAMETERS"
    OTHER_DENOMINATION = (
        "coins of this genesis have {got} decimals, not {wanted}: see NODE_PARAMETERS"
    )
    # Validators without funds, or staked funds without an allocation.
    NO_ALLOCATION_TO_STAKE = "no allocation to stake"
    DUPLICATE_STAKED_FUNDS = "duplicate initially staked address: {address}"
    NO_STAKE_PER_VALIDATOR = "validator has no weight"  # fewer smallest units than validators
    # More stake than the supply of a new network allows.
    TOO_MANY_VALIDATORS = "{count} validators are too many: {most} at most"
    DUPLICATE_VALIDATOR = "{node_id} is named twice"
    # The last validator would end before it starts.
    STAKE_DURATION_TOO_SHORT = "initial stake duration is too low"
    UNEXPECTED_TX = "genesis has a {kind} among its {place}"
    MISSING_CHAIN = "genesis has no {name}"
    MISSING_ASSET = "genesis of the X-Chain has no asset"


class GenesisError(ErrorWithReason):
    """A genesis that cannot be used."""
