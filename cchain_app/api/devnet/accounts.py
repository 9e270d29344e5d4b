"""Methods of accounts that a development chain sends for: with keys of the node, or impersonated (devnet.md 4).

None of them is hot: they read rows, sign or write.
"""

from typing import Any, Final

from cchain_app.accounts.keyring import UnknownAccount
from cchain_app.accounts.messages import (
    message_digest,
    sign_digest,
    typed_data_digest,
    typed_data_v3_digest,
)
from cchain_app.api.devnet import sending
from cchain_app.api.devnet.callers import keys_guard
from cchain_app.api.params import accounts as params_accounts
from cchain_app.api.params import values as params
from cchain_app.api.params.accounts import SignedBy
from cchain_app.api.rpc import EvmRpc
from cchain_app.selectors import signers
from cchain_app.services import accounts as services
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.errors import invalid_params
from primitives.evm import Address
from primitives.hexadecimal import encode_data


def accounts(rpc: EvmRpc) -> list[str]:
    """eth_accounts: the mnemonic's accounts, "ewoq", those of personal_newAccount, then impersonated addresses."""
    return [encode_data(address) for address in signers.accounts(rpc.chain)]


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


def sign_typed_data_of_eip712(rpc: EvmRpc, address: Address, document: dict[str, Any]) -> str:
    """eth_signTypedData: as eth_signTypedData_v4; the name of EIP-712.

    Unspecified: Anvil has not implemented it. The older form of MetaMask, an array of typed values, is refused.

    Raises:
        UnknownAccount: The node has no key for it.
        BadTypedData: The document is not valid typed data.
    """
    return sign_typed_data(rpc, address, document)


def sign_typed_data_v3(rpc: EvmRpc, address: Address, document: dict[str, Any]) -> str:
    """eth_signTypedData_v3: as eth_signTypedData_v4, for typed data without arrays, as in MetaMask.

    Raises:
        UnknownAccount: The node has no key for it.
        BadTypedData: The document is not valid typed data, or has an array.
    """
    key = signers.key_of(rpc.chain, address)
    return encode_data(sign_digest(typed_data_v3_digest(document), key))


def impersonate_account(rpc: EvmRpc, address: Address) -> None:
    """anvil_impersonateAccount: let an account, which may be a contract, send without its key."""
    services.impersonate(rpc.chain, address)


def hardhat_impersonate_account(rpc: EvmRpc, address: Address) -> bool:
    """hardhat_impersonateAccount: let an account, which may be a contract, send without its key; returns true."""
    services.impersonate(rpc.chain, address)
    return True


def unlock_unknown_account(rpc: EvmRpc, address: Address) -> bool:
    """evm_unlockUnknownAccount: as hardhat_impersonateAccount, for clients of old Ganache."""
    return hardhat_impersonate_account(rpc, address)


def stop_impersonating_account(rpc: EvmRpc, address: Address) -> None:
    """anvil_stopImpersonatingAccount: require an account's key again."""
    services.stop_impersonating(rpc.chain, address)


def hardhat_stop_impersonating_account(rpc: EvmRpc, address: Address) -> bool:
    """hardhat_stopImpersonatingAccount: require an account's key again; returns whether it was signers."""
    return services.stop_impersonating(rpc.chain, address)


def lock_unknown_account(rpc: EvmRpc, address: Address) -> bool:
    """evm_lockUnknownAccount: as hardhat_stopImpersonatingAccount, for clients of old Ganache."""
    return services.stop_impersonating(rpc.chain, address)


def auto_impersonate_account(rpc: EvmRpc, on: bool) -> None:  # noqa: FBT001  # as it comes
    """anvil_autoImpersonateAccount: set whether every account may send without its key; eth_accounts lists none of them."""
    if on:
        services.impersonate(rpc.chain, None)
    else:
        services.stop_impersonating(rpc.chain, None)


def hardhat_auto_impersonate_account(rpc: EvmRpc, on: bool) -> bool:  # noqa: FBT001  # as it comes
    """hardhat_autoImpersonateAccount: set whether every account may send without its key; returns true."""
    auto_impersonate_account(rpc, on)
    return True


def impersonate_signature(rpc: EvmRpc, signed_by: SignedBy, signer: Address | None) -> None:
    """anvil_impersonateSignature: let ecrecover return an account for a signature, whatever message was signed.

    Signature and account are given in one array, or as two parameters.

    Raises:
        JsonRpcError: -32602, no account is given, or two are.
        DevelopmentError: Other nodes follow the chain.
        DevelopmentError: The limit on overridden signatures is reached.
    """
    if signed_by.signer is not None and signer is not None:
        raise invalid_params("too many arguments, want at most 1")
    signer = signed_by.signer or signer
    if signer is None:
        raise invalid_params("missing value for required argument 1")
    services.impersonate_signature(rpc.chain, signed_by.signature, signer)


def add_account(rpc: EvmRpc, address: Address, _password: object) -> bool:
    """evm_addAccount: as hardhat_impersonateAccount, for Ganache's clients; false if the account could already send."""
    chain = rpc.chain
    if signers.has_key(chain, address) or signers.is_impersonated(chain, address):
        return False
    services.impersonate(chain, address)
    return True


