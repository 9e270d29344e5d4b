"""The settings of this process: the only module that reads the node's environment.

Importing this module fixes the settings: the start command's flags must be in the environment by then (`cli`).
"""

from nodeproject.settings.flags import BadSetting, read, with_values
from nodeproject.settings.node import NodeSettings
from nodeproject.settings.seeded_mnemonic import seeded_mnemonic
from primitives.whole_files import write_whole


def with_platform(given: NodeSettings) -> NodeSettings:
    """Verify that the settings include the P-Chain, in which every node takes part, and return them.

    Raises:
        BadSetting: NODE_CHAINS does not include the P-Chain.
    """
    if "P" not in given.common.chains:
        raise BadSetting(
            f"NODE_CHAINS is {','.join(given.common.chains)!r}; every node takes part in the P-Chain: it "
            "must be P, P,X, P,C or P,X,C"
        )
    return given


def with_mnemonic(given: NodeSettings) -> NodeSettings:
    """Return the settings with the mnemonic that NODE_MNEMONIC_RANDOM or NODE_MNEMONIC_SEED asks for.

    A random one is kept in the data directory, because its accounts are funded in the first block; a file that exists
    is used whatever the number of its words.

    Raises:
        BadSetting: NODE_MNEMONIC or both of these settings are given too, or the file cannot be used.
    """
    local = given.cchain.local
    named = {
        "NODE_MNEMONIC": local.mnemonic != NodeSettings().cchain.local.mnemonic,
        "NODE_MNEMONIC_RANDOM": local.mnemonic_random > 0,
        "NODE_MNEMONIC_SEED": local.mnemonic_seed >= 0,
    }
    first, *others = [name for name, is_given in named.items() if is_given] or [""]
    if others:
        raise BadSetting(f"{first} and {others[0]} are both set: remove one of them")
    if local.mnemonic_seed >= 0:
        return with_values(given, {"mnemonic": seeded_mnemonic(local.mnemonic_seed)})
    if not local.mnemonic_random:
        return given
    path = given.mnemonic_path
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(path, f"{_random_mnemonic(local.mnemonic_random)}\n".encode())
        return with_values(given, {"mnemonic": path.read_text().strip()})
    except OSError as error:
        raise BadSetting(f"the random mnemonic cannot be kept: {path}: {error.strerror}") from error


def _random_mnemonic(words: int) -> str:
    # Slow to import, and seldom needed.
    from eth_account.hdaccount import generate_mnemonic
    from eth_account.types import Language

    return generate_mnemonic(words, Language.ENGLISH)


GIVEN = with_mnemonic(with_platform(read(NodeSettings)))
"""The settings of the environment."""
NODE = with_values(
    GIVEN,
    {
        "bootstrap": tuple(
            text for text in GIVEN.common.bootstrap if text not in GIVEN.own_bootstrap
        )
    },
)
"""The settings in use. A node does not follow itself, so its own addresses are removed from `bootstrap`."""
