"""`init_node`: the initialisation of the first start, without starting (for the production profile)."""

from typing import Any

from django.core.management.base import BaseCommand
from typing_extensions import override

from nodeproject.apps import this_node
from nodeproject.management.initialise import initialise_or_explain
from nodeproject.startup.profile import CHECKS


class Command(BaseCommand):
    """Creates missing tables, genesis and admin user."""

    requires_system_checks = CHECKS
    help = "Create the tables, the genesis and the admin user if they are missing."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        initialise_or_explain(this_node())
        self.stdout.write("The node's data is ready.")
