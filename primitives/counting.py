"""Numbers with nouns, in texts for people: pages, commands, logs and messages."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: 1 block, 2 blocks, 1,000 addresses.

    Args:
        count: The number of things.
        noun: The noun in the singular.
        plural: Its plural, if that is not the singular with an s.
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
