"""The Django app of what both chains keep: the node's clock."""

from django.apps import AppConfig


class ChaindbConfig(AppConfig):
    """Registers the clock's row."""

    name = "chaindb"
    verbose_name = "Node"
