"""What a network begins with. Pure (pchain.md 10.2, 10.3).

The file that people write is in `config`, the bytes that all nodes agree on are made in `building`, and
what they say is in `genesis`.
"""
