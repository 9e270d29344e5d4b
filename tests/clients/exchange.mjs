// Coins from the P-Chain over the X-Chain to the C-Chain, and all the way back, with avalanchejs 4 or 5.
import { ask, decided } from './crossing.mjs'

const P_CHAIN = '11111111111111111111111111111111LpoYY'
const WEI_OF_GWEI = 10n ** 9n

/** Returns the scenario. The amounts are those that leave P, leave X, leave C, and leave X again. */
export function exchanging(library, connect, importToP) {
  const { addTxSignatures, avm, evm, secp256k1, utils, TransferableOutput } = library
  return async ({ toX, paid, receiver, toC, backToX, backToP, ...given }) => {
    const wallet = await connect(given)
    const [key] = wallet.keys
    const context = await wallet.context(given.fees)
    const x = new avm.AVMApi(given.url)
    const c = new evm.EVMApi(given.url)
    const owner = wallet.owner(key)
    const account = secp256k1.publicKeyToEthAddress(secp256k1.getPublicKey(key))
    const hexAccount = utils.bufferToHex(account)
    const [onX, onC] = ['X', 'C'].map((chain) => utils.format(chain, wallet.hrp, owner))
    const baseFee = (await c.getBaseFee()) / WEI_OF_GWEI || 1n
    const found = { statuses: [], balances: {}, readBack: [], early: [], price: Number(baseFee) }

    const sign = async (unsignedTx) => {
      await addTxSignatures({ unsignedTx, privateKeys: [key] })
      return unsignedTx.getSignedTx()
    }
    const output = (amount, to = owner) =>
      [TransferableOutput.fromNative(context.avaxAssetID, BigInt(amount), [to])]
    const ownOnX = async () => (await x.getUTXOs({ addresses: [onX] })).utxos
    const balanceOnX = async (address) => {
      const { balances } = await x.getAllBalances({ address })
      return balances.find(({ asset }) => asset === 'AVAX')?.balance ?? 0
    }
    const balanceOnC = async () => BigInt(await ask(given.url, 'eth_getBalance', [hexAccount, 'latest']))
    /** Issues a transaction on a chain, and waits until it is decided there. */
    const issued = async (api, signed, status) => {
      const { txID } = await api.issueSignedTx(signed)
      const deadline = Date.now() + 60_000
      let last
      do {
        last = (await status(txID)).status
        if (!['Processing', 'Unknown'].includes(last)) break
        await new Promise((done) => setTimeout(done, 50))
      } while (Date.now() < deadline)
      found.statuses.push(last)
      return txID
    }
    /** Asks as a wallet that waits for coins: later answers may come from a cache. */
    const nothingYet = async (api, sourceChain, address) => {
      for (let times = 0; times < 3; times += 1) {
        found.early.push((await api.getUTXOs({ sourceChain, addresses: [address] })).utxos.length)
      }
    }
    const onP = (signed) => issued(wallet.api, signed, (txID) => wallet.status(txID))
    const onXChain = async (unsigned) => {
      const signed = await sign(unsigned)
      const txID = await issued(x, signed, (id) => x.getTxStatus({ txID: id }))
      const read = await x.getTx({ txID })
      found.readBack.push(utils.bufferToHex(read.toBytes()) === utils.bufferToHex(signed.toBytes()))
    }
    const onCChain = async (unsigned) =>
      found.statuses.push(await decided(c, (await c.issueSignedTx(await sign(unsigned))).txID))

    await nothingYet(x, 'P', onX)
    await onP(await wallet.exported(await wallet.funds(), {
      to: [onX], threshold: 1, amount: toX, destination: context.xBlockchainID,
    }))
    const fromP = (await x.getUTXOs({ sourceChain: 'P', addresses: [onX] })).utxos
    await onXChain(avm.newImportTx(context, P_CHAIN, fromP, [owner], [owner]))
    found.balances.imported = await balanceOnX(onX)

    await onXChain(avm.newBaseTx(
      context, [owner], await ownOnX(), output(paid, utils.bech32ToBytes(receiver)),
    ))
    found.balances.paid = await balanceOnX(onX)
    found.balances.receiver = await balanceOnX(receiver)

    await nothingYet(c, 'X', onC)
    await onXChain(avm.newExportTx(
      context, context.cBlockchainID, [owner], await ownOnX(), output(toC),
    ))
    found.balances.left = await balanceOnX(onX)
    const fromX = (await c.getUTXOs({ sourceChain: 'X', addresses: [onC] })).utxos
    await onCChain(evm.newImportTxFromBaseFee(
      context, account, [owner], fromX, context.xBlockchainID, baseFee,
    ))
    found.balances.onC = await balanceOnC()

    const nonce = BigInt(await ask(given.url, 'eth_getTransactionCount', [hexAccount, 'latest']))
    await nothingYet(x, 'C', onX)
    await onCChain(evm.newExportTxFromBaseFee(
      context, baseFee, BigInt(backToX), context.xBlockchainID, account, [owner], nonce,
    ))
    found.balances.leftOnC = await balanceOnC()
    const fromC = (await x.getUTXOs({ sourceChain: 'C', addresses: [onX] })).utxos
    await onXChain(avm.newImportTx(context, context.cBlockchainID, fromC, [owner], [owner]))
    found.balances.returned = await balanceOnX(onX)

    await nothingYet(wallet.api, 'X', wallet.address)
    await onXChain(avm.newExportTx(context, P_CHAIN, [owner], await ownOnX(), output(backToP)))
    found.balances.end = await balanceOnX(onX)
    const before = await wallet.balance(wallet.address)
    const { utxos } = await wallet.api.getUTXOs({ sourceChain: 'X', addresses: [wallet.address] })
    const feeState = await wallet.api.getFeeState?.()
    const terms = { from: [owner], utxos, feeState, source: context.xBlockchainID }
    found.landedBy = await onP(await sign(importToP(terms, context)))
    found.balances.landed = (await wallet.balance(wallet.address)) - before
    return found
  }
}
