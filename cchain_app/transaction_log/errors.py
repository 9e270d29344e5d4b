"""Why bytes are not shown as what they should be. Pure."""


class Undecodable(Exception):
    """Bytes that are not the ABI encoding of such arguments, or too many of them."""
