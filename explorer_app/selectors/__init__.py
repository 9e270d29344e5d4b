"""Database queries of both chains for the explorer's pages: a bounded number of statements per page."""
