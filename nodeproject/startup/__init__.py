"""The start of a node: settings module, checks, identity, first rows and the banner."""
