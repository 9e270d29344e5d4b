"""Why bytes are not shown as what they should be, or values not encoded. Pure."""


class Undecodable(Exception):
    """Bytes that are not the ABI encoding of such arguments, or too many of them."""


class Unencodable(Exception):
    """Values that are none of their types, or types that do not exist or are too long."""
