"""Errors for bytes that cannot be decoded and values that cannot be encoded. Pure."""


class Undecodable(Exception):
    """Bytes that do not encode the expected arguments, or that are too many."""


class MalformedDeclaration(Exception):
    """A text that is not a declaration."""


class Unencodable(Exception):
    """Values that do not match their types, or types that do not exist or are too long."""
