"""How chain values live in Django: fields, bulk writes, locks and read-only admin. Knows no chain."""
