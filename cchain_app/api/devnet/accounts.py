"""Accounts of a development chain whose keys the node has: their list, and their signatures (devnet.md 4)."""

from typing import Any

from cchain_app.accounts.messages import message_digest, sign_digest, typed_data_digest
from cchain_app.api.rpc import EvmRpc
from cchain_app.selectors import impersonation, signers
from cchain_app.services import accounts as services
from primitives.evm import Address
from primitives.hexadecimal import encode_data


def accounts(rpc: EvmRpc) -> list[str]:
    """eth_accounts: the mnemonic's accounts, "ewoq", those of personal_newAccount, then impersonated addresses."""
    return [encode_data(address) for address in impersonation.accounts(rpc.chain)]


def request_accounts(rpc: EvmRpc) -> list[str]:
    """eth_requestAccounts: as eth_accounts; no permission is needed."""
    return accounts(rpc)


def new_account(rpc: EvmRpc, _password: object) -> str:
    """personal_newAccount: create an account that the node signs for, and return its address; it has no coins.

    Unspecified: the account is the next one of NODE_MNEMONIC, from number NODE_ACCOUNTS on, so anyone with the
    mnemonic has its key. Only its number is stored. The account survives a restart, evm_revert and anvil_reset. It
    is missing while the settings name another mnemonic or path. The password is
    ignored, because accounts are never locked (Ganache and geth lock the account with the password).

    Raises:
        TooManyAccounts: The limit on accounts is reached.
    """
    return encode_data(services.create(rpc.chain))


def sign(rpc: EvmRpc, address: Address, data: bytes) -> str:
    """eth_sign: an account's signature of a message (EIP-191), 65 bytes with v 27 or 28.

    Raises:
        UnknownAccount: The node has no key for it.
    """
    return encode_data(sign_digest(message_digest(data), signers.key_of(rpc.chain, address)))


def personal_sign(rpc: EvmRpc, data: bytes, address: Address, _password: object) -> str:
    """personal_sign: as eth_sign, with the message first. The password is ignored. Raises as `sign`."""
    return sign(rpc, address, data)


def sign_typed_data(rpc: EvmRpc, address: Address, document: dict[str, Any]) -> str:
    """eth_signTypedData_v4: an account's signature of typed data (EIP-712), 65 bytes with v 27 or 28.

    Unspecified: typed data with any chain's domain is signed.

    Raises:
        UnknownAccount: The node has no key for it.
        BadTypedData: The document is not valid typed data.
    """
    key = signers.key_of(rpc.chain, address)
    return encode_data(sign_digest(typed_data_digest(document), key))
