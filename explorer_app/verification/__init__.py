"""Whether a source is a contract's: submissions, compilers' input and output, comparing bytecode. Pure.

Compiling is none of it (`services.compiling`), nor are rows. Rules: explorer.md 5, 6, 7 and 10.
"""
