"""Impersonation on a development chain: senders without a key, and overridden signers (devnet.md 4).

Each method for accounts exists under Anvil's name, which returns null, and under Hardhat's, which returns whether it
changed anything.
"""

from cchain_app.accounts.keyring import UnknownAccount
from cchain_app.api.params.accounts import SignedBy
from cchain_app.api.rpc import EvmRpc
from cchain_app.selectors import signers
from cchain_app.selectors.impersonation import is_impersonated
from cchain_app.services import impersonation
from jsonrpc.errors import invalid_params
from primitives.evm import Address


def impersonate_account(rpc: EvmRpc, address: Address) -> None:
    """anvil_impersonateAccount: let an account, which may be a contract, send without its key."""
    impersonation.impersonate(rpc.chain, address)


def hardhat_impersonate_account(rpc: EvmRpc, address: Address) -> bool:
    """hardhat_impersonateAccount: let an account, which may be a contract, send without its key; returns true."""
    impersonation.impersonate(rpc.chain, address)
    return True


def unlock_unknown_account(rpc: EvmRpc, address: Address) -> bool:
    """evm_unlockUnknownAccount: as hardhat_impersonateAccount, for clients of old Ganache."""
    return hardhat_impersonate_account(rpc, address)


def stop_impersonating_account(rpc: EvmRpc, address: Address) -> None:
    """anvil_stopImpersonatingAccount: require an account's key again."""
    impersonation.stop(rpc.chain, address)


def hardhat_stop_impersonating_account(rpc: EvmRpc, address: Address) -> bool:
    """hardhat_stopImpersonatingAccount: require an account's key again; returns whether it was impersonated."""
    return impersonation.stop(rpc.chain, address)


def lock_unknown_account(rpc: EvmRpc, address: Address) -> bool:
    """evm_lockUnknownAccount: as hardhat_stopImpersonatingAccount, for clients of old Ganache."""
    return impersonation.stop(rpc.chain, address)


def auto_impersonate_account(rpc: EvmRpc, on: bool) -> None:  # noqa: FBT001  # as it comes
    """anvil_autoImpersonateAccount: set whether every account may send without its key; eth_accounts lists none of them."""
    if on:
        impersonation.impersonate(rpc.chain, None)
    else:
        impersonation.stop(rpc.chain, None)


def hardhat_auto_impersonate_account(rpc: EvmRpc, on: bool) -> bool:  # noqa: FBT001  # as it comes
    """hardhat_autoImpersonateAccount: set whether every account may send without its key; returns true."""
    auto_impersonate_account(rpc, on)
    return True


def impersonate_signature(rpc: EvmRpc, signed_by: SignedBy, signer: Address | None) -> None:
    """anvil_impersonateSignature: let ecrecover return an account for a signature, whatever message was signed.

    Signature and account are given in one array, or as two parameters.

    Raises:
        JsonRpcError: -32602, no account is given, or two are.
        HasPeers: Other nodes follow the chain.
        TooManySignatures: The limit on overridden signatures is reached.
    """
    if signed_by.signer is not None and signer is not None:
        raise invalid_params("too many arguments, want at most 1")
    signer = signed_by.signer or signer
    if signer is None:
        raise invalid_params("missing value for required argument 1")
    impersonation.impersonate_signature(rpc.chain, signed_by.signature, signer)


def add_account(rpc: EvmRpc, address: Address, _password: object) -> bool:
    """evm_addAccount: as hardhat_impersonateAccount, for Ganache's clients; false if the account could already send."""
    chain = rpc.chain
    if signers.has_key(chain, address) or is_impersonated(chain, address):
        return False
    impersonation.impersonate(chain, address)
    return True


def remove_account(rpc: EvmRpc, address: Address, _password: object) -> bool:
    """evm_removeAccount: as hardhat_stopImpersonatingAccount, for Ganache's clients."""
    return impersonation.stop(rpc.chain, address)


def unlock_account(rpc: EvmRpc, address: Address, _password: object, _seconds: object) -> bool:
    """personal_unlockAccount: true for an account that can send; accounts are never locked, so nothing changes.

    Raises:
        UnknownAccount: The account cannot send.
    """
    chain = rpc.chain
    if not (signers.has_key(chain, address) or is_impersonated(chain, address)):
        raise UnknownAccount
    return True
