"""Tables of the explorer. The store writes them; selectors and admin read them."""

from explorer_app.models.contracts import (
    SuppliedAbi,
    Verification,
    VerificationState,
    VerifiedContract,
)
from explorer_app.models.faucet import FaucetPayment
from explorer_app.models.l1s import L1Request
from explorer_app.models.statistics import DayFigures, RankedAccount, StatisticsProgress
from explorer_app.models.tokens import (
    Token,
    TokenBalance,
    TokenItem,
    TokenKind,
    TokenProgress,
    TokenTransfer,
)

__all__ = [
    "DayFigures",
    "FaucetPayment",
    "L1Request",
    "RankedAccount",
    "StatisticsProgress",
    "SuppliedAbi",
    "Token",
    "TokenBalance",
    "TokenItem",
    "TokenKind",
    "TokenProgress",
    "TokenTransfer",
    "Verification",
    "VerificationState",
    "VerifiedContract",
]
