"""`l1`: create and delete an L1 on a local network; list and show the L1s that the P-Chain knows."""

import argparse
import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from rich import box
from rich.table import Table
from typing_extensions import override

from adminkit.formats import format_time
from explorer_app.managers.contract import MANAGER_ADDRESS, ManagerKind
from explorer_app.managers.ports import AnotherAtWork, CallRefused
from explorer_app.selectors import l1
from explorer_app.selectors.chains import deleted
from explorer_app.selectors.l1 import ConvertedSubnet, ValidationRow
from explorer_app.selectors.platform import blockchains
from explorer_app.services import l1_creation, l1_deletion
from explorer_app.services.l1_creation import L1Creation
from explorer_app.services.l1_deletion import NotDeleted
from explorer_app.services.l1_node import NotCreated
from explorer_app.services.l1_terms import (
    L1Terms,
    genesis_of,
    hash_of,
    read_validator,
    with_manager,
)
from explorer_app.store import l1_requests
from explorer_app.store.l1_requests import L1RequestRow
from nodeproject.management.terminal import console_for_tables, print_values
from nodeproject.startup.database import explained
from nodeproject.startup.profile import CHECKS
from nodeproject.web.l1_tools import NodeL1Tools
from platform_app.apps import platform_chain, platform_runtime
from platform_app.chain import NoPlatformGenesis, PlatformChain
from platform_app.services.errors import ClockNotMovable
from platform_app.services.time_travel import time_travel
from platform_app.txs.warp import initial_validation_id
from primitives import uint64
from primitives.cb58 import Cb58Error
from primitives.counting import counted
from primitives.hexadecimal import checksum_address
from primitives.ids import ID, IdError

OWNER: Final = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC"
"""The account of the public key ewoq, which development tools have."""
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")


def address(text: str) -> str:
    """Return an EVM address as it was written."""
    if not _ADDRESS.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an address: 0x and 40 hexadecimal digits"
        )
    return text


def positive(text: str) -> int:
    """Return a whole number of at least 1 with at most 64 bits."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:21]) <= uint64.MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {uint64.MAX}")
    return int(text)


def coins(text: str) -> Decimal:
    """Return a positive number of coins."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or amount <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of coins")
    return amount


