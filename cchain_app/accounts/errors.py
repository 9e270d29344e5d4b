"""Errors of signing, and of the settings from which keys are derived.

AccountError
├── UnknownAccount     the node has no key for it
├── BadTypedData       the document to sign is not valid typed data (EIP-712)
├── TooManyAccounts    the limit of created accounts is reached
└── KeyringError       the settings give no keys; the messages contain no part of them
    ├── BadMnemonic
    └── BadDerivationPath
"""


class AccountError(Exception):
    """An account of the node cannot fulfil the request."""


class UnknownAccount(AccountError):
    """The node has no key for the account."""

    def __init__(self) -> None:
        super().__init__("unknown account")


class BadTypedData(AccountError):
    """The document to sign is not valid typed data (EIP-712)."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"invalid typed data: {reason}")


class TooManyAccounts(AccountError):
    """The node creates no further accounts, because it derives all their keys again after a restart."""

    def __init__(self, most: int) -> None:
        super().__init__(f"{most} accounts were made here, which is the most")
        self.most = most


class KeyringError(AccountError):
    """The settings give no keys."""


class BadMnemonic(KeyringError):
    """The words are not a mnemonic. The message does not repeat them, because they may be a secret."""

    def __init__(self) -> None:
        super().__init__(
            "NODE_MNEMONIC is no BIP-39 mnemonic: 12, 15, 18, 21 or 24 words of one of its lists, the last of "
            "which checks the others"
        )


class BadDerivationPath(KeyringError):
    """No key can be derived with the path."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"NODE_DERIVATION_PATH is {path!r}; it must be a path like m/44'/60'/0'/0/, to which the number of "
            "an account is added"
        )
