"""NODE_MNEMONIC_RANDOM and NODE_MNEMONIC_SEED: never beside NODE_MNEMONIC; the random one is kept."""

import stat
from pathlib import Path
from typing import Any

import pytest

from cchain_app.accounts.keyring import MNEMONIC, development_keyring
from nodeproject.settings.flags import BadSetting
from nodeproject.settings.given import with_mnemonic
from nodeproject.settings.node import NodeSettings
from tests.builders.node_settings import updated


@pytest.mark.parametrize("words", [12, 24])
def test_mnemonic_is_created_once_and_kept(words: int, tmp_path: Path) -> None:
    given = updated(NodeSettings(), data_dir=str(tmp_path / "data"), mnemonic_random=words)

    made = with_mnemonic(given).cchain.local.mnemonic
    assert len(made.split()) == words
    assert made != MNEMONIC
    assert len(development_keyring(made, 1, "m/44'/60'/0'/0/")) == 2
    assert with_mnemonic(given).cchain.local.mnemonic == made
    assert given.mnemonic_path.read_text() == f"{made}\n"
    assert stat.S_IMODE(given.mnemonic_path.stat().st_mode) == 0o600

    other = updated(given, data_dir=str(tmp_path / "other"))
    assert with_mnemonic(other).cchain.local.mnemonic != made


def test_without_it_nothing_is_written(tmp_path: Path) -> None:
    given = updated(NodeSettings(), data_dir=str(tmp_path / "data"))

    assert with_mnemonic(given) == given
    assert not given.mnemonic_path.exists()


def test_random_mnemonic_excludes_a_given_one(tmp_path: Path) -> None:
    secret = "legal winner thank year wave sausage worth useful legal winner thank yellow"
    given = updated(NodeSettings(), data_dir=str(tmp_path), mnemonic_random=12, mnemonic=secret)

    with pytest.raises(BadSetting) as refused:
        with_mnemonic(given)
    assert str(refused.value) == (
        "NODE_MNEMONIC and NODE_MNEMONIC_RANDOM are both set: remove one of them"
    )


@pytest.mark.parametrize(
    ("seed", "mnemonic"),
    [
        (0, "leisure need topic clown code attend earn lounge baby omit vault crunch"),
        (7, "same equip riot once hat lizard survey rose exist next tired document"),
        (2**64 - 1, "reunion eager public radio victory silver palm elite make sing accuse moon"),
    ],
)
def test_a_seed_has_the_mnemonic_of_anvil(seed: int, mnemonic: str, tmp_path: Path) -> None:
    """The words are those that Anvil 1.7.1 prints."""
    given = updated(NodeSettings(), data_dir=str(tmp_path / "data"), mnemonic_seed=seed)

    assert with_mnemonic(given).cchain.local.mnemonic == mnemonic
    assert not given.mnemonic_path.exists()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"mnemonic_random": 12}, "NODE_MNEMONIC_RANDOM and NODE_MNEMONIC_SEED are both set"),
        ({"mnemonic": "legal winner"}, "NODE_MNEMONIC and NODE_MNEMONIC_SEED are both set"),
    ],
)
def test_a_seed_excludes_other_mnemonics(other: dict[str, Any], words: str) -> None:
    with pytest.raises(BadSetting, match=words):
        with_mnemonic(updated(NodeSettings(), mnemonic_seed=1, **other))


def test_a_directory_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    given = updated(NodeSettings(), data_dir=str(tmp_path / "file"), mnemonic_random=12)

    with pytest.raises(
        BadSetting, match=r"the random mnemonic cannot be kept: .*/file/mnemonic: File exists"
    ):
        with_mnemonic(given)
