"""The chain's rules in the words of a genesis file's `config`: eth_getChainConfig."""

from typing import Any, Final

from cchain_app import runtime

_BLOCK_KEYS: Final = (
    ("homestead", ("homesteadBlock",)),
    ("tangerine_whistle", ("eip150Block",)),
    ("spurious_dragon", ("eip155Block", "eip158Block")),
    ("byzantium", ("byzantiumBlock",)),
    ("constantinople", ("constantinopleBlock", "petersburgBlock")),
    ("istanbul", ("istanbulBlock",)),
    ("berlin", ("berlinBlock",)),
    ("london", ("londonBlock",)),
)


def chain_config() -> dict[str, Any]:
    """eth_getChainConfig and eth_chainConfig: chain ID, schedule of forks, blob parameters.

    Unspecified: coreth answers with its genesis file's `config`; this is what was understood of
    it, so keys that mean nothing to this node are not in it.
    """
    config = runtime.config()
    schedule = config.schedule
    answer: dict[str, Any] = {"chainId": config.chain_id}
    for fork, keys in _BLOCK_KEYS:
        if fork in schedule.blocks:
            answer.update(dict.fromkeys(keys, schedule.blocks[fork]))
    if schedule.paris_block is not None:
        answer["mergeNetsplitBlock"] = schedule.paris_block
    if schedule.terminal_difficulty is not None:
        answer["terminalTotalDifficulty"] = schedule.terminal_difficulty
    answer.update({f"{fork}Time": first for fork, first in schedule.times.items()})
    if config.blobs:
        answer["blobSchedule"] = {
            fork: {
                "target": blobs.target,
                "max": blobs.maximum,
                "baseFeeUpdateFraction": blobs.update_fraction,
            }
            for fork, blobs in config.blobs.items()
        }
    return answer
