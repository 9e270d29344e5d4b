"""Genesis bytes of the first start, and those received from other nodes."""

from pathlib import Path
from typing import Any

import pytest

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.config import DAY, specification_config
from platform_app.genesis.building import Founder, build_genesis, own_network
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.genesis.genesis import parse_genesis
from platform_app.selectors import accepted, stakers
from platform_app.selectors.accepted import NoFirstValidator
from platform_app.services.errors import GenesisMismatch, GenesisMismatchReason
from platform_app.txs.staking import AddPermissionlessValidatorTx
from primitives.hashing import sha256
from primitives.ids import ID
from tests.builders import genesis, platform
from tests.builders.reasons import raises
from tests.integration.platform_app.services.conftest import Start

_ANY_SIGNER = platform.proof_of_possession()


def test_genesis_bytes_are_stored(start: Start) -> None:
    network = start()

    raw = accepted.genesis_bytes(platform_chain())
    assert raw is not None
    assert ID(sha256(raw)) == network.genesis_hash
    assert parse_genesis(raw).timestamp == platform.NOW


def test_genesis_bytes_without_chain_are_none(db: None) -> None:
    assert accepted.genesis_bytes(platform_chain()) is None
    with pytest.raises(NoFirstValidator):
        accepted.first_validator(platform_chain())


def test_the_first_validator_is_the_first_of_the_genesis(start: Start) -> None:
    start()
    assert accepted.first_validator(platform_chain()) == platform_chain().node_id


def test_the_first_validator_of_the_reference_is_the_first_in_the_bytes(start: Start) -> None:
    start(now=1_721_016_000, parameters="avalanchego")

    raw = accepted.genesis_bytes(platform_chain())
    assert raw is not None
    first = parse_genesis(raw).validators[0].unsigned
    assert isinstance(first, AddPermissionlessValidatorTx)
    assert accepted.first_validator(platform_chain()) == first.validator.node_id


def fetched(raw: bytes, tmp_path: Path) -> Path:
    """Store genesis bytes at the path for those received from other nodes."""
    path = tmp_path / "genesis" / "platform.bin"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(raw)
    return path


def elsewhere(network_id: int = 12345) -> bytes:
    """Return the genesis bytes of a foreign network."""
    founders = [Founder(node, _ANY_SIGNER) for node in genesis.NODE_IDS]
    config = own_network(
        specification_config(network_id), founders, start_time=platform.NOW, c_chain_genesis="{}"
    )
    return build_genesis(config)


def test_node_starts_with_fetched_genesis_bytes(start: Start, tmp_path: Path) -> None:
    raw = elsewhere()
    fetched(raw, tmp_path)

    network = start(now=platform.NOW + DAY)

    assert network.genesis_hash == ID(sha256(raw))
    assert accepted.genesis_bytes(platform_chain()) == raw
    assert platform_chain().tip().timestamp == platform.NOW
    assert accepted.first_validator(platform_chain()) == genesis.NODE_IDS[0]
    assert platform_chain().node_id not in stakers.current_validators(platform_chain()).by_node
    assert start(now=platform.NOW + 2 * DAY) == network


def test_bytes_of_another_network_are_refused(start: Start, tmp_path: Path) -> None:
    fetched(elsewhere(network_id=777), tmp_path)

    with raises(GenesisMismatchReason.FILE_OF_OTHER_NETWORK, kind=GenesisMismatch) as refused:
        start()

    assert (refused.value.values["in_file"], refused.value.values["wanted"]) == (777, 12345)
    assert not models.Chain.objects.exists()


def test_other_bytes_than_the_chain_began_with_are_refused(start: Start, tmp_path: Path) -> None:
    stored = start().genesis_hash
    fetched(elsewhere(), tmp_path)

    with raises(GenesisMismatchReason.OTHER_GENESIS, kind=GenesisMismatch) as refused:
        start()

    assert refused.value.values["stored"] == stored


def test_malformed_genesis_bytes_are_reported(start: Start, tmp_path: Path) -> None:
    path = fetched(elsewhere()[:-1], tmp_path)

    with raises(
        PlatformGenesisReason.UNREADABLE_FILE, kind=GenesisError, match=r"cannot be read: "
    ) as refused:
        start()

    assert refused.value.values["name"] == str(path)
    assert not models.Chain.objects.exists()


def test_configured_genesis_file_precedes_fetched_bytes(start: Start, tmp_path: Path) -> None:
    fetched(b"no genesis at all", tmp_path)

    network = start(document=genesis.document(), parameters="avalanchego")

    assert network.network_id == 12345


@pytest.mark.parametrize(
    "changes", [{}, {"network_id": 777}, {"parameters": "avalanchego"}], ids=str
)
def test_a_chain_that_began_before_bytes_were_kept_gets_them_at_its_next_start(
    start: Start, changes: dict[str, Any]
) -> None:
    start(now=1_721_016_000 + DAY, **changes)
    raw = accepted.genesis_bytes(platform_chain())
    models.Genesis.objects.all().delete()
    assert accepted.genesis_bytes(platform_chain()) is None

    start(now=1_721_016_000 + 30 * DAY)

    assert accepted.genesis_bytes(platform_chain()) == raw


def test_a_chain_of_a_file_gets_them_as_long_as_the_file_is_named(start: Start) -> None:
    start(document=genesis.document(), parameters="avalanchego")
    raw = accepted.genesis_bytes(platform_chain())
    models.Genesis.objects.all().delete()

    start()
    assert accepted.genesis_bytes(platform_chain()) is None

    start(document=genesis.document())
    assert accepted.genesis_bytes(platform_chain()) == raw


def test_a_node_with_other_keys_cannot_make_them_again(start: Start, tmp_path: Path) -> None:
    start()
    models.Genesis.objects.all().delete()
    for path in (tmp_path / "staking").iterdir():
        path.unlink()

    start()

    assert accepted.genesis_bytes(platform_chain()) is None
