"""The Django app of the data that all chains share: the node's clock and the rewind counter."""

from django.apps import AppConfig


class ChaindbConfig(AppConfig):
    """Registers the models of this package."""

    name = "chaindb"
    verbose_name = "Node"
