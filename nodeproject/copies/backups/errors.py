"""Reasons why a backup is not made or not restored, or a node not moved to another database.

BackupRefused
├── FileExists          a file of the name exists already
├── FileInUse           another process writes it
├── UnreadableBackup    the file cannot be read, is damaged, or is not a backup
├── LaterFormat         a later version of the program has written it
├── NoChainYet          the node has no chain
├── OtherTables         it contains another version's tables
├── NotUpgraded         the node to be moved has another version's tables
├── OtherNetwork        it is of another network
├── NotEmpty            the target database has rows already
├── OtherFile           one of its files exists with other content
├── NotTheSame          the restored data differ from the saved data
├── NotVerified         the restored data cannot be verified
├── NoSource            there is no SQLite database
└── NeedsPostgresql     the settings name no PostgreSQL database
"""

from pathlib import Path


class BackupRefused(Exception):
    """A backup is not made or not restored; the subclass is the reason."""


class FileExists(BackupRefused):
    """A file of the name exists already."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"there is a file {path} already: a backup does not overwrite files")
        self.path = path


class FileInUse(BackupRefused):
    """Another process writes a backup of the name."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"another process writes {path}")
        self.path = path


class UnreadableBackup(BackupRefused):
    """The file is not a backup, or is damaged."""

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(f"the file {path} cannot be read as a backup: {reason}")
        self.path = path


class LaterFormat(BackupRefused):
    """A later version of the program has written the file."""

    def __init__(self, path: Path, version: str) -> None:
        super().__init__(
            f"the backup {path} was written by version {version}, in a later format than this one reads"
        )
        self.path = path
        self.version = version


class NoChainYet(BackupRefused):
    """The node has no chain yet."""

    def __init__(self) -> None:
        super().__init__("this node has no chain yet: start it once")


class BackupTablesDiffer(BackupRefused):
    """The rows are from another version's tables."""

    def __init__(self, where: object, version: str, differing: str) -> None:
        super().__init__(
            f"the rows of {where} have the tables of version {version}, which differ from this one's by {differing}: "
            "run that version, and upgrade afterwards"
        )
        self.differing = differing


class NotUpgraded(BackupRefused):
    """The database of the node to be moved was created by another version."""

    def __init__(self, path: Path, migration: str) -> None:
        super().__init__(
            f"the tables in {path} are another version's, they differ by the migration {migration}: run init_node "
            "of this version in the embedded profile first"
        )
        self.migration = migration


class BackupOfOtherNetwork(BackupRefused):
    """The rows are from another network."""

    def __init__(self, where: object, saved: int, here: int) -> None:
        super().__init__(
            f"the node of {where} is on network {saved}, and NODE_NETWORK_ID is {here}"
        )
        self.saved = saved
        self.here = here


class NotEmpty(BackupRefused):
    """The tables to be written have rows already."""

    def __init__(self, table: str) -> None:
        super().__init__(
            f"the database here is not empty: its table {table} has rows. Name another NODE_DATA_DIR or "
            "NODE_DATABASE_URL"
        )
        self.table = table


class OtherFile(BackupRefused):
    """A file exists already, with other content."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"the file {path} is there already and is not the backup's: name another directory"
        )
        self.path = path


class NotTheSame(BackupRefused):
    """The written data differ from the data that were read."""

    def __init__(self, what: str, saved: object, here: object) -> None:
        super().__init__(f"{what} should be {saved}, and is {here}: nothing was restored")
        self.what = what
        self.saved = saved
        self.here = here


class NotVerified(BackupRefused):
    """The space to verify the written data is missing."""

    def __init__(self, reason: object) -> None:
        super().__init__(
            f"the state that was written cannot be verified, and nothing was kept: {reason}; make room there for a "
            "second state trie, and begin again"
        )


class NoSource(BackupRefused):
    """There is no SQLite database in the data directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"there is no {path}: NODE_DATA_DIR names the node that is to be moved")
        self.path = path


class NeedsPostgresql(BackupRefused):
    """The settings name no PostgreSQL database."""

    def __init__(self) -> None:
        super().__init__(
            "the rows go where NODE_DATABASE_URL says, and that is no PostgreSQL database: set it, and "
            "NODE_PROFILE=production"
        )
