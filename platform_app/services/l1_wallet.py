"""Transactions about L1s with the keystore's keys, one function for each step of an L1's life.

Raised by all: the errors of `wallet`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from platform_app.chain import PlatformChain
from platform_app.selectors import l1_validators
from platform_app.services.l1_manager import sign_for_manager, verify_permitted
from platform_app.services.wallet import IssueResult, Payer, issue
from platform_app.txs.base import ProofOfPossession, Tx
from platform_app.txs.l1 import ConvertSubnetToL1Validator, PChainOwner
from platform_app.txs.warp import L1ValidatorWeight, RegisterL1Validator
from platform_app.wallet import l1
from platform_app.wallet.errors import WalletError, WalletReason
from platform_app.wallet.wallet import PlatformWallet
from primitives.ids import ID, NodeID

REGISTRATION_SECONDS: Final = 60 * 60
"""How long a registration that this node signs for a manager is valid; at most a day is allowed."""


@dataclass(frozen=True, slots=True)
class L1ValidatorTerms:
    """The terms of a new validator of an L1."""

    node_id: NodeID
    weight: int
    balance: int = 0
    """In the smallest unit; the validator is inactive without one."""
    signer: ProofOfPossession | None = None
    """Default: that of this node, if the validator is this node."""
    remaining_balance_owner: PChainOwner | None = None
    """Default: the address for change."""
    deactivation_owner: PChainOwner | None = None
    """Default: the address for change."""

    def signer_in(self, chain: PlatformChain) -> ProofOfPossession:
        """Return the BLS key with its proof of possession.

        Raises:
            WalletError: It is missing, and the validator is another node.
        """
        if self.signer is not None:
            return self.signer
        if self.node_id != chain.node_id:
            raise WalletError(WalletReason.PROOF_MISSING, node_id=self.node_id)
        return chain.proof_of_possession

    def owned_by(self, wallet: PlatformWallet) -> "L1ValidatorTerms":
        """Return the terms with the wallet's address for change in place of missing owners."""
        default = PChainOwner(1, (wallet.change_address,))
        return replace(
            self,
            remaining_balance_owner=self.remaining_balance_owner or default,
            deactivation_owner=self.deactivation_owner or default,
        )


def convert_subnet(
    chain: PlatformChain,
    payer: Payer,
    *,
    subnet_id: ID,
    manager_chain_id: ID,
    manager_address: bytes,
    validators: Sequence[L1ValidatorTerms],
    now: int,
) -> IssueResult:
    """Convert a subnet to an L1 with its first validators.

    Args:
        chain: The chain that it is for.
        payer: The user that pays, and controls the subnet.
        subnet_id: The subnet.
        manager_chain_id: The chain with the contract that manages the validators from then on.
        manager_address: The contract's address.
        validators: The first validators, at least one, in any order.
        now: Unix seconds.

    Raises:
        WalletError: The key of a validator is missing, which is checked before the password.
    """
    signers = [terms.signer_in(chain) for terms in validators]

    def build(wallet: PlatformWallet) -> Tx:
        return l1.build_convert_subnet(
            wallet,
            subnet_id=subnet_id,
            manager_chain_id=manager_chain_id,
            manager_address=manager_address,
            validators=_initial(validators, signers, wallet),
            state=chain.state(),
        )

    return issue(chain, payer, now, build)


def register_validator(
    chain: PlatformChain,
    payer: Payer,
    *,
    message: bytes,
    proof_of_possession: bytes,
    balance: int,
    now: int,
) -> IssueResult:
    """Add the validator that an L1's manager has requested with a signed message."""
    return issue(
        chain,
        payer,
        now,
        lambda wallet: l1.build_register_validator(
            wallet,
            message=message,
            proof_of_possession=proof_of_possession,
            balance=balance,
            state=chain.state(),
        ),
    )


