"""How the admin writes coins, shares and names of the P-Chain as text; the rest is `adminkit.formats`."""

from functools import lru_cache

from adminkit.formats import cut_decimals, format_units, with_unit
from platform_app.apps import platform_chain
from platform_app.config import MILLION
from primitives.addresses import format_address
from primitives.ids import ID, ShortID

CHAIN = "P"
"""The alias that addresses are written with."""


def format_coins(amount: int) -> str:
    """Return an amount of the staking asset in coins, exact: 1,500.25 coins."""
    return with_unit(format_units(amount, platform_chain().config.unit), "coins")


def round_coins(amount: int) -> str:
    """Return an amount as a list shows it: at most six decimals, cut off."""
    return with_unit(cut_decimals(format_units(amount, platform_chain().config.unit)), "coins")


def plain_coins(amount: int) -> str:
    """Return an amount in coins as a program reads it, exact: 1500.25."""
    return format_units(amount, platform_chain().config.unit).replace(",", "")


def format_share(millionths: int) -> str:
    """Return millionths as percent, exact: 2.5 %."""
    return f"{format_units(millionths, MILLION // 100)} %"


def format_fraction(fraction: float) -> str:
    """Return a part of one as percent with two decimals, cut off: 99.99 % is not all."""
    hundredths = int(fraction * 10_000)
    return f"{hundredths // 100}.{hundredths % 100:02} %"


def format_owner(address: ShortID) -> str:
    """Return an address as this network writes it."""
    return format_address(CHAIN, platform_chain().config.hrp, address)


@lru_cache(maxsize=1024)  # nearly all rows of an export have the same one
def format_subnet(subnet_id: ID) -> str:
    """Return a subnet's ID as text."""
    return str(subnet_id)


def format_vm(vm_id: ID) -> str:
    """Return a VM's name where its ID is one, else the ID."""
    name = bytes(vm_id).rstrip(b"\0")
    if name and name.isascii() and name.decode("ascii").isprintable():
        return name.decode("ascii")
    return str(vm_id)