def validator(text: str) -> str:
    """Return the second validator as it was written."""
    try:
        read_validator(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


class Command(BaseCommand):
    """Creates, lists, shows and deletes L1s."""

    requires_system_checks = CHECKS
    help = (
        "Create an L1 on a local network: subnet, EVM chain, conversion, validator manager, a second validator. "
        "List, show and delete L1s."
    )

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="create an L1 that this node validates")
        create.add_argument("name", help="the name of its chain: letters, digits and spaces")
        given = create.add_mutually_exclusive_group(required=True)
        given.add_argument(
            "--genesis", type=Path, help="the chain's genesis file, as for subnet-evm"
        )
        given.add_argument(
            "--chain-id", type=positive, help="make a genesis with this EVM chain ID"
        )
        create.add_argument(
            "--owner",
            type=address,
            default=OWNER,
            help="the rich account of that genesis, and the owner of the validator manager",
        )
        manager = create.add_mutually_exclusive_group()
        manager.add_argument(
            "--poa",
            dest="manager",
            action="store_const",
            const=ManagerKind.AUTHORITY.value,
            default=ManagerKind.AUTHORITY.value,
            help="proof of authority: the owner of the manager decides about the validators (the default)",
        )
        manager.add_argument(
            "--pos",
            dest="manager",
            action="store_const",
            const=ManagerKind.STAKE.value,
            help="proof of stake: anyone who stakes coins of the chain becomes a validator",
        )
        manager.add_argument(
            "--manager",
            type=address,
            help="no contract: an address on the C-Chain, in whose place the node can sign; no second validator",
        )
        create.add_argument(
            "--validator",
            type=validator,
            help="the second validator: NodeID-…/0x<BLS key>/0x<proof of possession>; default: keys are made for one",
        )
        create.add_argument(
            "--weight",
            type=positive,
            default=100,
            help="of this node as a validator; the second one gets a fifth of it",
        )
        create.add_argument(
            "--balance", type=coins, default=Decimal(1), help="of each validator, in coins"
        )
        create.add_argument(
            "--time-travel",
            action="store_true",
            help="move the node's clock forward in place of waiting half a minute for an epoch",
        )
        create.add_argument("--json", action="store_true", help="as JSON, for programs")
        listed = verbs.add_parser("list", help="list the L1s")
        listed.add_argument("--json", action="store_true", help="as JSON, for programs")
        show = verbs.add_parser("show", help="show an L1 with its chains and validators")
        show.add_argument(
            "subnet_id", help="the ID of its subnet, or the name of one of its chains"
        )
        show.add_argument("--json", action="store_true", help="as JSON, for programs")
        delete = verbs.add_parser(
            "delete",
            help="end the chains of an L1 on this node, and remove their blocks and states",
        )
        delete.add_argument(
            "subnet_id", help="the ID of its subnet, or the name of one of its chains"
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['verb']}")(options)
        except NoPlatformGenesis:
            raise CommandError(
                "This node has no chain yet: start it with `nunatak`, in a checkout with `make run`."
            ) from None
        except (DatabaseError, OSError) as error:
            raise CommandError(explained(error)) from error

    def _create(self, options: dict[str, Any]) -> None:
        platform = platform_chain()
        tools = NodeL1Tools(settings.NODE, platform)
        travel = partial(time_travel, platform_runtime()) if options["time_travel"] else None
        report = (lambda step: None) if options["json"] else self._say
        try:
            terms, genesis = _wanted(platform, options)
            l1_creation.begin(platform, terms, genesis)
            creation = L1Creation(platform, tools, travel=travel, report=report)
            made = creation.run(terms.name)
            facts = _facts(tools, terms, made)
        except (NotCreated, AnotherAtWork, CallRefused, ClockNotMovable) as error:
            again = l1_requests.row_of(platform.db, options["name"])
            hint = (
                ""
                if again is None or again.is_done
                else f" The same command continues there, `l1 delete {options['name']}` gives up."
            )
            raise CommandError(f"The L1 is not complete: {error}.{hint}") from error
        if options["json"]:
            self.stdout.write(json.dumps({key.lower(): value for key, value in facts.items()}))
            return
        print_values(f"L1 {terms.name}", facts)
        for line in _next_steps(terms, facts):
            self.stdout.write(line)

    def _say(self, step: str) -> None:
        self.stderr.write(f"{step} …")

    def _delete(self, options: dict[str, Any]) -> None:
        platform, text = platform_chain(), options["subnet_id"]
        tools = NodeL1Tools(settings.NODE, platform)
        begun = l1_requests.row_of(platform.db, text)
        subnet_id = None if begun is None else begun.subnet_id
        if begun is None:
            platform.tip()
            subnet_id = ID(_find(platform, text, with_deleted=True).subnet_id)
            begun = l1_requests.of_subnet(platform.db, subnet_id)
        name = "" if begun is None else begun.name
        try:
            ended = l1_deletion.delete(platform, tools, subnet_id, name)
        except (NotDeleted, AnotherAtWork) as error:
            raise CommandError(f"The L1 is not deleted: {error}.") from error
        if ended:
            self.stdout.write(
                f"{', '.join(map(str, ended))}: this node does not run it, and its blocks and states are removed. "
                "The P-Chain keeps the subnet and its validators."
            )
        else:
            self.stdout.write("There was no chain yet. The creation is forgotten.")

    def _list(self, options: dict[str, Any]) -> None:
        chain = platform_chain()
        chain.tip()
        found = l1.conversions(chain)
        if options["json"]:
            self.stdout.write(json.dumps([_l1_json(chain, item) for item in found], indent=2))
        elif found:
            console_for_tables().print(_l1_table(chain, found))
        else:
            self.stdout.write(
                "There are no L1s yet: `l1 create NAME` creates one on a local network."
            )

    def _show(self, options: dict[str, Any]) -> None:
        chain = platform_chain()
        chain.tip()
        converted = _find(chain, options["subnet_id"])
        validators = l1.validators(chain, ID(converted.subnet_id))
        if options["json"]:
            shown = _l1_json(chain, converted)
            shown["validators"] = [_validator_json(row) for row in validators]
            self.stdout.write(json.dumps(shown, indent=2))
            return
        weight = chain.state().l1_validators.total_weight(ID(converted.subnet_id))
        print_values(
            "L1",
            {
                "Subnet": str(converted.subnet_id),
                "Validator manager": f"0x{bytes(converted.manager_address).hex()}",
                "On the chain": str(converted.manager_chain_id),
                "Conversion": f"{converted.conversion_id}, in block {converted.height:,}",
                "Weight": f"{weight:,}, {counted(len(validators), 'validator')}",
                "Fee": f"{_coins(chain, l1.price(chain))} a second for each active validator",
                **{
                    f"Chain {one.name}": f"{one.blockchain_id}"
                    for one in blockchains(chain, ID(converted.subnet_id))
                },
            },
        )
        console_for_tables().print(_validator_table(chain, validators))


def _wanted(platform: PlatformChain, options: dict[str, Any]) -> tuple[L1Terms, str]:
    """Return the terms and the genesis file of the L1 that the options describe.

    Raises:
        NotCreated: The genesis file cannot be used.
    """
    try:
        given = None if options["genesis"] is None else options["genesis"].read_text("utf-8")
    except UnicodeDecodeError as error:
        raise NotCreated(f"the genesis file is not JSON: {error}") from error
    terms = L1Terms(
        name=options["name"],
        chain_id=options["chain_id"] or 0,
        owner=options["owner"],
        manager=options["manager"],
        weight=options["weight"],
        balance=int(options["balance"] * platform.config.unit),
        validator=options["validator"] or "",
        genesis_hash="" if given is None else hash_of(given),
    )
    if given is None:
        return terms, genesis_of(terms, platform.tip().timestamp)
    return terms, with_manager(given, terms)


