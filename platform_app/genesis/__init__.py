"""The genesis of a network. Pure (pchain.md 10.2, 10.3).

`config` is the file that people write, `building` creates the bytes that all nodes agree on, and
`genesis` is the content of these bytes.
"""
