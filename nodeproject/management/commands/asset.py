"""`asset create`: create an asset of the X-Chain on a local network, paid by its public key."""

import argparse
import json
import time
import urllib.request
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from typing_extensions import override

from chaindb import clock
from chaindb.chains import X_CHAIN, absence, is_left_out
from nodeproject.apps import this_node
from nodeproject.management.terminal import explaining_refusals, print_section
from nodeproject.startup.profile import CHECKS
from nodeproject.web.paths import running_url
from primitives.addresses import AddressError, parse_address
from primitives.counting import counted
from primitives.ids import ShortID
from primitives.keys import EWOQ_KEY, address_of
from primitives.networks import LOCAL
from utxo.components import OutputOwners
from xchain_app.chain import AvmChain
from xchain_app.services.wallet_retry import unspent_wallet
from xchain_app.store.state import NoXChain
from xchain_app.txs.base import AvmTx
from xchain_app.txs.syntax import MAX_DENOMINATION
from xchain_app.wallet.errors import AvmWalletError
from xchain_app.wallet.transactions import AssetNames, AvmWallet

_SECONDS: Final = 30.0
"""Time for which the block with the asset is awaited."""
_MOST_GROUPS: Final = 1024
_LONGEST_NUMBER: Final = 64
"""Limit of characters of an amount: 64 bits have 20 digits, besides up to 32 decimals."""


class Command(BaseCommand):
    """Builds the transaction from the database and gives it to the running node."""

    requires_system_checks = CHECKS
    help = "Create an asset of the X-Chain on a local network: of coins, with or without a cap, or of collectibles."

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="create an asset")
        create.add_argument("name", help="1 to 128 letters, digits and spaces")
        create.add_argument("symbol", help="1 to 4 capital letters")
        create.add_argument(
            "--amount", type=_amount, help="coins that exist from the start, such as 1000 or 0.5"
        )
        create.add_argument("--to", help="who gets them: an X-Chain address; default: ewoq's")
        create.add_argument("--decimals", type=_decimals, default=0, help="0 to 32; default: 0")
        create.add_argument(
            "--mintable", action="store_true", help="more coins can be minted: there is no cap"
        )
        create.add_argument(
            "--collectibles", type=_groups, metavar="GROUPS",
            help="an asset of collectibles; each group can be minted once",
        )  # fmt: skip
        create.add_argument("--minter", help="who can mint: an X-Chain address; default: ewoq's")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node = settings.NODE
        if node.common.network_id != LOCAL:
            raise CommandError(
                "Only a local network's own key may pay: on other networks create assets with a wallet."
            )
        if is_left_out(X_CHAIN):
            raise CommandError(f"{absence(X_CHAIN).capitalize()}.")
        _verify_kind(options)
        chain = this_node().avm_runtime.chain
        with explaining_refusals():
            tx = _transaction(chain, options)
        _call("issueTx", tx=f"0x{tx.raw.hex()}", encoding="hexnc")
        _await(str(tx.tx_id))
        print_section(
            f"{options['name']} ({options['symbol']})",
            {
                "Asset": str(tx.tx_id),
                "Kind": _kind(options),
                "Explorer": f"{running_url(node)}/x/asset/{tx.tx_id}",
            },
        )


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text[:_LONGEST_NUMBER])
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not amount.is_finite() or amount <= 0 or len(text) > _LONGEST_NUMBER:
        raise argparse.ArgumentTypeError("the amount is above 0, of at most 64 characters")
    if abs(amount.adjusted()) > _LONGEST_NUMBER:
        raise argparse.ArgumentTypeError("the amount does not fit into 64 bits")
    return amount


def _decimals(text: str) -> int:
    if not text.isdecimal() or len(text) > 2 or int(text) > MAX_DENOMINATION:
        raise argparse.ArgumentTypeError(f"the number of decimals is 0 to {MAX_DENOMINATION}")
    return int(text)


