"""`make_genesis`: genesis files from which every node of a new network starts the same chains."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from cchain_app.apps import evm_chain
from chaindb import clock
from nodeproject.apps import this_node
from nodeproject.startup import identity
from nodeproject.startup.identity import make_files
from platform_app.apps import platform_chain
from platform_app.selectors import accepted, stakers
from platform_app.services.genesis import load_genesis
from primitives.hashing import sha256
from primitives.ids import ID
from primitives.node_identity import IdentityFiles
from tests.builders.node_settings import updated

pytestmark = pytest.mark.sqlite_only

START = 1_700_000_000


@pytest.fixture
def nodes(tmp_path: Path) -> list[IdentityFiles]:
    """The identities of three nodes."""
    made = [IdentityFiles.below(tmp_path / name) for name in ("one", "two", "three")]
    for files in made:
        make_files(files.certificate.parent, files, START)
    return made


def make(directory: Path, nodes: list[IdentityFiles], *more: str) -> str:
    out = StringIO()
    named = [f"--validator={node.certificate}:{node.signer}" for node in nodes]
    call_command("make_genesis", *named, *more, str(directory), stdout=out)
    return out.getvalue()


@pytest.mark.usefixtures("db")
def test_nodes_with_the_files_start_the_same_network(
    node_settings: Any,
    settings: Any,
    tmp_path: Path,
    nodes: list[IdentityFiles],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "now", lambda: START + 500)
    directory = tmp_path / "network"

    said = make(directory, nodes, f"--start={START}")

    files = directory / "platform.json", directory / "cchain.json"
    assert said == (
        "Give these to every node of the network:\n"
        f"  NODE_PLATFORM_GENESIS={files[0]}\n  NODE_GENESIS={files[1]}\n"
    )
    settings.NODE = updated(
        node_settings,
        data_dir=str(tmp_path / "two"),
        platform_genesis=str(files[0]),
        genesis=str(files[1]),
    )
    identity.make_identity(this_node().settings, START)
    network = load_genesis(platform_chain(), platform_chain().proof_of_possession, "not asked for")

    validators = stakers.current_validators(platform_chain()).validators
    assert {validator.public_key for validator in validators} == {
        node.signer_key.public_key for node in nodes
    }
    named = accepted.first_validator(platform_chain())
    assert nodes[0].signer_key.public_key == (
        stakers.current_validators(platform_chain()).by_node[named].public_key
    )
    raw = accepted.genesis_bytes(platform_chain())
    assert raw is not None
    assert ID(sha256(raw)) == network.genesis_hash
    assert platform_chain().tip().timestamp == START
    assert evm_chain().genesis.timestamp == START
    c_chain = accepted.tx(platform_chain(), network.c_chain_id)
    assert c_chain is not None
    assert files[1].read_bytes() in c_chain.raw


@pytest.mark.usefixtures("db", "node_settings")
def test_the_same_node_twice_is_refused(tmp_path: Path, nodes: list[IdentityFiles]) -> None:
    with pytest.raises(CommandError, match=r"^NodeID-\w+ is named twice$"):
        make(tmp_path / "network", [nodes[0], nodes[0]])

    assert not (tmp_path / "network").exists()


@pytest.mark.usefixtures("node_settings")
def test_an_invalid_validator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"'staker\.crt' is not CERT:SIGNER"):
        call_command("make_genesis", "--validator=staker.crt", str(tmp_path))


@pytest.mark.usefixtures("db")
def test_symlinks_of_another_user_are_not_followed(
    tmp_path: Path, nodes: list[IdentityFiles]
) -> None:
    victim, shared = tmp_path / "victim", tmp_path / "shared"
    victim.write_text("precious")
    shared.mkdir()
    for name in ("platform.json", "cchain.json"):
        (shared / name).symlink_to(victim)

    make(shared, nodes)

    assert victim.read_text() == "precious"
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in shared.iterdir())
    with pytest.raises(CommandError, match=r"victim: File exists"):
        make(victim, nodes)
