"""Rows of the explorer. The store writes them; selectors and admin read them."""

from explorer_app.models.contracts import (
    SuppliedAbi,
    Verification,
    VerificationState,
    VerifiedContract,
)

__all__ = [
    "SuppliedAbi",
    "Verification",
    "VerificationState",
    "VerifiedContract",
]
