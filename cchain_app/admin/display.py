"""HTML for the C-Chain's values: accounts, wei, gas, hex, known events and functions; `adminkit.display` has the rest."""

from typing import NamedTuple

from django.utils.html import format_html
from django.utils.safestring import SafeString

from adminkit import display
from adminkit.display import (
    NOTHING,
    badge,
    bar,
    between_neighbours,
    box,
    counted_link,
    link,
    moment,
    muted,
    one_per_line,
    side_by_side,
    table,
)
from adminkit.formats import cut_decimals, format_units, percent
from cchain_app.admin import pages
from cchain_app.apps import evm_chain
from chaindb.fields import HexBytes
from primitives.evm import ZERO_ADDRESS, Address
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address

TRANSACTION_TYPES = ("legacy", "access list", "dynamic fee", "blob", "set code")
"""Names of the transaction types by their numbers (EIP-2718)."""


def format_wei(wei: int) -> str:
    """Return an exact amount in coins: 1,500.25 AVAX."""
    return f"{format_units(wei, 10**18)} {evm_chain().coin_symbol}" if wei else "0"


def round_wei(wei: int) -> str:
    """Return an amount as a list shows it: at most six decimals, truncated."""
    number, _, unit = format_wei(wei).partition(" ")
    return f"{cut_decimals(number)} {unit}".rstrip()


_SIGNIFICANT = 6


def round_fee(wei: int) -> str:
    """Return a fee as a list shows it: its first six digits in coins, the rest truncated, because fees are small."""
    beyond = 10 ** max(0, len(str(wei)) - _SIGNIFICANT)
    return format_wei(wei - wei % beyond)


def format_gas_price(wei: int) -> str:
    """Return an exact gas price, always in Gwei so that prices can be compared."""
    return f"{format_units(wei, 10**9)} Gwei"


def round_gas_price(wei: int) -> str:
    """Return a gas price as a list shows it: exact below 1,000 Gwei, else at most six decimals."""
    number = format_units(wei, 10**9)
    return f"{number if wei < 10**12 else cut_decimals(number)} Gwei"


def format_type(number: int) -> str:
    """Return a transaction type's name and number."""
    name = TRANSACTION_TYPES[number] if number < len(TRANSACTION_TYPES) else "unknown"
    return f"{name} ({number})"


__all__ = [
    "NOTHING",
    "amount",
    "badge",
    "between_neighbours",
    "block_link",
    "box",
    "counted_link",
    "fee",
    "full",
    "full_account",
    "full_amount",
    "full_fee",
    "full_gas_price",
    "full_link",
    "gas_price",
    "gas_share",
    "link",
    "moment",
    "muted",
    "one_per_line",
    "short",
    "short_account",
    "short_link",
    "side_by_side",
    "status",
    "table",
]  # fmt: skip


def hex_text(value: bytes) -> str:
    """Return bytes as hex; an address in the mixed case of EIP-55."""
    is_address = len(value) == len(ZERO_ADDRESS)
    return checksum_address(Address(bytes(value))) if is_address else str(HexBytes(value))


def short(value: bytes) -> SafeString:
    """Return shortened hex with the full text as its title, for a list's first column."""
    return display.short(hex_text(value))


def short_link(value: bytes, page: str) -> SafeString:
    """Return shortened hex that links to a page and can be copied."""
    return display.short_link(hex_text(value), page)


def full(value: bytes) -> SafeString:
    """Return hex in full that can be copied."""
    return display.full(hex_text(value))


def full_link(value: bytes, page: str) -> SafeString:
    """Return hex in full that links to a page and can be copied."""
    return display.full_link(hex_text(value), page)


def short_account(address: bytes | None) -> SafeString:
    """Return a shortened address that links to its account."""
    return NOTHING if address is None else short_link(address, pages.account_page(address))


def full_account(address: bytes | None) -> SafeString:
    """Return an address in full that links to its account."""
    return NOTHING if address is None else full_link(address, pages.account_page(HexBytes(address)))


def block_link(number: int) -> SafeString:
    """Return a block's number that links to its page."""
    return link(f"{number:,}", pages.block_page(number))


