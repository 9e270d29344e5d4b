// A wallet based on avalanchejs for `platform.mjs`: the code shared by versions 4 and 5. They build
// transactions differently, so the module of each version has its own builders.

/** Returns the `connect` of a version; `builders` build unsigned transactions, under platform.mjs' names. */
export function connecting(library, builders) {
  return async (given) => {
    const wallet = new Wallet(library, given)
    const context = await wallet.context(given.fees)
    for (const [kind, build] of Object.entries(builders)) {
      wallet[kind] = (funds, terms) =>
        wallet.sign(build({ ...funds, ...wallet.native(terms) }, context), terms.owners)
    }
    return wallet
  }
}

/** Returns the scenario in which the library queries the node for all parameters of a network. */
export function asking(library) {
  return async ({ url, fees }) => {
    const found = await library.Context.getContextFromURI(url)
    const wallet = new Wallet(library, { url, networkID: found.networkID, keys: [] })
    return { found, expected: await wallet.context(fees) }
  }
}

class Wallet {
  constructor(library, { url, networkID, keys }) {
    this.library = library
    this.networkID = networkID
    this.hrp = library.networkIDs.getHRP(networkID)
    this.api = new library.pvm.PVMApi(url)
    this.assets = new library.avm.AVMApi(url)
    this.keys = keys.map(library.utils.hexToBuffer)
    this.addresses = this.keys.map((key) => library.utils.format('P', this.hrp, this.owner(key)))
    this.address = this.addresses[0]
  }

  /** Returns what the library's own function gets from three APIs, using the two that the node has. */
  async context(fees) {
    const { assetID } = await this.assets.getAssetDescription('AVAX')
    const asked = await this.assets.getTxFee?.() // in version 5 only, like the requests for dynamic fees
    const idOf = Object.fromEntries((await this.blockchains()).map(({ name, id }) => [name, id]))
    return {
      networkID: this.networkID,
      hrp: this.hrp,
      xBlockchainID: idOf['X-Chain'],
      pBlockchainID: this.library.networkIDs.PlatformChainID.toString(),
      cBlockchainID: idOf['C-Chain'],
      avaxAssetID: assetID,
      ...Object.fromEntries(Object.entries(fees).map(([name, fee]) => [name, BigInt(fee)])),
      ...(asked && { baseTxFee: asked.txFee, createAssetTxFee: asked.createAssetTxFee }),
      platformFeeConfig: await this.api.getFeeConfig?.(),
    }
  }

  /** Fetches all data that is needed before a transaction is built. */
  async funds() {
    const { utxos } = await this.api.getUTXOs({ addresses: this.addresses })
    const from = this.keys.map((key) => this.owner(key))
    return { utxos, from, feeState: await this.api.getFeeState?.() }
  }

  /** Converts the terms to the library's types: bytes for addresses and keys, big integers for numbers. */
  native({ to, rewards, publicKey, proof, owners = [], heirs = [], ...terms }) {
    const { bech32ToBytes, hexToBuffer } = this.library.utils
    const big = ['amount', 'weight', 'start', 'end'].filter((name) => name in terms)
    const owner = (key) => this.owner(hexToBuffer(key))
    return {
      ...terms,
      ...Object.fromEntries(big.map((name) => [name, BigInt(terms[name])])),
      to: to?.map(bech32ToBytes),
      rewards: rewards?.map(bech32ToBytes),
      publicKey: publicKey && hexToBuffer(publicKey),
      proof: proof && hexToBuffer(proof),
      owners: owners.map(owner),
      heirs: heirs.map(owner),
      authority: owners.map((_, place) => place),
      primary: this.library.networkIDs.PrimaryNetworkID.toString(),
    }
  }

  /** Signs for the inputs, and with the owners' keys for a subnet, whose credential is the last one. */
  async sign(unsigned, owners = []) {
    const { addTxSignatures, secp256k1, utils } = this.library
    await addTxSignatures({ unsignedTx: unsigned, privateKeys: this.keys })
    if (unsigned.getTx().subnetAuth) {
      const last = unsigned.getCredentials().length - 1
      for (const [place, key] of owners.entries()) {
        const signature = await secp256k1.sign(unsigned.toBytes(), utils.hexToBuffer(key))
        unsigned.addSignatureAt(signature, last, place)
      }
    }
    if (!unsigned.hasAllSignatures()) throw new Error('signatures are missing')
    return unsigned.getSignedTx()
  }

  owner(key) {
    const { secp256k1 } = this.library
    return secp256k1.publicKeyBytesToAddress(secp256k1.getPublicKey(key))
  }

  bytes(signed) {
    return this.library.utils.bufferToHex(signed.toBytes())
  }

  async issue(signed) {
    return (await this.api.issueSignedTx(signed)).txID
  }

  async tx(txID) {
    return this.bytes(await this.api.getTx({ txID }))
  }

  status(txID) {
    return this.api.getTxStatus({ txID })
  }

  async balance(address) {
    return (await this.api.getBalance({ addresses: [address] })).balance
  }

  async outputs(address) {
    const { utxos } = await this.api.getUTXOs({ addresses: [address] })
    return utxos.map(({ utxoId: { txID }, output }) => ({ txID: `${txID}`, amount: output.amount() }))
  }

  async page(address, startIndex) {
    const { utxos, endIndex } = await this.api.getUTXOs({ addresses: [address], startIndex })
    return { ids: utxos.map((utxo) => utxo.ID()), endIndex }
  }

  async stake(address) {
    const { staked, stakedOutputs } = await this.api.getStake({ addresses: [address] })
    return { staked, outputs: stakedOutputs.map((output) => output.amount()) }
  }

  async rewards(txID) {
    const { utxos } = await this.api.getRewardUTXOs({ txID })
    return utxos.map(({ output }) => output.amount())
  }

  async currentValidators(subnetID, nodeIDs) {
    return (await this.api.getCurrentValidators({ subnetID, nodeIDs })).validators
  }

  pendingValidators(subnetID, nodeIDs) {
    return this.api.getPendingValidators({ subnetID, nodeIDs })
  }

  async subnets(ids) {
    return (await this.api.getSubnets({ ids })).subnets
  }

  async blockchains() {
    return (await this.api.getBlockchains()).blockchains
  }

  async blockchainStatus(id) {
    return (await this.api.getBlockchainStatus(id)).status
  }

  async validatedBy(blockchainID) {
    return (await this.api.validatedBy({ blockchainID })).subnetID
  }

  async validates(subnetID) {
    return (await this.api.validates({ subnetID })).blockchainIDs
  }
}
