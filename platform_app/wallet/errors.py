"""Reasons for which a wallet fails, with the reference's messages (pchain.md 8.3). No message has a secret.

WalletError
├── NotBuilt                    a transaction that cannot be built from these keys and coins
│   ├── InsufficientFunds
│   ├── AmountOverflow
│   ├── NoImportableFunds
│   └── NotAuthorized           SubnetMissing · NotASubnet · CannotSign
├── RefusedTerms                invalid terms, independent of the payer
│   ├── StartTooSoon · StartTooFar · RateOutOfRange · ZeroAmount
│   └── SubnetValidatorOfPrimaryNetwork · ChainOfPrimaryNetwork
├── RefusedPassword             for a new user
│   └── EmptyPassword · PasswordTooLong · PasswordTooWeak
└── SealedError                 sealed data that cannot be opened
    └── WrongPassword · DamagedSeal · UnreadableBackup
"""

from typing import ClassVar

from primitives.ids import ID

MAX_PASSWORD_SIZE = 1024
"""Bytes."""


class WalletError(Exception):
    """An operation that a wallet rejects. `words` is the default message of a class."""

    words: ClassVar[str] = "refused"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.words if message is None else message)


class NotBuilt(WalletError):
    """A transaction that cannot be built from these keys and coins."""


class NotEnoughCoins(NotBuilt):
    """Not enough coins that the keys can spend; amounts are in the smallest unit of the staking asset."""

    def __init__(self, *, burned: int, staked: int, fee: int, stake: int) -> None:
        super().__init__(
            "couldn't generate tx inputs/outputs: provided keys have balance (unlocked, locked) "
            f"({burned}, {staked}) but need ({fee}, {stake})"
        )
        self.burned = burned
        self.staked = staked
        self.fee = fee
        self.stake = stake


class AmountOverflow(NotBuilt):
    """An amount that together with the fee does not fit into 64 bits."""

    words = "overflow"


class NoImportableFunds(NotBuilt):
    """The other chain has exported nothing that these keys can spend."""

    words = "no spendable funds were found"


class NotAuthorized(NotBuilt):
    """A missing authorization by a subnet's owner."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"couldn't authorize tx's subnet restrictions: {reason}")
        self.reason = reason


class SubnetMissing(NotAuthorized):
    """There is no such subnet."""

    def __init__(self, subnet_id: ID) -> None:
        super().__init__(f"failed to fetch subnet {subnet_id}: not found")
        self.subnet_id = subnet_id


class NotASubnet(NotAuthorized):
    """The ID of a transaction that does not create a subnet."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"expected tx type *txs.CreateSubnetTx but got *txs.{kind}")
        self.kind = kind


class CannotSign(NotAuthorized):
    """Fewer keys than the subnet's threshold of control keys."""

    def __init__(self) -> None:
        super().__init__("can't sign")


class RefusedTerms(WalletError):
    """Terms that are invalid for every transaction."""


class StartTooSoon(RefusedTerms):
    """A start too soon for the transaction to get into a block before it."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"start time must be at least {seconds}s in the future")
        self.seconds = seconds


class StartTooFar(RefusedTerms):
    """A start later than the network allows."""

    words = "start time is too far in the future"


class RateOutOfRange(RefusedTerms):
    """A delegation fee that is not a percentage."""

    words = "argument 'delegationFeeRate' must be between 0 and 100, inclusive"


class ZeroAmount(RefusedTerms):
    """A transfer of amount zero."""

    words = "argument 'amount' must be > 0"


class SubnetValidatorOfPrimaryNetwork(RefusedTerms):
    """A permissioned validator for the Primary Network, which has none."""

    words = "subnet validator attempts to validate primary network"


class ChainOfPrimaryNetwork(RefusedTerms):
    """A new blockchain for the Primary Network."""

    words = "new blockchain can't be validated by primary network"


class RefusedPassword(WalletError):
    """A password that is not allowed for a new user."""


class EmptyPassword(RefusedPassword):
    """An empty password."""

    words = "empty password"


class PasswordTooLong(RefusedPassword):
    """A password that is too long."""

    words = f"password exceeds maximum length of {MAX_PASSWORD_SIZE} chars"


class PasswordTooWeak(RefusedPassword):
    """A password that is easy to guess."""

    words = "password is too weak"


class SealedError(WalletError):
    """Sealed data that cannot be opened."""


class WrongPassword(SealedError):
    """A password other than the one used for locking."""

    words = "incorrect password"


class DamagedSeal(SealedError):
    """Sealed bytes that were modified, or that belong to another context."""

    words = "sealed bytes are damaged"


class UnreadableExport(SealedError):
    """An exported user that is damaged or in an unknown format."""

    words = "exported user is damaged or of an unknown version"
