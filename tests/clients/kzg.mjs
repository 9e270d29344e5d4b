// A blob of zeros, and the functions that viem and ethers need for it. Its commitment and its proofs are the point at
// infinity, so no KZG library is needed, whose trusted setup takes a minute to load in JavaScript.
const infinity = () => Uint8Array.from({ length: 48 }, (_, index) => (index ? 0 : 0xc0))

export const blob = `0x${'00'.repeat(131072)}`

/** `proofs`: 128 for a blob in the form of EIP-7594, joined. */
export const kzgOf = (proofs = 1) => ({
  blobToKzgCommitment: infinity,
  computeBlobKzgProof: () => Uint8Array.from(Array.from({ length: proofs }, () => [...infinity()]).flat()),
})
