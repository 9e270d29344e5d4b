"""The settings of the accounts that a local network funds and its node signs for (docs/development.md)."""

from dataclasses import dataclass

from nodeproject.settings.explorer import ExplorerSettings
from nodeproject.settings.flags import flag


@dataclass(frozen=True, slots=True)
class AccountSettings(ExplorerSettings):
    """The development accounts: a part of `NodeSettings`."""

    accounts: int = flag(
        10,
        "Accounts of NODE_MNEMONIC that a local network has coins for and this node signs for.",
        least=0,
        most=1000,
        options=("-a",),
    )
    mnemonic: str = flag(
        "test test test test test test test test test test test junk",
        "The words (BIP-39) that these accounts' keys are derived from. With others than these, known to everybody, the "
        "keys do not sign for web pages (NODE_ALLOWED_ORIGINS).",
        secret=True,
        options=("-m",),
    )
    derivation_path: str = flag(
        "m/44'/60'/0'/0/", "Where they are (BIP-32); an account's number is added."
    )
    balance: int = flag(
        10_000, "Coins that each of them has when a local network begins.", least=0, most=10**15
    )
