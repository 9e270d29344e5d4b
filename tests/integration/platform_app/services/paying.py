"""Users of the keystore with coins, and the params of their requests."""

from typing import Any

from platform_app.apps import platform_chain
from platform_app.config import DAY
from platform_app.selectors import accepted as rows
from platform_app.services.wallet import IssueResult, Payer
from platform_app.txs.base import Tx, TxStatus
from platform_app.txs.codec import parse
from primitives.keys import EWOQ_KEY, address_of
from tests.builders import platform
from tests.builders.keystore import NAME, PASSWORD, some_user
from tests.integration.platform_app.conftest import PChain

EWOQ = address_of(EWOQ_KEY)
KEY, ADDRESS = platform.KEY, platform.ADDRESS
OTHER_KEY, OTHER = platform.KEYS[1], platform.ADDRESSES[1]
FEES = platform.CONFIG.fees
STAKE = platform.CONFIG.min_validator_stake
PAYER = Payer(NAME, PASSWORD)


def accepted(pchain: PChain, issued: IssueResult) -> Tx:
    """Build the block with a transaction, and return it."""
    pchain.wait(1)
    found = rows.tx(platform_chain(), issued.tx_id)
    assert found is not None
    assert found.status is TxStatus.COMMITTED
    return parse(found.raw)


def period(pchain: PChain, **changes: Any) -> dict[str, Any]:
    """Return a staking period of ten weeks that starts in a minute."""
    fields = {"start": pchain.now + 60, "end": pchain.now + 70 * DAY, "now": pchain.now}
    return {**fields, **changes}


def validator(pchain: PChain, **changes: Any) -> dict[str, Any]:
    fields = {
        "stake": STAKE,
        "reward_address": ADDRESS,
        "delegation_fee_rate": 2.0,
        "node_id": platform.NODE_ID,
    }
    return {**fields, **period(pchain), **changes}


def delegator(pchain: PChain, **changes: Any) -> dict[str, Any]:
    fields = {"stake": platform.CONFIG.min_delegator_stake, "reward_address": ADDRESS}
    return {**fields, **period(pchain), **changes}


def funded(pchain: PChain, *amounts: int, key: bytes = KEY) -> Payer:
    """Return a user with one key that owns these amounts."""
    pchain.do(
        pchain.make(
            platform.BaseTx, *(pchain.output(amount, address_of(key)) for amount in amounts)
        )
    )
    return Payer(some_user(key, name="poor"), PASSWORD)
