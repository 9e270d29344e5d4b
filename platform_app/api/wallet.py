"""Transactions built, signed and issued with the keys of a keystore's user.

Arguments are checked in the reference's order (pchain.md 8.3): first missing and out-of-range values, then
addresses, then the password.
"""

from collections.abc import Sequence
from typing import Final

from chaindb import clock
from jsonrpc.dispatch.params import Param
from jsonrpc.errors import JsonRpcError
from platform_app.api import params
from platform_app.api.chains import fx_id_of, vm_id_of
from platform_app.api.errors import refused, saying
from platform_app.api.params import ChainAddress
from platform_app.api.rpc import Methods, PlatformRpc
from platform_app.api.spenders import Period, Spender, add_spending, add_staking
from platform_app.api.wire import Json
from platform_app.services import wallet
from platform_app.services.wallet import IssueResult
from platform_app.wallet import requirements
from platform_app.wallet.errors import TxNotCreated, WalletError, WalletReason
from primitives.addresses import AddressError
from primitives.checksummed import TextEncoding, decode
from primitives.ids import ID, PRIMARY_NETWORK_ID, ShortID

_REWARD: Final = Param("rewardAddress", params.text, "")
_TO: Final = Param("to", params.text, "")


def add_validator(
    rpc: PlatformRpc,
    spender: Spender,
    period: Period,
    reward_address: str,
    rate: float,
) -> Json:
    """platform.addValidator: stake for a node of the Primary Network, this one by default.

    Unspecified: the result is an AddValidatorTx, which the reference's current rules reject, and so does this
    node with the reference's parameters. The reference's clients build AddPermissionlessValidatorTx themselves.
    """
    if not reward_address:
        raise refused("argument 'rewardAddress' not provided")
    now = clock.now()
    period.verify_start(now, rpc.chain.config)
    requirements.shares_of(rate)
    with saying("problem while parsing reward address"):
        rewarded = params.read(rpc.chain, reward_address)
    return _issued(
        rpc,
        wallet.add_validator(
            rpc.chain,
            spender.payer(),
            stake=period.weight,
            start=period.start,
            end=period.end,
            reward_address=rewarded,
            delegation_fee_rate=rate,
            now=now,
            node_id=period.node_id,
        ),
    )


def add_delegator(
    rpc: PlatformRpc,
    spender: Spender,
    period: Period,
    reward_address: str,
) -> Json:
    """platform.addDelegator: delegate stake to a validator of the Primary Network.

    Unspecified: the result is an AddDelegatorTx, which the reference's current rules reject too.
    """
    if not reward_address:
        raise refused("argument 'rewardAddress' not provided")
    now = clock.now()
    period.verify_start(now, rpc.chain.config)
    with saying("problem parsing 'rewardAddress'"):
        rewarded = params.read(rpc.chain, reward_address)
    return _issued(
        rpc,
        wallet.add_delegator(
            rpc.chain,
            spender.payer(),
            stake=period.weight,
            start=period.start,
            end=period.end,
            reward_address=rewarded,
            now=now,
            node_id=period.node_id,
        ),
    )


def add_subnet_validator(
    rpc: PlatformRpc,
    spender: Spender,
    period: Period,
    subnet: str,
) -> Json:
    """platform.addSubnetValidator: add a validator of the Primary Network to a subnet."""
    if not subnet:
        raise refused("argument 'subnetID' not provided")
    now = clock.now()
    period.verify_start(now, rpc.chain.config)
    with saying(f"problem parsing subnetID {params.quoted(subnet)}"):
        subnet_id = ID.parse(subnet)
    return _issued(
        rpc,
        wallet.add_subnet_validator(
            rpc.chain,
            spender.payer(),
            subnet_id=subnet_id,
            weight=period.weight,
            start=period.start,
            end=period.end,
            now=now,
            node_id=period.node_id,
        ),
    )


def create_subnet(
    rpc: PlatformRpc, spender: Spender, control_keys: Sequence[str], threshold: int
) -> Json:
    """platform.createSubnet: create a subnet; the transaction's ID is the subnet's ID."""
    keys = dict.fromkeys(params.read_all(rpc.chain, control_keys))
    return _issued(
        rpc,
        wallet.create_subnet(
            rpc.chain,
            spender.payer(),
            control_keys=keys,
            threshold=threshold,
            now=clock.now(),
        ),
    )


