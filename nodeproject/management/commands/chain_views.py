"""`chain_views`: print SQL that shows all EVM chains of a node in one SQLite session."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from typing_extensions import override

from chaindb.database import Database
from nodeproject.startup.chain_views import attached_views
from nodeproject.startup.database import explained
from nodeproject.startup.profile import CHECKS


class Command(BaseCommand):
    """Prints the statements; the node may run meanwhile."""

    requires_system_checks = CHECKS
    help = "Print SQL that attaches the databases of subnets' chains and makes the views evm_blocks, evm_transactions, …"

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "chains",
            nargs="*",
            help="names or blockchain IDs of chains; by default all (SQLite attaches ten databases)",
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        db = Database()
        try:
            if db.connection.vendor != "sqlite":
                raise CommandError("PostgreSQL has these views: SELECT * FROM evm_blocks.")
            statements = attached_views(db, settings.NODE, options["chains"])
        except DatabaseError as error:
            raise CommandError(explained(error)) from error
        self.stdout.write("\n".join(statements))
