"""Who may send without a key, and whose a signature is, as clients decide on a development chain (devnet.md 4).

Each method for accounts has a name of Anvil's, which answers null, and one of Hardhat's, which answers whether it did
something.
"""

from cchain_app.accounts.errors import UnknownAccount
from cchain_app.api.params.accounts import SignedBy
from cchain_app.api.rpc import EvmRpc
from cchain_app.selectors import signers
from cchain_app.selectors.impersonation import is_impersonated
from cchain_app.services import impersonation
from jsonrpc.errors import invalid_params
from primitives.evm import Address


def impersonate_account(rpc: EvmRpc, address: Address) -> None:
    """anvil_impersonateAccount: from now on an account, also a contract, sends without its key."""
    impersonation.impersonate(rpc.chain, address)


def hardhat_impersonate_account(rpc: EvmRpc, address: Address) -> bool:
    """hardhat_impersonateAccount: from now on an account, also a contract, sends without its key; true."""
    impersonation.impersonate(rpc.chain, address)
    return True


def unlock_unknown_account(rpc: EvmRpc, address: Address) -> bool:
    """evm_unlockUnknownAccount: as hardhat_impersonateAccount, for clients of old Ganache."""
    return hardhat_impersonate_account(rpc, address)


def stop_impersonating_account(rpc: EvmRpc, address: Address) -> None:
    """anvil_stopImpersonatingAccount: an account needs its key again."""
    impersonation.stop(rpc.chain, address)


def hardhat_stop_impersonating_account(rpc: EvmRpc, address: Address) -> bool:
    """hardhat_stopImpersonatingAccount: an account needs its key again; whether it was impersonated."""
    return impersonation.stop(rpc.chain, address)


def lock_unknown_account(rpc: EvmRpc, address: Address) -> bool:
    """evm_lockUnknownAccount: as hardhat_stopImpersonatingAccount, for clients of old Ganache."""
    return impersonation.stop(rpc.chain, address)


def auto_impersonate_account(rpc: EvmRpc, on: bool) -> None:  # noqa: FBT001  # as it comes
    """anvil_autoImpersonateAccount: whether every account sends without its key; eth_accounts lists none of them."""
    if on:
        impersonation.impersonate(rpc.chain, None)
    else:
        impersonation.stop(rpc.chain, None)


def hardhat_auto_impersonate_account(rpc: EvmRpc, on: bool) -> bool:  # noqa: FBT001  # as it comes
    """hardhat_autoImpersonateAccount: whether every account sends without its key; the answer is true."""
    auto_impersonate_account(rpc, on)
    return True


def impersonate_signature(rpc: EvmRpc, signed_by: SignedBy, signer: Address | None) -> None:
    """anvil_impersonateSignature: from now on ecrecover answers an account for a signature, whatever was signed.

    Signature and account come in one array, or one after the other.

    Raises:
        JsonRpcError: -32602, there is no account, or there are two.
        HasPeers: Other nodes follow the chain.
        TooManySignatures: There is no room for another.
    """
    if signed_by.signer is not None and signer is not None:
        raise invalid_params("too many arguments, want at most 1")
    signer = signed_by.signer or signer
    if signer is None:
        raise invalid_params("missing value for required argument 1")
    impersonation.impersonate_signature(rpc.chain, signed_by.signature, signer)


def add_account(rpc: EvmRpc, address: Address, _password: object) -> bool:
    """evm_addAccount: as hardhat_impersonateAccount, for Ganache's clients; false where the account could send before."""
    chain = rpc.chain
    if signers.has_key(chain, address) or is_impersonated(chain, address):
        return False
    impersonation.impersonate(chain, address)
    return True


def remove_account(rpc: EvmRpc, address: Address, _password: object) -> bool:
    """evm_removeAccount: as hardhat_stopImpersonatingAccount, for Ganache's clients."""
    return impersonation.stop(rpc.chain, address)


def unlock_account(rpc: EvmRpc, address: Address, _password: object, _seconds: object) -> bool:
    """personal_unlockAccount: true for an account that can send; none is locked, so there is nothing to do.

    Raises:
        UnknownAccount: It cannot send.
    """
    chain = rpc.chain
    if not (signers.has_key(chain, address) or is_impersonated(chain, address)):
        raise UnknownAccount
    return True
