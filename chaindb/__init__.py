"""How chain values live in Django: fields, bulk writes, transactions and locks. Knows no chain."""