def _groups(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= _MOST_GROUPS:
        raise argparse.ArgumentTypeError(f"the number of groups is 1 to {_MOST_GROUPS}")
    return int(text)


def _verify_kind(options: dict[str, Any]) -> None:
    coins = options["amount"] is not None or options["mintable"]
    if bool(options["collectibles"]) == coins:
        raise CommandError(
            "Write either --amount or --mintable, or both, for coins, or --collectibles."
        )
    if options["collectibles"] and options["decimals"]:
        raise CommandError("Collectibles have no decimals.")
    if options["to"] is not None and options["amount"] is None:
        raise CommandError("--to needs --amount: without it nobody gets coins.")
    if options["minter"] is not None and not (options["mintable"] or options["collectibles"]):
        raise CommandError(
            "--minter needs --mintable or --collectibles: without them nobody can mint."
        )


def _kind(options: dict[str, Any]) -> str:
    if options["collectibles"]:
        return f"collectibles of {counted(options['collectibles'], 'group')}"
    return "coins without a cap" if options["mintable"] else "coins with a fixed cap"


def _transaction(chain: AvmChain, options: dict[str, Any]) -> AvmTx:
    names = AssetNames(options["name"], options["symbol"], options["decimals"])
    minters = [OutputOwners(0, 1, (_owner(chain, options["minter"]),))]
    try:
        own, _ = unspent_wallet(chain, [EWOQ_KEY], clock.now())
        if options["collectibles"]:
            return own.create_collectibles(names, minters * options["collectibles"])
        return _coins(chain, own, names, options, minters)
    except NoXChain:
        raise CommandError("This node has no X-Chain yet: start it first.") from None
    except AvmWalletError as error:
        raise CommandError(f"The asset cannot be created: {error}.") from error


def _coins(
    chain: AvmChain,
    own: AvmWallet,
    names: AssetNames,
    options: dict[str, Any],
    minters: list[OutputOwners],
) -> AvmTx:
    holders = []
    if options["amount"] is not None:
        units = options["amount"].scaleb(names.denomination)
        if units != int(units):
            raise CommandError(
                f"{options['amount']} has more than {counted(names.denomination, 'decimal')}: write --decimals."
            )
        if units >= 2**64:
            raise CommandError(f"{units:f} smallest units do not fit into 64 bits.")
        holders.append((int(units), _owner(chain, options["to"])))
    return own.create_asset(names, holders, minters if options["mintable"] else ())


def _owner(chain: AvmChain, text: str | None) -> ShortID:
    if text is None:
        return address_of(EWOQ_KEY)
    try:
        parsed = parse_address(text)
    except AddressError as error:
        raise CommandError(f"{text} is not an address of the X-Chain: {error}.") from None
    if not chain.is_named(parsed.chain):
        raise CommandError(f"{text} is not an address of the X-Chain.")
    return parsed.short_id


def _call(method: str, **params: object) -> Any:
    """Call a method of the running node.

    Raises:
        CommandError: It does not run, or refuses.
    """
    node = settings.NODE
    request = urllib.request.Request(  # noqa: S310  # the node's own address
        f"{running_url(node)}/ext/bc/X",
        data=json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": f"avm.{method}", "params": params}
        ).encode(),
        headers={"Content-Type": "application/json", **node.rpc_headers},
    )
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310  # as above
            body = json.load(answer)
    except (OSError, ValueError) as error:
        raise CommandError(
            f"The node does not answer on {running_url(node)} ({error}): start it first."
        ) from error
    if "error" in body:
        raise CommandError(f"The node refuses the asset: {body['error']['message']}.")
    return body["result"]


def _await(tx_id: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while _call("getTxStatus", txID=tx_id)["status"] != "Accepted":
        if time.monotonic() > deadline:
            raise CommandError(f"{tx_id} is issued but not accepted yet: no block is being made.")
        time.sleep(0.1)
