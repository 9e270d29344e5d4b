"""The steps by which the validator manager of a new L1 gets its validators: those of the conversion, and a second one."""

import json
import time
from collections.abc import Callable
from typing import Final

from adminkit.formats import format_iso
from explorer_app.managers import contract
from explorer_app.managers.contract import (
    MANAGER_ADDRESS,
    TERMS,
    ManagedValidator,
    ValidationStatus,
)
from explorer_app.managers.ports import CallRefused, L1Tools, ValidatorIdentity
from explorer_app.services.l1_node import (
    P_PATH,
    ChainAccount,
    KeystoreSteps,
    NotCreated,
    reach_epoch,
)
from explorer_app.services.l1_terms import PAYER, L1Terms, read_validator
from platform_app.txs.warp import (
    ConversionData,
    ConversionValidator,
    L1Message,
    L1ValidatorRegistration,
    SubnetToL1Conversion,
    initial_validation_id,
    statement_of,
)
from primitives.evm import Address
from primitives.hexadecimal import decode_address, decode_data, encode_data
from primitives.ids import ID, NodeID
from primitives.keys import EWOQ_KEY, address_of

_ATTEMPTS: Final = 3
"""How often a chain is given a message: its epoch may end before the block with the message."""
_SUCCEEDED: Final = "0x1"
_REGISTRATION: Final = "InitiatedValidatorRegistration"