def create_blockchain(  # noqa: PLR0917  # arguments come by position
    rpc: PlatformRpc,
    spender: Spender,
    subnet_id: ID,
    vm: str,
    fxs: Sequence[str],
    name: str,
    genesis_data: str,
    encoding: TextEncoding,
) -> Json:
    """platform.createBlockchain: create a blockchain of a subnet; the transaction's ID is the blockchain's ID."""
    if not name:
        raise refused("argument 'name' not given")
    if not vm:
        raise refused("argument 'vmID' not given")
    with saying("problem parsing genesis data"):
        genesis = decode(genesis_data, encoding)
    vm_id = vm_id_of(vm)
    fx_ids = [fx_id_of(fx) for fx in fxs]
    return _issued(
        rpc,
        wallet.create_blockchain(
            rpc.chain,
            spender.payer(),
            subnet_id=subnet_id,
            name=name,
            vm_id=vm_id,
            fx_ids=fx_ids,
            genesis_data=genesis,
            now=clock.now(),
        ),
    )


def export_avax(
    rpc: PlatformRpc, spender: Spender, amount: int, to: str, target_chain: str
) -> Json:
    """platform.exportAVAX: export funds so that another chain can import them.

    The chain is a prefix of the address, or in `targetChain` if the address has no prefix.

    Unspecified: as long as this node runs no X-Chain, exports to it are rejected (`services.mempool.issue`).
    """
    if amount == 0:
        raise WalletError(WalletReason.ZERO_AMOUNT)
    chain_id, short_id = _destination(rpc, to, target_chain)
    return _issued(
        rpc,
        wallet.export_avax(
            rpc.chain,
            spender.payer(),
            amount=amount,
            to=short_id,
            destination_chain=chain_id,
            now=clock.now(),
        ),
    )


def import_avax(rpc: PlatformRpc, spender: Spender, source_chain: str, to: str) -> Json:
    """platform.importAVAX: import the outputs that another chain has exported to a user."""
    with saying(f"problem parsing chainID {params.quoted(source_chain)}"):
        chain_id = params.chain_id_of(rpc.chain, source_chain)
    with saying("couldn't parse argument 'to' to an address"):
        short_id = params.read(rpc.chain, to)
    try:
        issued = wallet.import_avax(
            rpc.chain, spender.payer(), source_chain=chain_id, to=short_id, now=clock.now()
        )
    except TxNotCreated as error:  # here the reference does not prefix the operation
        raise refused(str(error.values["cause"])) from error
    return _issued(rpc, issued)


def add_wallet_methods(methods: Methods) -> None:
    """Add the wallet methods to the P-Chain's methods."""
    rate = Param("delegationFeeRate", params.decimal, 0.0)
    add_staking(methods, "platform.addValidator", add_validator, _REWARD, rate)
    add_staking(methods, "platform.addDelegator", add_delegator, _REWARD)
    add_staking(
        methods,
        "platform.addSubnetValidator",
        add_subnet_validator,
        Param("subnetID", params.text, ""),
    )
    add_spending(
        methods,
        "platform.createSubnet",
        create_subnet,
        Param("controlKeys", params.few_of("control keys", params.text, ""), ()),
        Param("threshold", params.uint32, 0),
    )
    add_spending(
        methods,
        "platform.createBlockchain",
        create_blockchain,
        Param("subnetID", params.identifier, PRIMARY_NETWORK_ID),
        Param("vmID", params.text, ""),
        Param("fxIDs", params.few_of("fx IDs", params.text, ""), ()),
        Param("name", params.text, ""),
        Param("genesisData", params.text, ""),
        Param("encoding", params.encoding, TextEncoding.HEX),
    )
    add_spending(
        methods,
        "platform.exportAVAX",
        export_avax,
        Param("amount", params.uint64, 0),
        _TO,
        Param("targetChain", params.text, ""),
    )
    add_spending(
        methods,
        "platform.importAVAX",
        import_avax,
        Param("sourceChain", params.text, ""),
        _TO,
    )


def _destination(rpc: PlatformRpc, to: str, target_chain: str) -> ChainAddress:
    try:
        return params.read_with_chain(rpc.chain, to)
    except (AddressError, JsonRpcError):
        return ChainAddress(params.chain_id_of(rpc.chain, target_chain), ShortID.parse(to))


def _issued(rpc: PlatformRpc, issued: IssueResult) -> Json:
    return {"txID": str(issued.tx_id), "changeAddr": rpc.address(issued.change_address)}