def amount(wei: int | None) -> SafeString:
    """Return an amount as lists show it, with the wei as its title."""
    if wei is None:
        return NOTHING
    return _in_wei(wei, round_wei(wei))


def full_amount(wei: int | None) -> SafeString:
    """Return an amount in full, with the wei as its title."""
    if wei is None:
        return NOTHING
    return format_html('<span title="{} wei">{}</span>', f"{wei:,}", format_wei(wei))


def fee(wei: int) -> SafeString:
    """Return a fee for gas as lists show it, with the wei as its title."""
    return _in_wei(wei, round_fee(wei))


def full_fee(wei: int) -> SafeString:
    """Return a fee for gas in full, with the wei as its title."""
    return _in_wei(wei, format_wei(wei))


def gas_price(wei: int | None) -> SafeString:
    """Return a gas price as lists show it, with the wei as its title."""
    return NOTHING if wei is None else _in_wei(wei, round_gas_price(wei))


def full_gas_price(wei: int | None) -> SafeString:
    """Return a gas price in full, with the wei as its title."""
    return NOTHING if wei is None else _in_wei(wei, format_gas_price(wei))


def _in_wei(wei: int, shown: str) -> SafeString:
    return format_html('<span class="nd-amount" title="{} wei">{}</span>', f"{wei:,}", shown)


def gas_share(used: int, limit: int) -> SafeString:
    """Return gas and its share of the limit, with a bar."""
    share = percent(used, limit)
    return format_html(
        '<span class="nd-gas" title="{} of {} gas">{} <span class="nd-muted">{} %</span>{}</span>',
        f"{used:,}", f"{limit:,}", f"{used:,}", share, bar(share),
    )  # fmt: skip


def status(*, succeeded: bool) -> SafeString:
    """Return whether a transaction succeeded."""
    return badge("success", "good") if succeeded else badge("failed", "bad")


class FunctionSignature(NamedTuple):
    """A name and its parameters' types, as Solidity writes them."""

    name: str
    parameters: tuple[str, ...]

    @property
    def text(self) -> str:
        """The canonical text, whose hash is the event's topic 0 or begins with the function's selector."""
        return f"{self.name}({','.join(self.parameters)})"


def _read(text: str) -> FunctionSignature:
    name, _, parameters = text.removesuffix(")").partition("(")
    return FunctionSignature(name, tuple(part for part in parameters.split(",") if part))


_EVENTS = (
    "Transfer(address,address,uint256)",
    "Approval(address,address,uint256)",
    "ApprovalForAll(address,address,bool)",
    "TransferSingle(address,address,address,uint256,uint256)",
    "TransferBatch(address,address,address,uint256[],uint256[])",
    "Deposit(address,uint256)",
    "Withdrawal(address,uint256)",
    "OwnershipTransferred(address,address)",
    "SendWarpMessage(address,bytes32,bytes)",
    "RoleSet(uint256,address,address,uint256)",
)

_FUNCTIONS = (
    "transfer(address,uint256)",
    "transferFrom(address,address,uint256)",
    "approve(address,uint256)",
    "setApprovalForAll(address,bool)",
    "safeTransferFrom(address,address,uint256)",
    "mint(address,uint256)",
    "burn(uint256)",
    "deposit()",
    "withdraw(uint256)",
    "sendWarpMessage(bytes)",
)

EVENTS = {keccak256(text.encode()): _read(text) for text in _EVENTS}
"""Events by topic 0."""

FUNCTIONS = {keccak256(text.encode())[:4]: _read(text) for text in _FUNCTIONS}
"""Functions by selector."""


def event_of(topic0: bytes | None) -> FunctionSignature | None:
    """Return the event with a topic 0, None if it is unknown."""
    return None if topic0 is None else EVENTS.get(topic0)  # type: ignore[call-overload]  # a hash is bytes


def function_of(data: bytes) -> FunctionSignature | None:
    """Return the function that input data calls, None if it is unknown."""
    return FUNCTIONS.get(data[:4])


def address_in(word: bytes) -> HexBytes | None:
    """Return the address in a topic of type address, None if the topic does not hold an address."""
    return None if any(word[:12]) else HexBytes(word[12:])
