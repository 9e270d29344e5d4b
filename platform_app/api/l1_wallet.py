"""The steps of an L1's life with the keys of a keystore's user: conversion, validators, their weights and balances.

Unspecified: the reference dropped its keystore before L1s existed. Names are those of its transactions, arguments are
those of its wallet, in the form of the keystore's other methods.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from chaindb import clock
from jsonrpc.dispatch.params import Param
from jsonrpc.errors import InvalidParam
from platform_app.api import params
from platform_app.api.errors import refused, saying
from platform_app.api.params import quoted
from platform_app.api.rpc import Methods, PlatformRpc
from platform_app.api.spenders import Spender, add_spending
from platform_app.api.wire import Json
from platform_app.services import l1_wallet
from platform_app.services.l1_wallet import L1ValidatorTerms
from platform_app.services.wallet import IssueResult
from platform_app.txs.base import ProofOfPossession
from platform_app.txs.l1 import PChainOwner
from primitives.ids import EMPTY_ID, ID, NodeID

_PROOF_SIZE: Final = 96
_KEY_SIZE: Final = 48


class OwnerText(NamedTuple):
    """Owners, with addresses as the caller wrote them."""

    threshold: int
    addresses: Sequence[str]


class GivenValidator(NamedTuple):
    """A validator as the caller wrote it."""

    node_id: NodeID | None = None
    """The default is this node."""
    weight: int = 0
    balance: int = 0
    signer: ProofOfPossession | None = None
    remaining_balance_owner: OwnerText | None = None
    deactivation_owner: OwnerText | None = None

    def terms(self, rpc: PlatformRpc) -> L1ValidatorTerms:
        """Return the terms, with the addresses read.

        Raises:
            JsonRpcError: -32000, a string is not an address.
        """
        return L1ValidatorTerms(
            node_id=self.node_id or rpc.chain.node_id,
            weight=self.weight,
            balance=self.balance,
            signer=self.signer,
            remaining_balance_owner=_owner(rpc, self.remaining_balance_owner),
            deactivation_owner=_owner(rpc, self.deactivation_owner),
        )


def owner(value: Any) -> OwnerText:
    """Read an object with a threshold, 1 if it is missing, and addresses."""
    given = _members(value)
    addresses = params.few_of("addresses", params.text, "")(given.get("addresses", []))
    return OwnerText(params.uint32(given.get("threshold", 1)), addresses)


def signer(value: Any) -> ProofOfPossession:
    """Read an object with a BLS key and its proof of possession, as info.getNodeID returns it."""
    given = _members(value)
    key, proof = (
        params.data(given.get("publickey", "")),
        params.data(given.get("proofofpossession", "")),
    )
    if (len(key), len(proof)) != (_KEY_SIZE, _PROOF_SIZE):
        raise InvalidParam("not a BLS key with its proof of possession")
    return ProofOfPossession(key, proof)


def validator(value: Any) -> GivenValidator:
    """Read an object with the terms of a validator."""
    given = _members(value)

    def read(name: str, reader: Any, default: Any) -> Any:
        part = given.get(name.lower())
        return default if part is None else reader(part)

    return GivenValidator(
        read("nodeID", params.node_id, None),
        read("weight", params.uint64, 0),
        read("balance", params.uint64, 0),
        read("signer", signer, None),
        read("remainingBalanceOwner", owner, None),
        read("deactivationOwner", owner, None),
    )


def _members(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParam("not an object")
    return {name.lower(): part for name, part in value.items() if part is not None}


def convert_subnet_to_l1(  # noqa: PLR0917  # arguments come by position
    rpc: PlatformRpc,
    spender: Spender,
    subnet_id: ID,
    chain: str,
    address: bytes | None,
    validators: Sequence[GivenValidator],
) -> Json:
    """platform.convertSubnetToL1: turn a subnet into an L1, whose validators a contract manages from then on.

    The contract has the given address on the given chain, which may be the C-Chain or a chain of the subnet. Each
    validator has a node ID (default: this node), a weight, a balance from which it pays, a BLS key with its proof of
    possession (default: that of this node), and the owners of the remaining balance and of the right to disable it
    (default: the change address). A conversion cannot be undone.

    Unspecified: the address may be empty ("0x"), as in the reference, but it has to be given: nobody can ever change
    the validators of an L1 without a manager.
    """
    if address is None:
        raise refused("argument 'managerAddress' not given")
    with saying(f"problem parsing managerChainID {quoted(chain)}"):
        known = params.find_chain_id(rpc.chain, chain)
        chain_id = ID.parse(chain) if known is None else known
    return _issued(
        rpc,
        l1_wallet.convert_subnet(
            rpc.chain,
            spender.payer(),
            subnet_id=subnet_id,
            manager_chain_id=chain_id,
            manager_address=address,
            validators=[given.terms(rpc) for given in validators],
            now=clock.now(),
        ),
    )


def register_l1_validator(  # noqa: PLR0917  # arguments come by position
    rpc: PlatformRpc,
    spender: Spender,
    message: bytes,
    balance: int,
    proof_of_possession: bytes,
    subnet_id: ID,
    given: GivenValidator,
) -> Json:
    """platform.registerL1Validator: add the validator that an L1's manager has requested with a signed message.

    Besides the message the validator's proof of possession is needed. On the local network `subnetID` and `validator`
    may replace the message: then this node makes it and signs it in the manager's place.
    """
    if not message:
        return _issued(
            rpc,
            l1_wallet.register_for_manager(
                rpc.chain,
                spender.payer(),
                subnet_id=subnet_id,
                terms=given._replace(balance=given.balance or balance).terms(rpc),
                now=clock.now(),
            ),
        )
    if len(proof_of_possession) != _PROOF_SIZE:
        raise refused(f"argument 'proofOfPossession' must have {_PROOF_SIZE} bytes")
    return _issued(
        rpc,
        l1_wallet.register_validator(
            rpc.chain,
            spender.payer(),
            message=message,
            proof_of_possession=proof_of_possession,
            balance=balance,
            now=clock.now(),
        ),
    )


def set_l1_validator_weight(
    rpc: PlatformRpc, spender: Spender, message: bytes, validation_id: ID, weight: int | None
) -> Json:
    """platform.setL1ValidatorWeight: set the weight that an L1's manager has requested with a signed message.

    Weight 0 removes the validator and returns its balance. On the local network `validationID` and `weight` may
    replace the message: then this node makes it and signs it in the manager's place.
    """
    if message:
        issued = l1_wallet.set_weight(rpc.chain, spender.payer(), message=message, now=clock.now())
        return _issued(rpc, issued)
    if weight is None:
        raise refused("argument 'weight' not given")
    return _issued(
        rpc,
        l1_wallet.set_weight_for_manager(
            rpc.chain,
            spender.payer(),
            validation_id=validation_id,
            weight=weight,
            now=clock.now(),
        ),
    )


def increase_l1_validator_balance(
    rpc: PlatformRpc, spender: Spender, validation_id: ID, balance: int
) -> Json:
    """platform.increaseL1ValidatorBalance: add to the balance from which a validator pays each second.

    Anybody may pay for any validator. A validator that has run out of balance, or was disabled, becomes active again.
    """
    return _issued(
        rpc,
        l1_wallet.increase_balance(
            rpc.chain,
            spender.payer(),
            validation_id=validation_id,
            balance=balance,
            now=clock.now(),
        ),
    )


def disable_l1_validator(rpc: PlatformRpc, spender: Spender, validation_id: ID) -> Json:
    """platform.disableL1Validator: deactivate a validator, signed by its deactivation owner.

    The rest of its balance returns to the owner of the balance. Its weight stays.
    """
    return _issued(
        rpc,
        l1_wallet.disable_validator(
            rpc.chain, spender.payer(), validation_id=validation_id, now=clock.now()
        ),
    )


def add_l1_wallet_methods(methods: Methods) -> None:
    """Add the methods of L1s to the P-Chain's methods."""
    subnet = Param("subnetID", params.identifier, EMPTY_ID)
    validation = Param("validationID", params.identifier, EMPTY_ID)
    message, balance = Param("message", params.data, b""), Param("balance", params.uint64, 0)
    add_spending(
        methods,
        "platform.convertSubnetToL1",
        convert_subnet_to_l1,
        subnet,
        Param("managerChainID", params.text, ""),
        Param("managerAddress", params.data, None),
        Param("validators", params.few_of("validators", validator, GivenValidator()), ()),
    )
    add_spending(
        methods,
        "platform.registerL1Validator",
        register_l1_validator,
        message,
        balance,
        Param("proofOfPossession", params.data, b""),
        subnet,
        Param("validator", validator, GivenValidator()),
    )
    add_spending(
        methods,
        "platform.setL1ValidatorWeight",
        set_l1_validator_weight,
        message,
        validation,
        Param("weight", params.uint64, None),
    )
    add_spending(
        methods,
        "platform.increaseL1ValidatorBalance",
        increase_l1_validator_balance,
        validation,
        balance,
    )
    add_spending(methods, "platform.disableL1Validator", disable_l1_validator, validation)


def _owner(rpc: PlatformRpc, given: OwnerText | None) -> PChainOwner | None:
    if given is None:
        return None
    addresses = params.read_all(rpc.chain, given.addresses)
    return PChainOwner(given.threshold, tuple(sorted(addresses)))


def _issued(rpc: PlatformRpc, issued: IssueResult) -> Json:
    return {"txID": str(issued.tx_id), "changeAddr": rpc.address(issued.change_address)}
