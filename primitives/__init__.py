"""Values of the chains: pure Python over the standard library and crypto libraries."""
