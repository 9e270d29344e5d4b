// Coins from the P-Chain to the C-Chain and back, with avalanchejs 4 or 5. The versions differ only in how they
// build an import on the P-Chain, so the caller passes that builder.

const P_CHAIN = '11111111111111111111111111111111LpoYY'
const WEI_OF_GWEI = 10n ** 9n

/** Returns the status of an atomic transaction once it is accepted or dropped. */
export async function decided(evm, txID) {
  const deadline = Date.now() + 60_000
  while (Date.now() < deadline) {
    const found = await evm.getAtomicTxStatus(txID)
    if (!['Processing', 'Unknown'].includes(found.status)) return found.status
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`${txID} is not decided`)
}

/** Calls a method of one of the C-Chain's interfaces. */
export async function ask(url, method, params) {
  const path = method.startsWith('avax.') ? 'avax' : 'rpc'
  const answer = await fetch(`${url}/ext/bc/C/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = await answer.json()
  if (error) throw new Error(error.message)
  return result
}

/** Returns the scenario: `amount` units go there, `back` units come back. `price` is what
 * the library pays for each gas on the C-Chain. */
export function crossing(library, connect, importToP) {
  const { addTxSignatures, evm, secp256k1, utils } = library
  return async ({ amount, back, ...given }) => {
    const wallet = await connect(given)
    const [key] = wallet.keys
    const context = await wallet.context(given.fees)
    const api = new evm.EVMApi(given.url)
    const owner = wallet.owner(key)
    const account = secp256k1.publicKeyToEthAddress(secp256k1.getPublicKey(key))
    const hexAccount = utils.bufferToHex(account)
    const onC = utils.format('C', wallet.hrp, owner)
    const balance = async () => BigInt(await ask(given.url, 'eth_getBalance', [hexAccount, 'latest']))
    const baseFee = (await api.getBaseFee()) / WEI_OF_GWEI || 1n

    const sign = async (unsignedTx) => {
      await addTxSignatures({ unsignedTx, privateKeys: [key] })
      return unsignedTx.getSignedTx()
    }
    const decideOnP = async (txID) => {
      for (;;) {
        const { status } = await wallet.status(txID)
        if (!['Processing', 'Unknown'].includes(status)) return status
        await new Promise((done) => setTimeout(done, 50))
      }
    }
    const found = { statuses: [], start: await balance(), price: Number(baseFee) }

    const left = await wallet.exported(await wallet.funds(), { to: [onC], threshold: 1, amount })
    found.statuses.push(await decideOnP(await wallet.issue(left)))

    const { utxos } = await api.getUTXOs({ sourceChain: 'P', addresses: [onC] })
    found.waiting = utxos.map(({ output }) => output.amount())
    const arrived = await sign(
      evm.newImportTxFromBaseFee(context, account, [owner], utxos, P_CHAIN, baseFee),
    )
    const importID = (await api.issueSignedTx(arrived)).txID
    found.statuses.push(await decided(api, importID))
    found.imported = await balance()
    const { tx } = await ask(given.url, 'avax.getAtomicTx', { txID: importID, encoding: 'hexnc' })
    found.readBack = tx === utils.bufferToHex(arrived.toBytes())

    const nonce = BigInt(await ask(given.url, 'eth_getTransactionCount', [hexAccount, 'latest']))
    const sent = await sign(
      evm.newExportTxFromBaseFee(context, baseFee, BigInt(back), P_CHAIN, account, [owner], nonce),
    )
    found.statuses.push(await decided(api, (await api.issueSignedTx(sent)).txID))
    found.exported = await balance()
    found.nonce = Number(await ask(given.url, 'eth_getTransactionCount', [hexAccount, 'latest']))

    const before = await wallet.balance(wallet.address)
    const coming = await wallet.api.getUTXOs({
      sourceChain: 'C', addresses: [wallet.address],
    })
    found.returning = coming.utxos.map(({ output }) => output.amount())
    const terms = { from: [owner], utxos: coming.utxos, feeState: await wallet.api.getFeeState?.() }
    const landed = await sign(importToP(terms, context))
    found.landedBy = await wallet.issue(landed)
    found.statuses.push(await decideOnP(found.landedBy))
    found.landed = (await wallet.balance(wallet.address)) - before
    return found
  }
}
