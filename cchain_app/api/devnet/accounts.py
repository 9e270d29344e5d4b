"""Accounts that a development chain's node has keys for: which they are, and what they sign (devnet.md 4)."""

from typing import Any

from cchain_app.accounts.messages import message_digest, sign_digest, typed_data_digest
from cchain_app.api.rpc import EvmRpc
from cchain_app.selectors import impersonation, signers
from cchain_app.services import accounts as services
from primitives.evm import Address
from primitives.hexadecimal import encode_data


def accounts(rpc: EvmRpc) -> list[str]:
    """eth_accounts: the mnemonic's, "ewoq", those of personal_newAccount, then who is impersonated by name."""
    return [encode_data(address) for address in impersonation.accounts(rpc.chain)]


def request_accounts(rpc: EvmRpc) -> list[str]:
    """eth_requestAccounts: as eth_accounts; there is nobody who would have to allow it."""
    return accounts(rpc)


def new_account(rpc: EvmRpc, _password: object) -> str:
    """personal_newAccount: the address of an account that the node signs for from now on; it has no coins.

    Unspecified: it is the next of NODE_MNEMONIC's accounts, from number NODE_ACCOUNTS on, so whoever has the
    words has its key. What is stored is its number: it survives a restart, evm_revert and anvil_reset, and is
    there for all processes of the node. While the settings name another mnemonic or path, it is not. A password
    is not needed, and as no account is locked, it is none's (Ganache and geth lock it by that).

    Raises:
        TooManyAccounts: There are as many as there may be.
    """
    return encode_data(services.create(rpc.chain))


def sign(rpc: EvmRpc, address: Address, data: bytes) -> str:
    """eth_sign: an account's signature of a message (EIP-191), 65 bytes with v 27 or 28.

    Raises:
        UnknownAccount: The node has no key for it.
    """
    return encode_data(sign_digest(message_digest(data), signers.key_of(rpc.chain, address)))


def personal_sign(rpc: EvmRpc, data: bytes, address: Address, _password: object) -> str:
    """personal_sign: as eth_sign, the message first. A password is not needed. Raises as `sign`."""
    return sign(rpc, address, data)


def sign_typed_data(rpc: EvmRpc, address: Address, document: dict[str, Any]) -> str:
    """eth_signTypedData_v4: an account's signature of typed data (EIP-712), 65 bytes with v 27 or 28.

    Unspecified: any chain's domain is signed.

    Raises:
        UnknownAccount: The node has no key for it.
        BadTypedData: It is none.
    """
    key = signers.key_of(rpc.chain, address)
    return encode_data(sign_digest(typed_data_digest(document), key))
