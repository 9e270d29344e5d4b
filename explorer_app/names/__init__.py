"""Names for what contracts are asked, emit and answer: by their ABI, else by lists of common ones. Pure."""
