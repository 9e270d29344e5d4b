"""Why a wallet refuses, in the reference's words (pchain.md 8.3). No message holds a secret.

WalletError
├── NotBuilt                    a transaction that these keys and coins cannot make
│   ├── InsufficientFunds
│   ├── AmountOverflow
│   ├── NoImportableFunds
│   └── NotAuthorized           SubnetMissing · NotASubnet · CannotSign
├── RefusedTerms                what was asked for, whoever pays
│   ├── StartTooSoon · StartTooFar · RateOutOfRange · ZeroAmount
│   └── SubnetValidatorOfPrimaryNetwork · ChainOfPrimaryNetwork
├── RefusedPassword             for a new user
│   └── EmptyPassword · PasswordTooLong · PasswordTooWeak
└── SealedError                 what is sealed stays closed
    └── WrongPassword · DamagedSeal · UnreadableBackup
"""

from typing import ClassVar

from primitives.ids import ID

MAX_PASSWORD_SIZE = 1024
"""Bytes."""


class WalletError(Exception):
    """Something that a wallet does not do. Without a message a class has its own words."""

    words: ClassVar[str] = "refused"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.words if message is None else message)


class NotBuilt(WalletError):
    """A transaction that cannot be built of these keys and coins."""


class InsufficientFunds(NotBuilt):
    """The keys cannot open enough; amounts are in the smallest unit of the staking asset."""

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
    """An amount that with the fee does not fit into 64 bits."""

    words = "overflow"


class NoImportableFunds(NotBuilt):
    """The other chain has exported nothing that these keys can open."""

    words = "no spendable funds were found"


class NotAuthorized(NotBuilt):
    """A subnet's owner would not agree."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"couldn't authorize tx's subnet restrictions: {reason}")
        self.reason = reason


class SubnetMissing(NotAuthorized):
    """There is no such subnet."""

    def __init__(self, subnet_id: ID) -> None:
        super().__init__(f"failed to fetch subnet {subnet_id}: not found")
        self.subnet_id = subnet_id


class NotASubnet(NotAuthorized):
    """The ID is that of a transaction which creates no subnet."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"expected tx type *txs.CreateSubnetTx but got *txs.{kind}")
        self.kind = kind


class CannotSign(NotAuthorized):
    """The keys are too few of the subnet's control keys."""

    def __init__(self) -> None:
        super().__init__("can't sign")


class RefusedTerms(WalletError):
    """Terms that no transaction gets."""


class StartTooSoon(RefusedTerms):
    """Too little time to get into a block before."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"start time must be at least {seconds}s in the future")
        self.seconds = seconds


class StartTooFar(RefusedTerms):
    """Later than the network allows."""

    words = "start time is too far in the future"


class RateOutOfRange(RefusedTerms):
    """A delegation fee that is no percentage."""

    words = "argument 'delegationFeeRate' must be between 0 and 100, inclusive"


class ZeroAmount(RefusedTerms):
    """Nothing to move."""

    words = "argument 'amount' must be > 0"


class SubnetValidatorOfPrimaryNetwork(RefusedTerms):
    """The Primary Network has no permissioned validators."""

    words = "subnet validator attempts to validate primary network"


class ChainOfPrimaryNetwork(RefusedTerms):
    """The Primary Network gets no new blockchains."""

    words = "new blockchain can't be validated by primary network"


class RefusedPassword(WalletError):
    """A password that a new user cannot have."""


class EmptyPassword(RefusedPassword):
    """None at all."""

    words = "empty password"


class PasswordTooLong(RefusedPassword):
    """More bytes than a password may have."""

    words = f"password exceeds maximum length of {MAX_PASSWORD_SIZE} chars"


class PasswordTooWeak(RefusedPassword):
    """Guessed too soon."""

    words = "password is too weak"


class SealedError(WalletError):
    """Something sealed that does not open."""


class WrongPassword(SealedError):
    """Another password than the one that it was locked with."""

    words = "incorrect password"


class DamagedSeal(SealedError):
    """Sealed bytes that are not what was once sealed, or not for this place."""

    words = "sealed bytes are damaged"


class UnreadableBackup(SealedError):
    """An exported user of an unknown form, or damaged."""

    words = "exported user is damaged or of an unknown version"
