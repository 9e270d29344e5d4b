"""The explorer's pages, which answer GET and HEAD, change nothing, and are the same for everybody."""