def _facts(tools: NodeL1Tools, terms: L1Terms, made: L1RequestRow) -> dict[str, str]:
    """Return IDs and URLs of a new L1."""
    assert made.subnet_id is not None
    url, path = tools.url, f"/ext/bc/{made.blockchain_id}"
    facts = {
        "L1": f"{made.subnet_id}",
        "Blockchain": f"{made.blockchain_id}",
        "Validation": f"{initial_validation_id(made.subnet_id, 0)}",
        "RPC": f"{url}{path}/rpc",
        "WebSocket": f"{url}{path}/ws".replace("http", "ws", 1),
        "Explorer": f"{url}/chain/{made.blockchain_id}",
        "Status": _status(tools, made),
    }
    if terms.kind is None:
        return facts
    facts |= {
        "Manager": checksum_address(MANAGER_ADDRESS),
        "Owner": terms.owner,
        "Second": f"{made.validation_id}",
    }
    return facts if terms.validator else facts | {"Keys": tools.keys_of(made.subnet_id)}


def _status(tools: NodeL1Tools, made: L1RequestRow) -> str:
    given = {"blockchainID": str(made.blockchain_id)}
    answer = tools.call("/ext/bc/P", "platform.getBlockchainStatus", given)
    return str(answer["status"])


def _next_steps(terms: L1Terms, facts: dict[str, str]) -> list[str]:
    lines = [f"`l1 show {terms.name}` shows the validators. docs/l1.md: how to change them."]
    if "Keys" in facts:
        lines.append(
            "No node has the second validator's keys yet. A node that starts with them, and follows this one, validates."
        )
    return lines


def _find(chain: PlatformChain, text: str, *, with_deleted: bool = False) -> ConvertedSubnet:
    """Return the L1 with this ID, or with the only chain of this name.

    Args:
        chain: The P-Chain.
        text: The ID or the name.
        with_deleted: Whether to return one whose chain was deleted, if there is no other.
    """
    try:
        converted = l1.conversion(chain, ID.parse(text))
        found = [] if converted is None else [converted]
    except (IdError, Cb58Error):
        found = l1.named(chain, text)
        gone = deleted(chain)
        kept = [one for one in found if ID(one.subnet_id) not in gone]
        found = kept or (found if with_deleted else [])
    if not found:
        raise CommandError(f"There is no L1 {text}: `l1 list` shows those there are.")
    if len(found) > 1:
        raise CommandError(f"{len(found)} L1s have a chain called {text}: name one by its ID.")
    return found[0]


def _l1_table(chain: PlatformChain, found: Sequence[ConvertedSubnet]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("L1", "Chains"):
        table.add_column(title, overflow="fold")
    for title in ("Validators", "Block"):
        table.add_column(title, justify="right")
    counts = l1.counts(chain, [ID(item.subnet_id) for item in found])
    gone = deleted(chain)
    for item in found:
        names = ", ".join(one.name for one in blockchains(chain, ID(item.subnet_id)))
        if ID(item.subnet_id) in gone:
            names += " (deleted here)"
        number = counts[ID(item.subnet_id)].validators
        table.add_row(str(item.subnet_id), names or "–", f"{number:,}", f"{item.height:,}")
    return table


def _validator_table(chain: PlatformChain, validators: Sequence[ValidationRow]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("Validation", "Node", "State", "Runs out"):
        table.add_column(title, overflow="fold")
    for title in ("Weight", "Balance"):
        table.add_column(title, justify="right")
    for one in validators:
        table.add_row(
            str(one.row.validation_id),
            one.row.node,
            one.state,
            "–" if one.ends is None else format_time(one.ends),
            f"{one.row.weight:,}",
            _coins(chain, one.balance),
        )
    return table


def _coins(chain: PlatformChain, amount: int) -> str:
    shown = f"{Decimal(amount) / chain.config.unit:f}"
    return f"{shown} {settings.NODE.common.coin_symbol}"


def _l1_json(chain: PlatformChain, converted: ConvertedSubnet) -> dict[str, Any]:
    return {
        "subnetID": str(converted.subnet_id),
        "conversionID": str(converted.conversion_id),
        "managerChainID": str(converted.manager_chain_id),
        "managerAddress": f"0x{bytes(converted.manager_address).hex()}",
        "height": converted.height,
        "deleted": ID(converted.subnet_id) in deleted(chain),
        "blockchains": [
            {"name": one.name, "blockchainID": str(one.blockchain_id)}
            for one in blockchains(chain, ID(converted.subnet_id))
        ],
    }


def _validator_json(one: ValidationRow) -> dict[str, Any]:
    return {
        "validationID": str(one.row.validation_id),
        "nodeID": one.row.node,
        "weight": one.row.weight,
        "state": one.state,
        "balance": one.balance,
        "runsOut": one.ends,
    }
