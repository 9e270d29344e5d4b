// The package avalanche 3.16 on the X-Chain: coins, an asset that is minted, collectibles, and coins that move over
// all three chains.
import { Avalanche, BN, BinTools, Buffer, avm, common, utils } from 'avalanche'
import { computeAddress } from 'ethers'
import { ask } from './crossing.mjs'

const bintools = BinTools.getInstance()
const { AVMConstants } = avm
const number = (value) => new BN(`${value}`)
const P_CHAIN = '11111111111111111111111111111111LpoYY'

/** The APIs of the three chains with the keys. The library's table of networks gets the IDs of this one. */
class Chains {
  static async of(given) {
    const { hostname, port, protocol } = new URL(given.url)
    const open = () => new Avalanche(hostname, Number(port), protocol.slice(0, -1), given.networkID)
    const info = open().Info()
    const ids = { X: await info.getBlockchainID('X'), C: await info.getBlockchainID('C') }
    const table = utils.Defaults.network[given.networkID]
    table.X.avaxAssetID = bintools.cb58Encode(await open().XChain().getAVAXAssetID())
    for (const [alias, id] of Object.entries(ids)) {
      table[alias].blockchainID = id
      table[id] = table[alias]
    }
    return new Chains(given, open(), ids, table.X.avaxAssetID)
  }

  constructor({ url, keys }, avalanche, ids, asset) {
    Object.assign(this, { url, ids, asset })
    this.x = avalanche.XChain()
    this.p = avalanche.PChain()
    this.c = avalanche.CChain()
    const key = `PrivateKey-${bintools.cb58Encode(Buffer.from(keys[0].slice(2), 'hex'))}`
    this.bytes = this.x.keyChain().importKey(key).getAddress()
    this.p.keyChain().importKey(key)
    this.c.keyChain().importKey(key)
    this.hex = computeAddress(keys[0])
    const textOf = (api) => api.keyChain().getAddressStrings()
    Object.assign(this, { onX: textOf(this.x), onP: textOf(this.p), onC: textOf(this.c) })
  }

  /** The arguments that most builders have first: coins, from whom, and who gets the change. */
  async fromX() {
    return [(await this.x.getUTXOs(this.onX)).utxos, this.onX, this.onX]
  }

  async issueOnX(built) {
    const txID = await this.x.issueTx(built.sign(this.x.keyChain()))
    await decided(() => this.x.getTxStatus(txID), 'Accepted')
    return txID
  }

  async issueOnP(built) {
    const txID = await this.p.issueTx(built.sign(this.p.keyChain()))
    await decided(async () => (await this.p.getTxStatus(txID)).status, 'Committed')
  }

  async issueOnC(built) {
    const txID = await this.c.issueTx(built.sign(this.c.keyChain()))
    await decided(() => this.c.getAtomicTxStatus(txID), 'Accepted')
  }

  async balanceOnX(assetID = 'AVAX', address = this.onX[0]) {
    return (await this.x.getBalance(address, assetID)).balance.toString()
  }

  async balanceOnC() {
    return BigInt(await ask(this.url, 'eth_getBalance', [this.hex, 'latest']))
  }

  /** Brings coins from the P-Chain. */
  async arrive(amount) {
    const { utxos } = await this.p.getUTXOs(this.onP)
    await this.issueOnP(await this.p.buildExportTx(
      utxos, number(amount), this.ids.X, this.onX, this.onP, this.onP,
    ))
    await this.importOnX(P_CHAIN)
  }

  async importOnX(sourceChain) {
    const [utxos, from, change] = await this.fromX()
    await this.issueOnX(await this.x.buildImportTx(utxos, this.onX, sourceChain, this.onX, from, change))
  }

  async exportFromX(amount, destination, to) {
    const [utxos, from, change] = await this.fromX()
    await this.issueOnX(
      await this.x.buildExportTx(utxos, number(amount), destination, to, from, change),
    )
  }

  /** Returns the output of an asset that has a type. */
  async right(assetID, type) {
    const [utxos] = await this.fromX()
    const found = utxos.getAllUTXOs().find((utxo) =>
      utxo.getOutput().getOutputID() === type && bintools.cb58Encode(utxo.getAssetID()) === assetID)
    return { id: found.getUTXOID(), output: found.getOutput() }
  }
}

/** Waits until a transaction has a status. */
async function decided(status, wanted) {
  const deadline = Date.now() + 60_000
  let last
  while (Date.now() < deadline) {
    last = await status()
    if (last === wanted) return
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`it is ${last}`)
}

