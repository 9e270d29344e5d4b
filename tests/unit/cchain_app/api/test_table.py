"""The table of methods: those that exist, and those that must not."""

import tomllib
from pathlib import Path

import pytest

from cchain_app.api import registry
from cchain_app.api.eth import node
from nodeproject.apps import this_node
from tests.builders.node_settings import updated
from tests.conformance.openrpc import documented

SPECIFIED = [
    "eth_blockNumber",
    "eth_getBalance",
    "eth_sendRawTransaction",
    "eth_call",
    "eth_getLogs",
    "eth_estimateGas",
    "eth_getTransactionReceipt",
    "eth_gasPrice",
    "eth_getTransactionCount",
    "eth_getBlockByNumber",
    "eth_getBlockByHash",
    "eth_getTransactionByHash",
    "eth_getCode",
    "eth_getStorageAt",
    "eth_chainId",
    "net_version",
    "web3_clientVersion",
]

NEEDED = [
    "eth_syncing",
    "eth_accounts",
    "eth_feeHistory",
    "eth_maxPriorityFeePerGas",
    "eth_baseFee",
    "eth_blobBaseFee",
    "eth_suggestPriceOptions",
    "eth_getBlockReceipts",
    "eth_getBlockTransactionCountByHash",
    "eth_getBlockTransactionCountByNumber",
    "eth_getTransactionByBlockHashAndIndex",
    "eth_getTransactionByBlockNumberAndIndex",
    "eth_getUncleCountByBlockHash",
    "eth_getUncleCountByBlockNumber",
    "eth_getUncleByBlockHashAndIndex",
    "eth_getUncleByBlockNumberAndIndex",
    "eth_getHeaderByNumber",
    "eth_getHeaderByHash",
    "eth_getRawTransactionByHash",
    "eth_getRawTransactionByBlockHashAndIndex",
    "eth_getRawTransactionByBlockNumberAndIndex",
    "eth_newFilter",
    "eth_newBlockFilter",
    "eth_newPendingTransactionFilter",
    "eth_getFilterChanges",
    "eth_getFilterLogs",
    "eth_uninstallFilter",
    "eth_getProof",
    "eth_createAccessList",
    "eth_getAccount",
    "eth_getAccountInfo",
    "eth_getWork",
    "eth_submitWork",
    "eth_submitHashrate",
    "debug_codeByHash",
    "net_listening",
    "net_peerCount",
    "web3_sha3",
    "txpool_status",
    "txpool_content",
    "txpool_contentFrom",
    "txpool_inspect",
    "eth_coinbase",
    "eth_getChainConfig",
    "eth_chainConfig",
    "eth_config",
    "rpc_modules",
    "eth_sendRawTransactionSync",
    "eth_subscribe",
    "eth_unsubscribe",
    "debug_getRawBlock",
    "debug_getRawHeader",
    "debug_getRawReceipts",
    "debug_getRawTransaction",
    "debug_traceTransaction",
    "debug_traceCall",
    "debug_traceBlockByNumber",
    "debug_traceBlockByHash",
    "debug_traceBlock",
    "trace_transaction",
    "trace_block",
    "trace_filter",
    "trace_get",
    "trace_call",
    "trace_callMany",
    "trace_rawTransaction",
    "trace_replayTransaction",
    "trace_replayBlockTransactions",
    "ots_getApiLevel",
    "ots_hasCode",
    "ots_getBlockDetails",
    "ots_getBlockDetailsByHash",
    "ots_getBlockTransactions",
    "ots_getTransactionError",
    "ots_getInternalOperations",
    "ots_traceTransaction",
    "ots_searchTransactionsBefore",
    "ots_searchTransactionsAfter",
    "ots_getContractCreator",
    "ots_getTransactionBySenderAndNonce",
    "erigon_getHeaderByNumber",
    "erigon_getHeaderByHash",
    "warp_getMessage",
    "warp_getMessageSignature",
    "warp_getBlockSignature",
    "warp_getMessageAggregateSignature",
    "warp_getBlockAggregateSignature",
]

HOT = [
    "eth_blockNumber",
    "eth_chainId",
    "eth_gasPrice",
    "eth_getBalance",
    "eth_getTransactionReceipt",
    "eth_call",
    "eth_getBlockByNumber",
    "eth_getLogs",
    "eth_estimateGas",
]