def register_for_manager(
    chain: PlatformChain, payer: Payer, *, subnet_id: ID, terms: L1ValidatorTerms, now: int
) -> IssueResult:
    """Add a validator to an L1; this node signs in the manager's place, on the local network only.

    Raises:
        WalletError: This node cannot sign for the manager; the key of the validator is missing.
    """
    verify_permitted(chain)
    signer = terms.signer_in(chain)

    def build(wallet: PlatformWallet) -> Tx:
        owned = terms.owned_by(wallet)
        assert owned.remaining_balance_owner is not None
        assert owned.deactivation_owner is not None
        request = RegisterL1Validator(
            subnet_id=subnet_id,
            node_id=bytes(owned.node_id),
            bls_public_key=signer.public_key,
            expiry=max(now, chain.tip().timestamp) + REGISTRATION_SECONDS,
            remaining_balance_owner=owned.remaining_balance_owner,
            disable_owner=owned.deactivation_owner,
            weight=owned.weight,
        )
        return l1.build_register_validator(
            wallet,
            message=sign_for_manager(chain, subnet_id, request),
            proof_of_possession=signer.proof_of_possession,
            balance=owned.balance,
            state=chain.state(),
        )

    return issue(chain, payer, now, build)


def set_weight(chain: PlatformChain, payer: Payer, *, message: bytes, now: int) -> IssueResult:
    """Set the weight that an L1's manager has requested with a signed message; 0 removes the validator."""
    return issue(
        chain,
        payer,
        now,
        lambda wallet: l1.build_set_weight(wallet, message=message, state=chain.state()),
    )


def set_weight_for_manager(
    chain: PlatformChain, payer: Payer, *, validation_id: ID, weight: int, now: int
) -> IssueResult:
    """Set a validator's weight; this node signs in the manager's place, on the local network only.

    Raises:
        WalletError: This node cannot sign for the manager; there is no such validator.
    """
    verify_permitted(chain)
    validator = l1_validators.validator(chain, validation_id)
    if validator is None:
        raise WalletError(WalletReason.L1_VALIDATOR_MISSING, validation_id=validation_id)
    request = L1ValidatorWeight(validation_id, validator.min_nonce, weight)
    message = sign_for_manager(chain, validator.subnet_id, request)
    return set_weight(chain, payer, message=message, now=now)


def increase_balance(
    chain: PlatformChain, payer: Payer, *, validation_id: ID, balance: int, now: int
) -> IssueResult:
    """Add to a validator's balance, which activates it if it is inactive.

    Raises:
        WalletError: The amount is zero, which is checked before the password.
    """
    if balance == 0:
        raise WalletError(WalletReason.ZERO_BALANCE)
    return issue(
        chain,
        payer,
        now,
        lambda wallet: l1.build_increase_balance(
            wallet, validation_id=validation_id, balance=balance, state=chain.state()
        ),
    )


def disable_validator(
    chain: PlatformChain, payer: Payer, *, validation_id: ID, now: int
) -> IssueResult:
    """Deactivate a validator and return the rest of its balance to the balance's owner."""
    return issue(
        chain,
        payer,
        now,
        lambda wallet: l1.build_disable_validator(
            wallet, validation_id=validation_id, state=chain.state()
        ),
    )


def _initial(
    validators: Iterable[L1ValidatorTerms],
    signers: Iterable[ProofOfPossession],
    wallet: PlatformWallet,
) -> Iterable[ConvertSubnetToL1Validator]:
    for terms, signer in zip(validators, signers, strict=True):
        owned = terms.owned_by(wallet)
        assert owned.remaining_balance_owner is not None
        assert owned.deactivation_owner is not None
        yield ConvertSubnetToL1Validator(
            node_id=bytes(owned.node_id),
            weight=owned.weight,
            balance=owned.balance,
            signer=signer,
            remaining_balance_owner=owned.remaining_balance_owner,
            deactivation_owner=owned.deactivation_owner,
        )
