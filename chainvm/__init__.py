"""Block handling that all chains share: the VM interface and the tree of processing blocks.

Pure code: no database rows, no framework and no rules of a particular chain. A block is parsed or built,
verified on its parent, processing, and finally accepted or rejected.
"""
