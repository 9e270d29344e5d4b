"""The explorer's pages. They answer GET and HEAD, change nothing, and are the same for all visitors."""
