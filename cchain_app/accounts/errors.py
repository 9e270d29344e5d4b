"""Why nothing is signed, or why there are no keys to sign with.

AccountError
├── UnknownAccount     the node has no key for it
├── BadTypedData       what should be signed is no typed data (EIP-712)
├── TooManyAccounts    no more are made
└── KeyringError       the settings give no keys; its words hold none of them
    ├── BadMnemonic
    └── BadDerivationPath
"""


class AccountError(Exception):
    """Something that an account of the node was asked for and cannot do."""


class UnknownAccount(AccountError):
    """The node has no key for the account."""

    def __init__(self) -> None:
        super().__init__("unknown account")


class BadTypedData(AccountError):
    """What should be signed is no typed data (EIP-712)."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"invalid typed data: {reason}")


class TooManyAccounts(AccountError):
    """The node makes no more accounts: it derives the key of each anew after a restart."""

    def __init__(self, most: int) -> None:
        super().__init__(f"{most} accounts were made here, which is the most")
        self.most = most


class KeyringError(AccountError):
    """The settings give no keys."""


class BadMnemonic(KeyringError):
    """The words are none that keys are derived from. They may be somebody's, so they are not repeated."""

    def __init__(self) -> None:
        super().__init__(
            "NODE_MNEMONIC is no BIP-39 mnemonic: 12, 15, 18, 21 or 24 words of one of its lists, the last of "
            "which checks the others"
        )


class BadDerivationPath(KeyringError):
    """The path leads to no key."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"NODE_DERIVATION_PATH is {path!r}; it must be a path like m/44'/60'/0'/0/, to which the number of "
            "an account is added"
        )