/** Pays with a memo, creates and mints an asset, and creates, mints and moves a collectible. */
export async function assets({ arriving, paid, receiver, memo, held, minted, payload, ...given }) {
  const chains = await Chains.of(given)
  const { x } = chains
  const found = {}
  await chains.arrive(arriving)
  found.imported = await chains.balanceOnX()

  const [utxos, from, change] = await chains.fromX()
  const transfer = await chains.issueOnX(await x.buildBaseTx(
    utxos, number(paid), chains.asset, [receiver], from, change, Buffer.from(memo),
  ))
  found.memo = (await x.getTx(transfer, 'json')).unsignedTx.memo
  found.paid = await chains.balanceOnX('AVAX', receiver)
  found.left = await chains.balanceOnX()

  const states = new avm.InitialStates()
  states.addOutput(new avm.SECPTransferOutput(number(held), [chains.bytes]))
  const coin = await chains.issueOnX(await x.buildCreateAssetTx(
    ...(await chains.fromX()), states, 'Legacy coin', 'LEGC', 4,
    [new avm.SECPMintOutput([chains.bytes], number(0), 1)],
  ))
  const { name, symbol, denomination } = await x.getAssetDescription(coin)
  found.coin = { name, symbol, denomination }
  found.held = await chains.balanceOnX(coin)
  const mint = await chains.right(coin, AVMConstants.SECPMINTOUTPUTID)
  const [funds] = await chains.fromX()
  await chains.issueOnX(await x.buildSECPMintTx(
    funds, mint.output, new avm.SECPTransferOutput(number(minted), [chains.bytes]),
    from, change, mint.id,
  ))
  found.afterMint = await chains.balanceOnX(coin)

  const collectible = await chains.issueOnX(await x.buildCreateNFTAssetTx(
    ...(await chains.fromX()), [new avm.MinterSet(1, [chains.bytes])], 'Pictures', 'PICS',
  ))
  const right = await chains.right(collectible, AVMConstants.NFTMINTOUTPUTID)
  const [before] = await chains.fromX()
  await chains.issueOnX(await x.buildCreateNFTMintTx(
    before, new common.OutputOwners([chains.bytes], number(0), 1), from, change, right.id, 0,
    Buffer.from(payload),
  ))
  const piece = await chains.right(collectible, AVMConstants.NFTXFEROUTPUTID)
  found.payload = piece.output.getPayload().toString()
  const [last] = await chains.fromX()
  const moved = await chains.issueOnX(await x.buildNFTTransferTx(
    last, [receiver], from, change, piece.id,
  ))
  found.pieces = (await x.getUTXOs([receiver])).utxos.getAllUTXOs()
    .filter((utxo) => utxo.getOutput().getOutputID() === AVMConstants.NFTXFEROUTPUTID)
    .map((utxo) => bintools.cb58Encode(utxo.getTxID()) === moved)
  found.end = await chains.balanceOnX()
  return found
}

/** Moves coins from the P-Chain over X to C, and back over X to P. */
export async function exchanged({ arriving, toC, backToX, backToP, ...given }) {
  const chains = await Chains.of(given)
  const { c, ids, onC, onP, onX, p } = chains
  const found = {}
  await chains.arrive(arriving)
  found.imported = await chains.balanceOnX()
  await chains.exportFromX(toC, ids.C, onC)
  found.left = await chains.balanceOnX()

  const { utxos } = await c.getUTXOs(onC, ids.X)
  const importing = (fee) => c.buildImportTx(utxos, chains.hex, onC, ids.X, onC, fee)
  const importFee = number(utils.costImportTx(await importing(number(1))))
  await chains.issueOnC(await importing(importFee))
  found.importFee = importFee.toString()
  found.onC = await chains.balanceOnC()

  const nonce = Number(await ask(given.url, 'eth_getTransactionCount', [chains.hex, 'latest']))
  const exporting = (fee) => c.buildExportTx(
    number(backToX), chains.asset, ids.X, chains.hex, onC[0], onX, nonce, number(0), 1, fee,
  )
  const exportFee = number(utils.costExportTx(await exporting(number(1))))
  await chains.issueOnC(await exporting(exportFee))
  found.exportFee = exportFee.toString()
  found.leftOnC = await chains.balanceOnC()
  await chains.importOnX(ids.C)
  found.returned = await chains.balanceOnX()

  await chains.exportFromX(backToP, P_CHAIN, onP)
  found.end = await chains.balanceOnX()
  const before = await p.getBalance(onP[0])
  const own = (await p.getUTXOs(onP)).utxos
  await chains.issueOnP(await p.buildImportTx(own, onP, ids.X, onP, onP, onP))
  const after = await p.getBalance(onP[0])
  found.landed = BigInt(after.balance) - BigInt(before.balance)
  return found
}
