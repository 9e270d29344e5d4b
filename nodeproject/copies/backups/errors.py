"""Reasons why a backup is not made or not restored, or a node not moved to another database."""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class BackupReason(StrEnum):
    """Why a backup is refused."""

    FILE_EXISTS = "there is a file {path} already: a backup does not overwrite files"
    FILE_IN_USE = "another process writes {path}"
    UNREADABLE = "the file {path} cannot be read as a backup: {cause}"
    LATER_FORMAT = (
        "the backup {path} was written by version {version}, in a later format than this one reads"
    )
    NO_CHAIN = "this node has no chain yet: start it once"
    OTHER_TABLES = (
        "the rows of {where} have the tables of version {version}, which differ from this one's by {differing}: "
        "run that version, and upgrade afterwards"
    )
    NOT_UPGRADED = (
        "the tables in {path} are another version's, they differ by the migration {migration}: run init_node "
        "of this version in the embedded profile first"
    )
    OTHER_NETWORK = "the node of {where} is on network {saved}, and NODE_NETWORK_ID is {here}"
    NOT_EMPTY = (
        "the database here is not empty: its table {table} has rows. Name another NODE_DATA_DIR or "
        "NODE_DATABASE_URL"
    )
    OTHER_FILE = "the file {path} is there already and is not the backup's: name another directory"
    NOT_THE_SAME = "{what} should be {saved}, and is {here}: nothing was restored"
    NOT_VERIFIED = (
        "the state that was written cannot be verified, and nothing was kept: {cause}; make room there for a "
        "second state trie, and begin again"
    )
    NO_SOURCE = "there is no {path}: NODE_DATA_DIR names the node that is to be moved"
    NEEDS_POSTGRESQL = (
        "the rows go where NODE_DATABASE_URL says, and that is no PostgreSQL database: set it, and "
        "NODE_PROFILE=production"
    )


class BackupRefused(ErrorWithReason):
    """A backup is not made or not restored, or a node is not moved."""
