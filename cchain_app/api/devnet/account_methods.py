"""The methods of accounts that the node signs for, which a development chain registers.

None of them is hot: they read rows, sign or write.
"""

from typing import Final

from cchain_app.api.devnet import accounts, impersonation, sending
from cchain_app.api.devnet.callers import keys_guard
from cchain_app.api.params import accounts as params_accounts
from cchain_app.api.params import values as params
from cchain_app.api.rpc import EvmRpc
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry

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
    methods.add("eth_accounts", rpc.bind(accounts.accounts))
    methods.add("eth_requestAccounts", rpc.bind(accounts.request_accounts))
    methods.add(
        "personal_newAccount", rpc.bind(accounts.new_account), params=[_PASSWORD], guard=guard
    )
    methods.add("eth_sign", rpc.bind(accounts.sign), params=[_ADDRESS, _DATA], guard=guard)
    methods.add(
        "personal_sign",
        rpc.bind(accounts.personal_sign),
        params=[_DATA, _ADDRESS, _PASSWORD],
        guard=guard,
    )
    methods.add(
        "eth_signTypedData_v4",
        rpc.bind(accounts.sign_typed_data),
        params=[_ADDRESS, Param("typedData", params_accounts.typed_data)],
        guard=guard,
    )


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
        ("anvil_impersonateAccount", impersonation.impersonate_account, _ADDRESS),
        ("hardhat_impersonateAccount", impersonation.hardhat_impersonate_account, _ADDRESS),
        ("anvil_stopImpersonatingAccount", impersonation.stop_impersonating_account, _ADDRESS),
        (
            "hardhat_stopImpersonatingAccount",
            impersonation.hardhat_stop_impersonating_account,
            _ADDRESS,
        ),
        ("anvil_autoImpersonateAccount", impersonation.auto_impersonate_account, on),
        ("hardhat_autoImpersonateAccount", impersonation.hardhat_auto_impersonate_account, on),
    ):
        methods.add(name, rpc.bind(handler), params=[param])
    methods.add(
        "anvil_impersonateSignature",
        rpc.bind(impersonation.impersonate_signature),
        params=[
            Param("signature", params_accounts.signed_by),
            Param("address", params.address, None),
        ],
    )


def _of_ganache(methods: MethodRegistry, rpc: EvmRpc) -> None:
    methods.add(
        "evm_unlockUnknownAccount",
        rpc.bind(impersonation.unlock_unknown_account),
        params=[_ADDRESS],
    )
    methods.add(
        "evm_lockUnknownAccount", rpc.bind(impersonation.lock_unknown_account), params=[_ADDRESS]
    )
    methods.add("evm_addAccount", rpc.bind(impersonation.add_account), params=[_ADDRESS, _PASSWORD])
    methods.add(
        "evm_removeAccount", rpc.bind(impersonation.remove_account), params=[_ADDRESS, _PASSWORD]
    )
    methods.add(
        "personal_unlockAccount",
        rpc.bind(impersonation.unlock_account),
        params=[_ADDRESS, _PASSWORD, Param("seconds", params.anything, None)],
    )
