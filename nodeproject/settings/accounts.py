"""The settings of the accounts that a local network funds and its node signs for (docs/development.md)."""

from dataclasses import dataclass

from nodeproject.settings.explorer import ExplorerSettings
from nodeproject.settings.flags import flag


@dataclass(frozen=True, slots=True)
class AccountSettings(ExplorerSettings):
    """The development accounts: a part of `NodeSettings`."""

    accounts: int = flag(
        10,
        "Number of accounts of NODE_MNEMONIC that a local network funds and for which the embedded profile signs.",
        least=0,
        most=1000,
        options=("-a",),
    )
    mnemonic: str = flag(
        "test test test test test test test test test test test junk",
        "Mnemonic (BIP-39) from which the keys of these accounts are derived. With any other than the public "
        "default, the keys do not sign for web pages (NODE_ALLOWED_ORIGINS).",
        secret=True,
        options=("-m",),
    )
    derivation_path: str = flag(
        "m/44'/60'/0'/0/",
        "Derivation path of these accounts (BIP-32); the account's number is appended.",
    )
    balance: int = flag(
        10_000,
        "Coins that each of these accounts has at the beginning of a local network.",
        least=0,
        most=10**15,
    )
