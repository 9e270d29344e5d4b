// ethers 6 against the node. Each export is one scenario; the caller checks the result.
import {
  Contract, ContractFactory, JsonRpcProvider, NonceManager, Wallet, WebSocketProvider, parseEther,
} from 'ethers'
import { blob, kzgOf } from './kzg.mjs'

const gwei = 10n ** 9n
const stranger = '0x000000000000000000000000000000000000dEaD'

/** Connects without the cache of 250 ms, in which the client would miss a block that is mined immediately. */
function connect({ url, key }) {
  const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, pollingInterval: 100 })
  return { provider, wallet: new Wallet(key, provider) }
}

async function deployed({ artifact }, runner) {
  const factory = new ContractFactory(artifact.abi, artifact.bytecode, runner)
  const contract = await factory.deploy('Main ledger', { value: 1000n })
  return contract.waitForDeployment()
}

/** Returns the error of a rejected promise in a form that tests can compare. */
async function failure(promise) {
  try {
    await promise
  } catch (error) {
    return {
      code: error.code,
      reason: error.reason,
      data: error.data,
      name: error.revert?.name,
      arguments: error.revert ? [...error.revert.args] : undefined,
    }
  }
  throw new Error('nothing failed')
}

/** Returns the next `count` values passed to `listen`'s callback; `trigger` causes them. */
async function heard(count, listen, trigger) {
  const values = []
  const all = new Promise((done) => listen((value) => values.push(value) === count && done()))
  await trigger()
  await all
  return values
}

function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds))
}

export async function deployAndCall(given) {
  const { provider, wallet } = connect(given)
  const contract = await deployed(given, wallet)
  const address = await contract.getAddress()
  const receipt = await (await contract.store(7n, 2n ** 255n)).wait()
  return {
    title: await contract.title(),
    held: await contract.held(wallet.address),
    code: await provider.getCode(address),
    stored: await contract.slots(7n),
    slot: await provider.getStorage(address, 0),
    status: receipt.status,
    type: receipt.type,
    logs: receipt.logs.length,
    event: receipt.logs[0].fragment.name,
    creation: (await contract.deploymentTransaction().wait()).contractAddress === address,
  }
}

export async function failures(given) {
  const { wallet } = connect(given)
  const contract = await deployed(given, wallet)
  return {
    custom: await failure(contract.withdraw.staticCall(5000n)),
    estimated: await failure(contract.withdraw(5000n)),
    reason: await failure(contract.requirePositive(-1n)),
    panic: await failure(contract.divide(1n, 0n)),
  }
}

export async function failedTransaction(given) {
  const { wallet } = connect(given)
  const contract = await deployed(given, wallet)
  const sent = await contract.withdraw(5000n, { gasLimit: 100_000n })
  const { code, receipt } = await sent.wait().catch((error) => error)
  return { code, status: receipt.status, gasUsed: receipt.gasUsed, logs: receipt.logs.length }
}

export async function eventsByFilter(given) {
  const { provider, wallet } = connect(given)
  const contract = await deployed(given, wallet)
  await (await contract.deposit(1n, 'one', { value: 11n })).wait()
  await (await contract.deposit(2n, 'two', { value: 22n })).wait()
  const last = await (await contract.storeMany(0n, 30n)).wait()
  const read = (events) => events.map(({ args }) => [...args])
  return {
    mine: read(await contract.queryFilter(contract.filters.Deposited(wallet.address))),
    second: read(await contract.queryFilter(contract.filters.Deposited(null, 2n))),
    nobodys: read(await contract.queryFilter(contract.filters.Deposited(stranger))),
    ofBlock: (await provider.getLogs({ blockHash: last.blockHash })).length,
    anyOf: (await contract.queryFilter([[
      contract.interface.getEvent('Stored').topicHash,
      contract.interface.getEvent('Deposited').topicHash,
    ]])).length,
  }
}

export async function eventsByPolledFilter(given) {
  const { wallet, provider } = connect(given)
  const contract = await deployed(given, wallet)
  const made = answered(provider, 'eth_newFilter')
  const values = await heard(
    2,
    (callback) => contract.on('Stored', (key, value) => callback([key, value])),
    async () => {
      await made // the filter is created in the background, and it does not return earlier events
      await (await contract.storeMany(5n, 2n)).wait()
    },
  )
  return { values }
}

/** Resolves when the provider's next call of a method is answered. */
function answered(provider, wanted) {
  return new Promise((done) => {
    const send = provider.send.bind(provider)
    provider.send = async (method, params) => {
      const result = await send(method, params)
      if (method === wanted) done()
      return result
    }
  })
}

export async function eventsBySubscription(given) {
  const provider = new WebSocketProvider(given.wsUrl, undefined, { cacheTimeout: -1 })
  const wallet = new NonceManager(new Wallet(given.key, provider))
  const contract = await deployed(given, wallet)
  const blocks = []
  const pending = []
  await provider.on('block', (number) => blocks.push(number))
  await provider.on('pending', (hash) => pending.push(hash))
  const sent = []
  const values = await heard(
    3,
    (callback) => contract.on('Stored', (key, value) => callback([key, value])),
    async () => {
      await contract.listenerCount() // afterwards the subscription exists
      for (const key of [1n, 2n, 3n]) sent.push(await contract.store(key, key * 10n))
      await Promise.all(sent.map((one) => one.wait()))
    },
  )
  // In production each notification comes from the process that received the transaction, possibly later.
  while (!sent.every(({ hash }) => pending.includes(hash))) await pause(20)
  await pause(200) // so that a duplicate would be noticed
  await provider.destroy()
  const rising = blocks.every((number, place) => !place || number === blocks[place - 1] + 1)
  return { values, blocks: blocks.length, rising, pending, sent: sent.map(({ hash }) => hash) }
}

