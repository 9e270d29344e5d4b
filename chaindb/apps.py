"""The Django app of what both chains keep: the node's clock, and how often the rows went back."""

from django.apps import AppConfig


class ChaindbConfig(AppConfig):
    """Registers their rows."""

    name = "chaindb"
    verbose_name = "Node"
