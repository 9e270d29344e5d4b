"""Why the wallet cannot build a transaction, with the reference's messages (xchain.md 16)."""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class AvmWalletReason(StrEnum):
    """Reasons of the wallet."""

    NOT_ENOUGH = "want to spend {wanted} of asset {asset_id} but only have {owned}"
    SPENT_OVERFLOW = "spent amount overflows uint64"
    NO_RIGHT = "provided addresses don't have the authority to mint the provided asset"
    NO_COLLECTIBLE = "insufficient funds"
    NO_KEYS = "from addresses have no keys or funds"
    AMOUNT_OVERFLOW = "problem calculating required spend amount: overflow"
    NO_HOLDERS = "no minters or initialHolders provided"
    NO_MINTERS = "no minters provided"
    NO_OUTPUTS = "no outputs to send"
    ZERO_AMOUNT = "amount must be positive"
    ZERO_MINTED = "amount minted must be positive"
    MEMO_TOO_LONG = "max memo length is {limit} but provided memo field is length {size}"


class AvmWalletError(ErrorWithReason):
    """A transaction that the wallet cannot build."""
