"""The creation of an L1 on a local network: subnet, EVM chain, conversion, its validator manager, a second validator.

Each step looks at the chains before it acts, so that an interrupted creation can continue. Rows hold what
the chains do not show: the terms, and the ID of the subnet. A subnet that was issued when the process ended, before its row,
stays unused.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from chaindb import clock
from explorer_app.managers.contract import MANAGER_ADDRESS
from explorer_app.managers.ports import CallRefused, L1Tools
from explorer_app.selectors import l1
from explorer_app.selectors.chains import why_not
from explorer_app.services.l1_manager_steps import ManagerSteps
from explorer_app.services.l1_node import KeystoreSteps, NotCreated, is_served
from explorer_app.services.l1_terms import L1Terms, read_validator
from explorer_app.store import l1_requests as rows
from explorer_app.store.l1_requests import L1RequestRow
from platform_app.chain import PlatformChain
from platform_app.selectors import subnets
from primitives.checksummed import TextEncoding, encode
from primitives.hexadecimal import encode_data
from primitives.ids import ID
from primitives.keys import EWOQ_KEY
from primitives.networks import LOCAL

VM: Final = "subnetevm"
BEGIN_SECONDS: Final = 15.0
"""How long a node may take to run a chain that was created."""


def begin(platform: PlatformChain, terms: L1Terms, genesis: str) -> None:
    """Write the row of an L1 that a user wants. A second call with the same terms changes nothing.

    Args:
        platform: The P-Chain.
        terms: The terms.
        genesis: The chain's genesis file; a second call keeps the first one's.

    Raises:
        NotCreated: The network is not the local one; the terms are not possible; there is such an L1 already, or it
            was begun with other terms; the second validator is this node, which is the first one.
    """
    if platform.node.network_id != LOCAL:
        raise NotCreated("only a local network has public keys with coins for this")
    terms.verify()
    if terms.validator and read_validator(terms.validator).node_id == platform.node_id:
        raise NotCreated(
            f"the second validator must be another node: {platform.node_id} is this one, the first validator"
        )
    db = platform.db
    with db.atomic(durable=True):
        known = rows.row_of(db, terms.name)
        if known is None:
            made = L1RequestRow(terms.name, terms.to_json(), genesis, datetime.now(UTC))
            rows.add(db, made)
            return
    if known.is_done:
        raise NotCreated(f"there is an L1 {terms.name} already")
    if L1Terms.from_json(known.terms) != terms:
        raise NotCreated(
            f"the creation of {terms.name} was begun with other terms: {known.terms}; give the same, or delete it first"
        )


class L1Creation:
    """Creates L1s through the interfaces of a running node. One call of `run` creates one.

    Args:
        platform: The P-Chain.
        tools: The parts of the node that it needs.
        travel: Moves the node's clock by some seconds in place of waiting for an epoch; None: it waits.
        report: Called with the name of each step.
    """

    def __init__(
        self,
        platform: PlatformChain,
        tools: L1Tools,
        *,
        travel: Callable[[int], object] | None = None,
        report: Callable[[str], object] = lambda step: None,
    ) -> None:
        self._platform = platform
        self._tools = tools
        self._call = tools.call
        self._travel = travel
        self._report = report

    def run(self, name: str) -> L1RequestRow:
        """Do all steps of a creation that are not done yet, and return its row.

        Raises:
            NotCreated: A step failed, which the row says too; or no such creation was begun.
            AnotherAtWork: One is created or deleted now.
        """
        with self._tools.alone():
            row = rows.row_of(self._platform.db, name)
            if row is None:
                raise NotCreated(f"no creation of {name} was begun")
            if row.is_done:
                return row
            self._note(name, state=rows.UNFINISHED, error="")
            try:
                self._steps(L1Terms.from_json(row.terms))
            except Exception as error:
                self._note(name, state=rows.FAILED, error=str(error) or type(error).__name__)
                if isinstance(error, (CallRefused, OSError)):
                    raise NotCreated(str(error)) from error
                raise
            self._note(name, state=rows.DONE, step="")
            return self._row(name)

    def _row(self, name: str) -> L1RequestRow:
        found = rows.row_of(self._platform.db, name)
        assert found is not None
        return found

    def _note(self, name: str, **changes: Any) -> None:
        rows.note(self._platform.db, name, **changes)

    def _step(self, name: str, title: str) -> None:
        self._note(name, step=title)
        self._report(title)

    def _steps(self, terms: L1Terms) -> None:
        with KeystoreSteps.with_key(self._call, EWOQ_KEY) as user:
            subnet_id = self._subnet(terms.name, user)
            blockchain_id = self._blockchain(terms.name, subnet_id, user)
            height = self._convert(terms, subnet_id, blockchain_id, user)
            if terms.kind is None:
                return
            steps = ManagerSteps(
                self._tools,
                terms,
                subnet_id,
                blockchain_id,
                user,
                network_id=self._platform.node.network_id,
                converted_at=height,
                now=clock.now,
                travel=self._travel,
                report=partial(self._step, terms.name),
            )
            self._note(terms.name, validation_id=steps.take())

    def _subnet(self, name: str, user: KeystoreSteps) -> ID:
        known = self._row(name).subnet_id
        if known is not None:
            return known
        self._step(name, "Creating the subnet")
        made = user.issue("createSubnet", controlKeys=[user.address()], threshold=1)
        self._note(name, subnet_id=ID.parse(made))
        return ID.parse(made)

    def _blockchain(self, name: str, subnet_id: ID, user: KeystoreSteps) -> ID:
        row = self._row(name)
        made = row.blockchain_id
        if made is None:
            created = subnets.blockchains(self._platform, subnet_id)
            made = created[0].blockchain_id if created else None
        if made is None:
            self._step(name, "Creating the blockchain")
            issued = user.issue(
                "createBlockchain",
                subnetID=str(subnet_id),
                vmID=VM,
                name=name,
                genesisData=encode(row.genesis.encode(), TextEncoding.HEX),
                encoding=TextEncoding.HEX.value,
            )
            made = ID.parse(issued)
        if row.blockchain_id is None:
            self._note(name, blockchain_id=made)
        until = time.monotonic() + BEGIN_SECONDS
        while not is_served(self._call, made):
            reason = why_not(self._platform, str(made))
            if reason or time.monotonic() > until:
                reason = reason or "/ext/health has the reason"
                raise NotCreated(f"the node does not run its chain: {reason}")
            time.sleep(0.1)
        return made

    def _convert(
        self, terms: L1Terms, subnet_id: ID, blockchain_id: ID, user: KeystoreSteps
    ) -> int:
        """Convert the subnet if it is no L1 yet; return the height of the conversion."""
        known = l1.conversion(self._platform, subnet_id)
        if known is not None:
            return known.height
        self._step(terms.name, "Converting the subnet to an L1")
        is_own = terms.kind is not None
        user.issue(
            "convertSubnetToL1",
            subnetID=str(subnet_id),
            managerChainID=str(blockchain_id) if is_own else "C",
            managerAddress=encode_data(MANAGER_ADDRESS) if is_own else terms.manager,
            validators=[{"weight": terms.weight, "balance": str(terms.balance)}],
        )
        made = l1.conversion(self._platform, subnet_id)
        assert made is not None, "its transaction is accepted"
        return made.height