def remove_account(rpc: EvmRpc, address: Address, _password: object) -> bool:
    """evm_removeAccount: as hardhat_stopImpersonatingAccount, for Ganache's clients."""
    return services.stop_impersonating(rpc.chain, address)


def unlock_account(rpc: EvmRpc, address: Address, _password: object, _seconds: object) -> bool:
    """personal_unlockAccount: true for an account that can send; accounts are never locked, so nothing changes.

    Raises:
        UnknownAccount: The account cannot send.
    """
    chain = rpc.chain
    if not (signers.has_key(chain, address) or signers.is_impersonated(chain, address)):
        raise UnknownAccount
    return True


_ADDRESS: Final = Param("address", params.address)
_DATA: Final = Param("data", params.data)
_PASSWORD: Final = Param("password", params.anything, None)
_TRANSACTION: Final = Param("transaction", params_accounts.transaction)


def add(methods: MethodRegistry, rpc: EvmRpc) -> None:
    """Add the methods to those of a development chain."""
    _accounts(methods, rpc)
    _sending(methods, rpc)
    _impersonation(methods, rpc)
    _of_ganache(methods, rpc)


def _accounts(methods: MethodRegistry, rpc: EvmRpc) -> None:
    guard = keys_guard(rpc)
    methods.add("eth_accounts", rpc.bind(accounts))
    methods.add("eth_requestAccounts", rpc.bind(request_accounts))
    methods.add("personal_newAccount", rpc.bind(new_account), params=[_PASSWORD], guard=guard)
    methods.add("eth_sign", rpc.bind(sign), params=[_ADDRESS, _DATA], guard=guard)
    methods.add(
        "personal_sign",
        rpc.bind(personal_sign),
        params=[_DATA, _ADDRESS, _PASSWORD],
        guard=guard,
    )
    for name, handler in (
        ("eth_signTypedData", sign_typed_data_of_eip712),
        ("eth_signTypedData_v3", sign_typed_data_v3),
        ("eth_signTypedData_v4", sign_typed_data),
    ):
        document = Param("typedData", params_accounts.typed_data)
        methods.add(name, rpc.bind(handler), params=[_ADDRESS, document], guard=guard)


def _sending(methods: MethodRegistry, rpc: EvmRpc) -> None:
    guard = keys_guard(rpc)
    methods.add(
        "eth_sendTransaction",
        rpc.bind(sending.send_transaction),
        params=[_TRANSACTION],
        guard=guard,
    )
    methods.add(
        "eth_sendTransactionSync",
        rpc.bind(sending.send_transaction_sync),
        params=[_TRANSACTION, Param("timeout", params.milliseconds, None)],
        guard=guard,
    )
    methods.add(
        "eth_signTransaction",
        rpc.bind(sending.sign_transaction_only),
        params=[_TRANSACTION],
        guard=guard,
    )
    methods.add(
        "eth_resend",
        rpc.bind(sending.resend),
        params=[
            _TRANSACTION,
            Param("gasPrice", params.quantity, None),
            Param("gasLimit", params.uint64, None),
        ],
    )
    methods.add(
        "eth_sendUnsignedTransaction",
        rpc.bind(sending.send_unsigned_transaction),
        params=[Param("transaction", params_accounts.transaction_with_sender)],
        guard=guard,  # it signs for accounts whose keys the node has
    )


def _impersonation(methods: MethodRegistry, rpc: EvmRpc) -> None:
    on = Param("on", params.boolean)
    for name, handler, param in (
        ("anvil_impersonateAccount", impersonate_account, _ADDRESS),
        ("hardhat_impersonateAccount", hardhat_impersonate_account, _ADDRESS),
        ("anvil_stopImpersonatingAccount", stop_impersonating_account, _ADDRESS),
        (
            "hardhat_stopImpersonatingAccount",
            hardhat_stop_impersonating_account,
            _ADDRESS,
        ),
        ("anvil_autoImpersonateAccount", auto_impersonate_account, on),
        ("hardhat_autoImpersonateAccount", hardhat_auto_impersonate_account, on),
    ):
        methods.add(name, rpc.bind(handler), params=[param])
    methods.add(
        "anvil_impersonateSignature",
        rpc.bind(impersonate_signature),
        params=[
            Param("signature", params_accounts.signed_by),
            Param("address", params.address, None),
        ],
    )


def _of_ganache(methods: MethodRegistry, rpc: EvmRpc) -> None:
    methods.add(
        "evm_unlockUnknownAccount",
        rpc.bind(unlock_unknown_account),
        params=[_ADDRESS],
    )
    methods.add("evm_lockUnknownAccount", rpc.bind(lock_unknown_account), params=[_ADDRESS])
    methods.add("evm_addAccount", rpc.bind(add_account), params=[_ADDRESS, _PASSWORD])
    methods.add("evm_removeAccount", rpc.bind(remove_account), params=[_ADDRESS, _PASSWORD])
    methods.add(
        "personal_unlockAccount",
        rpc.bind(unlock_account),
        params=[_ADDRESS, _PASSWORD, Param("seconds", params.anything, None)],
    )
