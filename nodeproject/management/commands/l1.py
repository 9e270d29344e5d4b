"""`l1`: create an L1 on a local network; list and show the L1s that the P-Chain knows."""

import argparse
import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from rich import box
from rich.table import Table
from typing_extensions import override

from adminkit.formats import format_time
from explorer_app.selectors import l1
from explorer_app.selectors.l1 import ConvertedSubnet, ValidationRow
from explorer_app.selectors.platform import blockchains
from nodeproject.management.l1_creation import (
    DEFAULT_MANAGER,
    L1Creation,
    L1Plan,
    NotCreated,
    genesis_of,
)
from nodeproject.management.terminal import console_for_tables, print_values
from nodeproject.startup.database import explained
from nodeproject.startup.profile import CHECKS
from nodeproject.web.paths import running_url
from platform_app.apps import platform_chain
from platform_app.chain import NoPlatformGenesis, PlatformChain
from primitives import uint64
from primitives.cb58 import Cb58Error
from primitives.counting import counted
from primitives.ids import ID, IdError
from primitives.keys import EWOQ_KEY, format_private_key
from primitives.networks import LOCAL

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


class Command(BaseCommand):
    """Creates, lists and shows L1s."""

    requires_system_checks = CHECKS
    help = "Create an L1 on a local network: subnet, EVM chain and conversion. List and show L1s."

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
            "--owner", type=address, default=OWNER, help="the rich account of that genesis"
        )
        create.add_argument(
            "--manager",
            type=address,
            default=DEFAULT_MANAGER,
            help="the validator manager on the C-Chain; the node can sign its messages",
        )
        create.add_argument(
            "--weight", type=positive, default=100, help="of this node as a validator"
        )
        create.add_argument(
            "--balance",
            type=coins,
            default=Decimal(1),
            help="of this node as a validator, in coins",
        )
        create.add_argument("--json", action="store_true", help="as JSON, for programs")
        listed = verbs.add_parser("list", help="list the L1s")
        listed.add_argument("--json", action="store_true", help="as JSON, for programs")
        show = verbs.add_parser("show", help="show an L1 with its chains and validators")
        show.add_argument(
            "subnet_id", help="the ID of its subnet, or the name of one of its chains"
        )
        show.add_argument("--json", action="store_true", help="as JSON, for programs")

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
        node, chain = settings.NODE, platform_chain()
        if node.common.network_id != LOCAL:
            raise CommandError("Only a local network has public keys with coins for this.")
        plan = L1Plan(
            name=options["name"],
            genesis=_genesis(options),
            manager=options["manager"],
            weight=options["weight"],
            balance=int(options["balance"] * chain.config.unit),
            key=format_private_key(EWOQ_KEY),
        )
        url = running_url(node)
        try:
            created = L1Creation(url, node.rpc_headers).create(plan)
        except NotCreated as error:
            raise CommandError(f"The L1 is not complete: {error}") from error
        facts = {
            "L1": created.subnet_id,
            "Blockchain": created.blockchain_id,
            "Validation": created.validation_id,
            "RPC": f"{url}/ext/bc/{created.blockchain_id}/rpc",
            "WebSocket": f"{url}/ext/bc/{created.blockchain_id}/ws".replace("http", "ws", 1),
            "Explorer": f"{url}/chain/{created.blockchain_id}",
            "Status": created.status,
        }
        if options["json"]:
            self.stdout.write(json.dumps({key.lower(): value for key, value in facts.items()}))
        else:
            print_values(f"L1 {plan.name}", facts)
        if created.status == "Created":
            raise CommandError(
                f"The L1 is complete, but the node does not run its chain: {url}/ext/health has the reason."
            )

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


def _genesis(options: dict[str, Any]) -> bytes:
    if options["genesis"] is None:
        return genesis_of(options["chain_id"], options["owner"], platform_chain().tip().timestamp)
    raw: bytes = options["genesis"].read_bytes()
    try:
        json.loads(raw)
    except ValueError as error:
        raise CommandError(f"{options['genesis']} is not JSON: {error}") from error
    return raw


def _find(chain: PlatformChain, text: str) -> ConvertedSubnet:
    """Return the L1 with this ID, or with the only chain of this name."""
    try:
        converted = l1.conversion(chain, ID.parse(text))
        found = [] if converted is None else [converted]
    except (IdError, Cb58Error):
        found = l1.named(chain, text)
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
    for item in found:
        names = ", ".join(one.name for one in blockchains(chain, ID(item.subnet_id)))
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
