"""Assembles the node: settings, paths, servers and workers. No other package imports it."""

from nodeproject.startup.dataclass_methods import install

install()  # before any class of the node exists
