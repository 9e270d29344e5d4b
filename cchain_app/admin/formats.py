"""How the admin writes amounts and types as text. What both chains write is in `adminkit.formats`."""

from adminkit.formats import cut_decimals, format_units, with_unit

_UNITS = ((10**14, 10**18, "coins"), (10**5, 10**9, "Gwei"), (0, 1, "wei"))
"""From how many wei on an amount is written in a unit, the unit's size in wei, and its name."""

TRANSACTION_TYPES = ("legacy", "access list", "dynamic fee", "blob", "set code")
"""Names of the transaction types by their numbers (EIP-2718)."""


def format_wei(wei: int) -> str:
    """Return an amount, exact, in coins, Gwei or wei, whichever reads best: 1,500.25 coins."""
    if wei == 0:
        return "0"
    size, unit = next((size, unit) for least, size, unit in _UNITS if wei >= least)
    return with_unit(format_units(wei, size), unit)


def round_wei(wei: int) -> str:
    """Return an amount as a list shows it: at most six decimals, cut off."""
    number, _, unit = format_wei(wei).partition(" ")
    return with_unit(cut_decimals(number), unit)


def format_type(number: int) -> str:
    """Return a transaction type's name and number."""
    name = TRANSACTION_TYPES[number] if number < len(TRANSACTION_TYPES) else "unknown"
    return f"{name} ({number})"