@pytest.mark.parametrize("name", SPECIFIED + NEEDED)
def test_the_method_exists(name):
    assert name in registry(this_node().evm_rpc)


@pytest.mark.parametrize("name", HOT)
def test_method_is_marked_hot(name):
    assert registry(this_node().evm_rpc).methods[name].hot


@pytest.mark.parametrize("prefix", ["admin_", "engine_", "testing_"])
def test_nothing_of_this_namespace_is_served(prefix):
    assert [
        method.name for method in registry(this_node().evm_rpc) if method.name.startswith(prefix)
    ] == []


ACCOUNTS = [
    "eth_requestAccounts",
    "eth_sendTransaction",
    "eth_sendTransactionSync",
    "eth_sendUnsignedTransaction",
    "eth_sign",
    "eth_signTransaction",
    "eth_signTypedData",
    "eth_signTypedData_v3",
    "eth_signTypedData_v4",
    "personal_sign",
    "personal_newAccount",
    "personal_unlockAccount",
    "anvil_impersonateAccount",
    "anvil_stopImpersonatingAccount",
    "anvil_autoImpersonateAccount",
    "anvil_impersonateSignature",
    "hardhat_impersonateAccount",
    "hardhat_stopImpersonatingAccount",
    "hardhat_autoImpersonateAccount",
    "evm_unlockUnknownAccount",
    "evm_lockUnknownAccount",
    "evm_addAccount",
    "evm_removeAccount",
]


@pytest.mark.parametrize("name", ACCOUNTS)
def test_a_local_network_signs_for_its_accounts(name):
    assert name in registry(this_node().evm_rpc)


@pytest.mark.parametrize("network", [1, 5, 7777])
def test_signing_methods_are_absent_on_public_networks(network, node_settings, settings):
    settings.NODE = updated(node_settings, network_id=network, chain_id=0)
    methods = registry(this_node().evm_rpc)
    assert [name for name in ACCOUNTS if name in methods] == []
    assert methods.methods["eth_accounts"].handler() == []


def test_docstrings_start_with_the_method_name():
    families = {"eth_chain": "eth_chain"}
    for description in registry(this_node().evm_rpc).describe():
        name = description.name
        shown = next((text for start, text in families.items() if name.startswith(start)), name)
        assert shown in description.summary, name


def test_most_methods_have_a_published_schema():
    described = [method.name for method in registry(this_node().evm_rpc) if documented(method.name)]
    assert len(described) > 35


def test_the_version_is_the_projects():
    project = tomllib.loads((Path(node.__file__).parents[3] / "pyproject.toml").read_text())
    assert project["project"]["version"] == node.VERSION


@pytest.mark.node_settings(client_name="plain")
def test_the_client_version_has_four_parts(node_settings):
    name, version, system, language = node.client_version(this_node().evm_rpc).split("/")
    assert (name, version) == ("Nunatak", f"v{node.VERSION}")
    assert "-" in system
    assert language.startswith("python3.")


@pytest.mark.node_settings(client_name="anvil/v1.7.1")
def test_client_version_starts_with_anvil(node_settings):
    assert node.client_version(this_node().evm_rpc).startswith(
        f"anvil/v1.7.1 (Nunatak/v{node.VERSION}/"
    )


@pytest.mark.node_settings(profile="embedded")
def test_a_development_chain_is_named_as_tools_expect_it(node_settings):
    name, version, product, own, *_ = node.client_version(this_node().evm_rpc).split("/")
    assert (name, version, product, own) == ("anvil", "v1.7.1", "nunatak", f"v{node.VERSION}")


@pytest.mark.node_settings(network_id=5)
def test_a_public_chain_has_the_plain_name(node_settings):
    assert node.client_version(this_node().evm_rpc).startswith(f"Nunatak/v{node.VERSION}/")


@pytest.mark.node_settings(profile="production")
def test_a_local_chain_without_development_methods_has_the_plain_name(node_settings):
    assert node.client_version(this_node().evm_rpc).startswith(f"Nunatak/v{node.VERSION}/")


def test_web3_sha3_is_keccak():
    assert node.sha3(b"hello world") == (
        "0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad"
    )