export async function transactionTypes(given) {
  const { provider, wallet } = connect(given)
  const contract = await deployed(given, wallet)
  const address = await contract.getAddress()
  const accessList = [{ address, storageKeys: ['0x' + '00'.repeat(32)] }]
  const authorization = await wallet.authorize({
    address,
    nonce: (await wallet.getNonce()) + 4, // after three transactions and the authorizing transaction itself
  })
  const requests = [
    { type: 0, gasPrice: 3n * gwei },
    { type: 1, gasPrice: 3n * gwei, accessList },
    { type: 2, accessList },
    { type: 4, authorizationList: [authorization] },
  ]
  const found = []
  for (const request of requests) {
    const sent = await wallet.sendTransaction({ to: stranger, value: 1n, ...request })
    const receipt = await sent.wait()
    const read = await provider.getTransaction(sent.hash)
    found.push({
      type: read.type,
      status: receipt.status,
      accessList: read.accessList?.length,
      authorizations: read.authorizationList?.length,
      signer: read.from === wallet.address,
    })
  }
  return { found, delegation: await provider.getCode(wallet.address), address }
}

/** Blob transactions that ethers signs, in the forms of EIP-4844 and of EIP-7594. */
export async function blobs(given) {
  const { provider, wallet } = connect(given)
  const found = []
  for (const blobWrapperVersion of [null, 1]) {
    const kzg = kzgOf(blobWrapperVersion === null ? 1 : 128)
    const sent = await wallet.sendTransaction({
      type: 3, to: stranger, blobs: [blob], kzg, blobWrapperVersion, maxFeePerBlobGas: gwei,
    })
    const receipt = await sent.wait()
    const read = await provider.getTransaction(sent.hash)
    found.push({
      type: read.type,
      cap: read.maxFeePerBlobGas,
      hashes: read.blobVersionedHashes.length,
      status: receipt.status,
      blobGasUsed: receipt.blobGasUsed,
      blobGasPrice: receipt.blobGasPrice,
      same: await provider.send('anvil_getBlobByHash', read.blobVersionedHashes) === blob,
    })
  }
  return found
}

export async function fees(given) {
  const { provider, wallet } = connect(given)
  const data = await provider.getFeeData()
  const { baseFeePerGas } = await provider.getBlock('latest')
  const sent = await wallet.sendTransaction({ to: stranger, value: parseEther('0.5') })
  const receipt = await sent.wait()
  return {
    twiceTheBaseFee: data.maxFeePerGas === 2n * baseFeePerGas + data.maxPriorityFeePerGas,
    gasPrice: data.gasPrice,
    gasLimit: sent.gasLimit,
    fee: receipt.fee === receipt.gasUsed * receipt.gasPrice,
    paid: receipt.gasPrice <= data.maxFeePerGas,
  }
}

export async function refusals(given) {
  const { provider, wallet } = connect(given)
  const nonce = await wallet.getNonce()
  const waiting = { to: stranger, nonce: nonce + 1, gasLimit: 21_000n, maxPriorityFeePerGas: gwei }
  const first = await wallet.sendTransaction({ ...waiting, maxFeePerGas: 10n * gwei })
  const refused = await failure(wallet.sendTransaction({ ...waiting, maxFeePerGas: 109n * gwei / 10n }))
  const replacement = await wallet.sendTransaction({
    ...waiting, maxFeePerGas: 11n * gwei, maxPriorityFeePerGas: 11n * gwei / 10n,
  })
  await (await wallet.sendTransaction({ to: stranger, nonce })).wait()
  const receipt = await replacement.wait()
  const plain = { to: stranger, gasLimit: 21_000n }
  return {
    underpriced: refused.code,
    status: receipt.status,
    replaced: await provider.getTransaction(first.hash),
    used: (await failure(wallet.sendTransaction({ ...plain, nonce }))).code,
    poor: (await failure(wallet.sendTransaction({ ...plain, value: parseEther('1000000') }))).code,
    unknown: (await failure(provider.send('eth_noSuchMethod', []))).code,
  }
}

export async function inFlight(given) {
  const { provider, wallet } = connect(given)
  const managed = new NonceManager(wallet)
  const sent = await Promise.all(
    Array.from({ length: 20 }, (_, value) => managed.sendTransaction({ to: stranger, value })),
  )
  const receipts = await Promise.all(sent.map((one) => one.wait()))
  return {
    mined: receipts.filter(({ status }) => status === 1).length,
    nonces: sent.map(({ nonce }) => nonce),
    next: await provider.getTransactionCount(wallet.address, 'pending'),
  }
}

export async function batch({ url, key, chainId }) {
  const provider = new JsonRpcProvider(url, chainId, { staticNetwork: true, cacheTimeout: -1 })
  let bodies = 0
  provider.on('debug', ({ action }) => { bodies += action === 'sendRpcPayload' })
  const { address } = new Wallet(key)
  const balances = await Promise.all(Array.from({ length: 100 }, () => provider.getBalance(address, 0)))
  return { answers: balances.length, bodies }
}
