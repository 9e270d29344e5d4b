"""What every chain does with blocks, whatever is in them: the VM port and the processing blocks.

Pure: no rows, no framework, no chain's own rules. A block is parsed or built, verified on its parent,
processing, and in the end accepted or rejected.
"""
