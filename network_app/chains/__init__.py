"""The chains as the network needs them: `ports.Chain` made of the chains' services and of outer blocks.

`inner` says what is asked of a chain, `platform` and `cchain` answer it. `wrapping` puts outer blocks
around what was made here, `verifying` and `accepting` take in what others made, `stored` is how both
are kept, and `wrapped` is what the network sees.
"""
