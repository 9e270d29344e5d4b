"""A wallet in one call, and strategies for its coins and keys."""

from typing import Any

from hypothesis import strategies as st

from platform_app.config import DAY, UNIT
from platform_app.wallet.wallet import PlatformWallet
from primitives.ids import ShortID
from tests.builders import platform
from utxo.coins import Keychain
from utxo.components import UTXO

CHANGE = platform.ADDRESSES[4]
"""Owned by none of the paying keys, so that change differs from the outputs of other owners."""


def wallet(
    *utxos: UTXO, keys: tuple[bytes, ...] = (platform.KEY,), **changes: Any
) -> PlatformWallet:
    """Return a wallet with these coins and keys, `KEY` by default."""
    fields: dict[str, Any] = {
        "config": platform.CONFIG,
        "asset_id": platform.ASSET_ID,
        "keychain": Keychain.of(keys),
        "utxos": utxos,
        "change_address": CHANGE,
        "now": platform.NOW,
    }
    return PlatformWallet(**{**fields, **changes})


def coins() -> st.SearchStrategy[tuple[UTXO, ...]]:
    """Return one to eight outputs: locked in every way, of one to three owners, of two assets."""
    return st.lists(_output_fields(), min_size=1, max_size=8).map(
        lambda made: tuple(
            platform.utxo(amount, *owners, number=number, **fields)
            for number, (amount, owners, fields) in enumerate(made)
        )
    )


def keychains() -> st.SearchStrategy[tuple[bytes, ...]]:
    """Return one to three of the keys that own coins."""
    return st.lists(st.sampled_from(platform.KEYS[:3]), min_size=1, unique=True).map(tuple)


def _output_fields() -> st.SearchStrategy[tuple[int, Any, dict[str, Any]]]:
    around_now = st.integers(platform.NOW - 1, platform.NOW + 1)
    return _owners().flatmap(
        lambda owners: st.tuples(
            st.sampled_from([1, UNIT, 500 * UNIT, 4_000 * UNIT, 4_000 * UNIT]).flatmap(_up_to),
            st.just(owners),
            st.fixed_dictionaries(
                {
                    "threshold": st.integers(1, len(owners)),
                    "locktime": _mostly(st.just(0), around_now),
                    "stakeable_until": _mostly(
                        st.none(), st.one_of(around_now, st.just(platform.NOW + 400 * DAY))
                    ),
                    "asset_id": _mostly(
                        st.just(platform.ASSET_ID), st.just(platform.OTHER_ASSET_ID)
                    ),
                }
            ),
        )
    )


def _owners() -> st.SearchStrategy[list[ShortID]]:
    several = st.lists(st.sampled_from(platform.ADDRESSES[:4]), min_size=1, max_size=3, unique=True)
    return st.one_of(st.sampled_from(platform.ADDRESSES[:2]).map(lambda one: [one]), several)


def _up_to(most: int) -> st.SearchStrategy[int]:
    return st.integers((most + 1) // 2, most)


def _mostly(usual: st.SearchStrategy[Any], other: st.SearchStrategy[Any]) -> Any:
    return st.integers(0, 4).flatmap(lambda number: usual if number else other)