class ManagerSteps:
    """Lets the manager take the validators of the conversion, register a second one, and get its owner.

    Args:
        tools: The parts of the node that they need.
        terms: The terms of the L1.
        subnet_id: The L1.
        blockchain_id: Its chain, with the manager in its genesis.
        user: Pays on the P-Chain.
        network_id: The network's ID.
        converted_at: The height of the conversion.
        now: Returns the node's time in Unix seconds.
        travel: Moves the node's clock by some seconds in place of waiting for an epoch; None: they wait.
        report: Called with the title of each step.
    """

    def __init__(
        self,
        tools: L1Tools,
        terms: L1Terms,
        subnet_id: ID,
        blockchain_id: ID,
        user: KeystoreSteps,
        *,
        network_id: int,
        converted_at: int,
        now: Callable[[], int],
        travel: Callable[[int], object] | None,
        report: Callable[[str], object],
    ) -> None:
        self._tools = tools
        self._call = tools.call
        self._terms = terms
        self._subnet_id = subnet_id
        self._blockchain_id = blockchain_id
        self._user = user
        self._network_id = network_id
        self._converted_at = converted_at
        self._now = now
        self._travel = travel
        self._report = report
        self._account = ChainAccount(self._call, f"/ext/bc/{blockchain_id}", EWOQ_KEY)

    def take(self) -> ID:
        """Take all steps that were not taken yet; return the validation of the second validator.

        Raises:
            CallRefused: The node refuses one.
            NotCreated: A chain does not accept one.
            OSError: The keys of the second validator cannot be written.
        """
        self._initialise()
        self._tools.supply_abi(
            self._blockchain_id,
            MANAGER_ADDRESS,
            json.dumps(contract.artifact()["abi"]),
            name="ValidatorManager",
        )
        validator = self._second()
        validation_id = self._register(validator)
        self._hand_over()
        return validation_id

    def _initialise(self) -> None:
        if any(self._read(contract.getter("subnetID"))):
            return
        self._report("Waiting until the chain knows its validators, half a minute")
        own = self._call("/ext/info", "info.getNodeID")
        key = decode_data(own["nodePOP"]["publicKey"])
        node_id = NodeID.parse(own["nodeID"])
        conversion = ConversionData(
            self._subnet_id,
            self._blockchain_id,
            MANAGER_ADDRESS,
            (ConversionValidator(bytes(node_id), key, self._terms.weight),),
        )
        self._deliver(
            SubnetToL1Conversion(conversion.conversion_id),
            contract.initialize_validator_set(conversion),
            justification=bytes(self._subnet_id),
        )

    def _second(self) -> ValidatorIdentity:
        if self._terms.validator:
            return read_validator(self._terms.validator)
        return self._tools.make_validator(self._subnet_id)

    def _register(self, validator: ValidatorIdentity) -> ID:
        validation_id = ID(self._read(contract.get_validation_id(validator.node_id)))
        if not any(validation_id):
            validation_id = self._initiate(validator)
        if self._validator(validation_id).status == ValidationStatus.PENDING_ADDED:
            self._tell_platform(validation_id, validator)
            self._report("Telling the manager that the second validator is registered")
            added = L1ValidatorRegistration(validation_id, True)
            self._deliver(added, contract.complete_registration())
        return validation_id

    def _initiate(self, validator: ValidatorIdentity) -> ID:
        self._report("Asking the manager for a second validator")
        kind, weight = self._terms.kind, self._terms.second_weight
        assert kind is not None, "there is a manager"
        owner = address_of(EWOQ_KEY)
        data = contract.initiate_registration(
            validator.node_id, validator.public_key, [bytes(owner)], weight
        )
        stake = weight * TERMS[kind].stake_per_weight
        self._send(data, value=stake)
        return ID(self._read(contract.get_validation_id(validator.node_id)))

    def _tell_platform(self, validation_id: ID, validator: ValidatorIdentity) -> None:
        """Let the P-Chain register the validator that the manager has asked for, unless it has done so.

        Raises:
            NotCreated: The creation was interrupted for so long that the P-Chain does not take the request any more.
        """
        if self._is_registered(validation_id):
            return
        self._report("Registering the second validator on the P-Chain")
        (log,) = self._account.ask(
            "eth_getLogs",
            {
                "fromBlock": "0x0",
                "address": encode_data(MANAGER_ADDRESS),
                "topics": [
                    encode_data(contract.event_topic(_REGISTRATION)),
                    encode_data(validation_id),
                ],
            },
        )
        message_id, expiry = log["data"][:66], int(log["data"][66:130], 16)
        if expiry <= self._now():
            raise NotCreated(
                f"the manager's request for the second validator expired at {format_iso(expiry)}, and the P-Chain "
                f"refuses it: delete {self._terms.name} and create it again"
            )
        message = self._account.ask("warp_getMessageAggregateSignature", message_id)
        own = str(initial_validation_id(self._subnet_id, 0))
        reach_epoch(
            self._call,
            P_PATH,
            self._converted_at,
            lambda: self._user.issue("increaseL1ValidatorBalance", validationID=own, balance="1"),
            travel=self._travel,
        )
        self._user.issue(
            "registerL1Validator",
            message=message,
            balance=str(self._terms.balance),
            proofOfPossession=encode_data(validator.proof),
        )

    def _is_registered(self, validation_id: ID) -> bool:
        try:
            self._call(P_PATH, "platform.getL1Validator", {"validationID": str(validation_id)})
        except CallRefused as error:
            if "not found" in str(error):
                return False
            raise
        return True

    def _hand_over(self) -> None:
        owner = decode_address(self._terms.owner)
        if owner == PAYER or self._read(contract.getter("owner"))[12:] != PAYER:
            return
        self._report("Giving the manager to its owner")
        self._send(contract.transfer_ownership(owner))

    def _send(self, data: bytes, *, value: int = 0) -> None:
        """Call the manager in a transaction. Raises `NotCreated` if it fails."""
        receipt = self._account.send(MANAGER_ADDRESS, data, value=value)
        if receipt["status"] != _SUCCEEDED:
            raise NotCreated(f"transaction {receipt['transactionHash']} of the manager failed")

    def _deliver(self, content: L1Message, data: bytes, *, justification: bytes = b"") -> None:
        """Let a call of the manager take a statement of the P-Chain.

        Raises:
            NotCreated: The manager does not take it.
        """
        statement = statement_of(self._network_id, content)
        sent = ""
        for _ in range(_ATTEMPTS):
            height = reach_epoch(
                self._call,
                self._account.path,
                self._converted_at,
                lambda: self._account.send(Address(PAYER)),
                travel=self._travel,
            )
            given = {
                "message": encode_data(statement.raw),
                "justification": encode_data(justification),
                "signingSubnetID": str(self._subnet_id),
                "pChainHeight": str(height),
            }
            signed = self._call(P_PATH, "platform.aggregateSignatures", given)["signedMessage"]
            receipt = self._account.send(MANAGER_ADDRESS, data, message=decode_data(signed))
            if receipt["status"] == _SUCCEEDED:
                return
            sent = receipt["transactionHash"]
            time.sleep(1)  # the next block's epoch may be another one
        raise NotCreated(
            f"the manager does not take the P-Chain's message: transaction {sent} failed"
        )

    def _validator(self, validation_id: ID) -> ManagedValidator:
        return contract.read_validator(self._read(contract.get_validator(validation_id)))

    def _read(self, data: bytes) -> bytes:
        return self._account.read(MANAGER_ADDRESS, data)
