"""The methods that switch the log of transactions and calls, which only a development chain has."""

from cchain_app.api.params import values as params
from cchain_app.api.rpc import EvmRpc
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry


def add(methods: MethodRegistry, rpc: EvmRpc) -> None:
    """Add the methods to those of a development chain."""
    on = [Param("enabled", params.boolean)]
    methods.add("anvil_setLoggingEnabled", rpc.bind(set_logging), params=on)
    methods.add("hardhat_setLoggingEnabled", rpc.bind(set_logging_as_hardhat), params=on)


def set_logging(rpc: EvmRpc, enabled: bool) -> None:  # noqa: FBT001  # as the wire has it
    """anvil_setLoggingEnabled: set whether transactions and calls are logged.

    Unspecified: a log that NODE_LOG_TRANSACTIONS disables stays disabled.
    """
    rpc.transaction_log.is_enabled = enabled


def set_logging_as_hardhat(rpc: EvmRpc, enabled: bool) -> bool:  # noqa: FBT001  # as the wire has it
    """hardhat_setLoggingEnabled: set whether transactions and calls are logged; returns true."""
    set_logging(rpc, enabled)
    return True
