"""The rules of a chain's blocks: their bytes, fees, header and extension, behind one object (`port.ChainRules`).

Pure. Only this package and `blocks` import the class of a header; other modules use the header of a block.
"""
