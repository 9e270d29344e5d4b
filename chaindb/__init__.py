"""Chain values in Django: fields, bulk writes, transactions and locks. Independent of any chain."""
