"""Counts the coins of all chains, for the check of conservation."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from django.db import connections

from cchain_app.chain import EvmChain
from cchain_app.selectors import coins_held as cchain
from cchain_app.selectors.coins_held import EvmCoins
from chaindb.chains import is_left_out, title
from health_app.conservation import COIN, CoinCount, Uncounted
from health_app.result import Finding
from platform_app.chain import NoPlatformGenesis, PlatformChain
from platform_app.selectors import coins_held as platform
from shared_app.selectors import early_imports, waiting_amount
from xchain_app.chain import AvmChain
from xchain_app.selectors import coins_held as xchain
from xchain_app.store.state import NoXChain


class CountedChains(NamedTuple):
    """The chains between which coins move."""

    platform: PlatformChain
    evm: EvmChain
    """The C-Chain."""
    avm: AvmChain


def count_coins(chains: CountedChains) -> CoinCount | str:
    """Count all coins in one state of the database, or return why they cannot be counted.

    It reads whole tables, which may take minutes on a long history; no other work waits for it.
    """
    for chain in (chains.evm, chains.avm):
        if is_left_out(chain.name):
            return Uncounted.CHAIN_MISSING.format(chain=title(chain.name))
    try:
        with chains.platform.db.consistent_read():
            return _count(chains)
    except (NoPlatformGenesis, NoXChain):
        return str(Uncounted.NO_GENESIS)


def _count(chains: CountedChains) -> CoinCount | str:
    network = chains.platform.network()
    if early_imports(chains.platform.db):
        return str(Uncounted.EARLY_IMPORTS)
    on_p, on_c = platform.coins_held(chains.platform), cchain.coins_held(chains.evm)
    if on_p is None:
        return str(Uncounted.NO_GENESIS)
    if not isinstance(on_c, EvmCoins):
        return str(on_c)
    on_x, unit = xchain.coins_held(chains.avm), COIN // network.unit
    return CoinCount(
        sources={
            "genesis of the P-Chain": on_p.genesis * unit,
            "genesis of the X-Chain": on_x.genesis * unit,
            "genesis of the C-Chain": on_c.genesis,
            "rewards of stakers": on_p.rewards * unit,
            "development methods": on_c.given,
        },
        places={
            "outputs of the P-Chain": on_p.outputs * unit,
            "stake": on_p.stake * unit,
            "outputs of the X-Chain": on_x.outputs * unit,
            "balances of the C-Chain": on_c.balances,
            "between the chains": waiting_amount(chains.platform.db, network.asset_id) * unit,
            "burned on the P-Chain": (on_p.burned - on_p.refunds) * unit,
            "burned on the X-Chain": on_x.burned * unit,
            "burned on the C-Chain": on_c.burned + on_c.atomic_burned * unit,
        },
        may_destroy=on_c.may_destroy,
    )


_UNCOUNTED: Final = Finding({"counted": False})


class SupplyWatch:
    """Counts the coins from time to time in a thread of its own, since a count may take longer than a check may.

    Args:
        count: Counts the coins.
        seconds: Seconds between the starts of two counts.
    """

    def __init__(self, count: Callable[[], CoinCount | str], seconds: float) -> None:
        self._count = count
        self._seconds = seconds
        self._began = -seconds
        self._thread: threading.Thread | None = None
        self._finding = _UNCOUNTED

    def measure(self) -> Finding:
        """Return the result of the last count, and begin the next one if it is due."""
        finding, now = self._finding, time.monotonic()
        running = self._thread is not None and self._thread.is_alive()
        if not running and now - self._began >= self._seconds:
            self._began = now
            self._thread = threading.Thread(target=self._run, name="supply", daemon=True)
            self._thread.start()
        return finding

    def wait(self) -> None:
        """Wait for the count that is running."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._finding = finding_of(self._count())
        except Exception as error:  # the thread has no caller: the check reports it
            self._finding = Finding(
                {"counted": False}, f"coins cannot be counted reason: {type(error).__name__}"
            )
        finally:
            with suppress(Exception):
                connections.close_all()


def finding_of(counted: CoinCount | str) -> Finding:
    """Return the result of a count as that of a check; coins that cannot be counted are no fault."""
    if isinstance(counted, str):
        return Finding({"counted": False, "because": counted})
    fault, note = counted.verdict()
    message = {"counted": True, "differenceInWei": str(counted.difference)}
    if note:
        message["note"] = note
    error = f"coins are not conserved reason: there are {fault}" if fault else ""
    return Finding(message, error)
