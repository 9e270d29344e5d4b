// viem 2 against the node. Each export is one scenario; the caller checks the result.
import {
  BaseError, ContractFunctionRevertedError, createPublicClient, createWalletClient, defineChain,
  encodeFunctionData, http, nonceManager, parseEther, parseGwei, webSocket,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { blob, kzgOf } from './kzg.mjs'

// Instead of viem's ten seconds, which the first sidecar of a node can take on a busy machine.
const patient = { timeout: 60_000 }
const stranger = '0x000000000000000000000000000000000000dEaD'

function connect({ url, wsUrl, key, chainId }, { transport = http(url, patient), ...options } = {}) {
  const chain = defineChain({
    id: chainId,
    name: 'local',
    nativeCurrency: { name: 'Coin', symbol: 'COIN', decimals: 18 },
    rpcUrls: { default: { http: [url], webSocket: [wsUrl] } },
  })
  const account = privateKeyToAccount(key, options)
  const reader = createPublicClient({ chain, transport, pollingInterval: 100 })
  const wallet = createWalletClient({ chain, transport, account, pollingInterval: 100 })
  return { account, reader, wallet, mined: (hash) => reader.waitForTransactionReceipt({ hash }) }
}

async function deployed({ artifact: { abi, bytecode } }, { wallet, mined }) {
  const hash = await wallet.deployContract({ abi, bytecode, args: ['Main ledger'], value: 1000n })
  const { contractAddress: address } = await mined(hash)
  return { address, abi }
}

async function failure(promise) {
  try {
    await promise
  } catch (error) {
    const reverted = error instanceof BaseError &&
      error.walk((one) => one instanceof ContractFunctionRevertedError)
    if (!reverted) {
      const cause = error instanceof BaseError ? error.walk() : error
      return { kind: cause.name, kinds: kinds(error), message: error.message }
    }
    return { name: reverted.data?.errorName, arguments: reverted.data?.args, reason: reverted.reason }
  }
  throw new Error('nothing failed')
}

function kinds(error) {
  return error ? [error.name, ...kinds(error.cause)] : []
}

function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds))
}

async function until(holds) {
  while (!holds()) await pause(20)
}

export async function deployAndCall(given) {
  const client = connect(given)
  const contract = await deployed(given, client)
  const { request } = await client.reader.simulateContract({
    ...contract, account: client.account, functionName: 'store', args: [7n, 2n ** 255n],
  })
  const receipt = await client.mined(await client.wallet.writeContract(request))
  const read = (functionName, ...args) =>
    client.reader.readContract({ ...contract, functionName, args })
  return {
    title: await read('title'),
    held: await read('held', client.account.address),
    code: await client.reader.getCode(contract),
    stored: await read('slots', 7n),
    status: receipt.status,
    type: receipt.type,
    logs: receipt.logs.length,
  }
}

export async function failures(given) {
  const client = connect(given)
  const contract = await deployed(given, client)
  const tried = (functionName, ...args) =>
    failure(client.reader.simulateContract({ ...contract, account: client.account, functionName, args }))
  return {
    custom: await tried('withdraw', 5000n),
    reason: await tried('requirePositive', -1n),
    panic: await tried('divide', 1n, 0n),
    sent: await failure(
      client.wallet.writeContract({ ...contract, functionName: 'withdraw', args: [5000n] }),
    ),
  }
}

export async function events(given) {
  const client = connect(given)
  const contract = await deployed(given, client)
  const write = async (functionName, args, value) =>
    client.mined(await client.wallet.writeContract({ ...contract, functionName, args, value }))
  await write('deposit', [1n, 'one'], 11n)
  const filter = await client.reader.createContractEventFilter({ ...contract, eventName: 'Deposited' })
  await write('deposit', [2n, 'two'], 22n)
  const read = (logs) => logs.map(({ args }) => [args.purpose, args.amount, args.note])
  const query = (args) =>
    client.reader.getContractEvents({ ...contract, eventName: 'Deposited', args, fromBlock: 0n })
  const found = {
    all: read(await query({ from: client.account.address })),
    second: read(await query({ purpose: 2n })),
    polled: read(await client.reader.getFilterChanges({ filter })),
    again: read(await client.reader.getFilterChanges({ filter })),
    uninstalled: await client.reader.uninstallFilter({ filter }),
  }
  return { ...found, gone: await failure(client.reader.getFilterChanges({ filter })) }
}

export async function eventsBySubscription(given) {
  let subscriptions = 0
  const transport = (options) => {
    const made = webSocket(given.wsUrl)(options)
    const subscribe = async (asked) => {
      const subscription = await made.value.subscribe(asked)
      subscriptions += 1
      return subscription
    }
    return { ...made, value: { ...made.value, subscribe } }
  }
  const client = connect(given, { transport })
  const contract = await deployed(given, client)
  const heads = []
  const values = []
  const pending = []
  const errors = []
  const onError = (error) => errors.push(error.message)
  const stop = [
    client.reader.watchBlockNumber({ onBlockNumber: (number) => heads.push(number), onError }),
    client.reader.watchContractEvent({
      ...contract, eventName: 'Stored', onError,
      onLogs: (logs) => values.push(...logs.map(({ args }) => [args.key, args.value])),
    }),
    client.reader.watchPendingTransactions({
      onTransactions: (hashes) => pending.push(...hashes), onError,
    }),
  ]
  await until(() => subscriptions === stop.length) // subscriptions are made in the background
  const hash = await client.wallet.writeContract({
    ...contract, functionName: 'storeMany', args: [5n, 3n],
  })
  const { blockNumber } = await client.mined(hash)
  await until(() => values.length >= 3 && heads.includes(blockNumber) && pending.includes(hash))
  stop.forEach((end) => end())
  return { values, errors }
}

export async function transactionTypes(given) {
  const client = connect(given)
  const { address } = await deployed(given, client)
  const accessList = [{ address, storageKeys: ['0x' + '00'.repeat(32)] }]
  const gasPrice = parseGwei('3')
  const found = []
  const send = async (request) => {
    const hash = await client.wallet.sendTransaction({ to: stranger, value: 1n, ...request })
    const receipt = await client.mined(hash)
    const read = await client.reader.getTransaction({ hash })
    found.push({
      type: read.type,
      status: receipt.status,
      accessList: read.accessList?.length,
      authorizations: read.authorizationList?.length,
    })
  }
  await send({ type: 'legacy', gasPrice })
  await send({ type: 'eip2930', gasPrice, accessList })
  await send({ type: 'eip1559', accessList })
  const authorization = await client.wallet.signAuthorization({
    contractAddress: address, executor: 'self',
  })
  await send({ authorizationList: [authorization] })
  return { found, delegation: await client.reader.getCode({ address: client.account.address }), address }
}

/** A blob transaction that viem signs, read again with its blobs; and blobs that do not match their proofs. */
export async function blobs(given) {
  const { reader, wallet, mined } = connect(given)
  const request = { to: stranger, blobs: [blob, blob], kzg: kzgOf(), maxFeePerBlobGas: parseGwei('30') }
  const hash = await wallet.sendTransaction(request)
  const receipt = await mined(hash)
  const read = await reader.getTransaction({ hash })
  const block = await reader.getBlock({ blockNumber: receipt.blockNumber })
  const other = blob.replace(/^0x0{4}/, '0x0001')
  return {
    type: read.type,
    hashes: read.blobVersionedHashes.length,
    cap: read.maxFeePerBlobGas,
    status: receipt.status,
    blobGasUsed: receipt.blobGasUsed,
    blobGasPrice: receipt.blobGasPrice,
    ofBlock: block.blobGasUsed,
    price: await reader.getBlobBaseFee(),
    same: (await reader.request({ method: 'anvil_getBlobsByTransactionHash', params: [hash] }))
      .every((found) => found === blob),
    wrong: await failure(wallet.sendTransaction({ ...request, blobs: [other] })),
  }
}

export async function fees(given) {
  const { reader, wallet, mined } = connect(given)
  const history = await reader.getFeeHistory({ blockCount: 4, rewardPercentiles: [25, 75] })
  const estimate = await reader.estimateFeesPerGas()
  const receipt = await mined(await wallet.sendTransaction({ to: stranger, value: parseEther('0.5') }))
  return {
    baseFees: history.baseFeePerGas.length,
    ratios: history.gasUsedRatio.length,
    rewards: history.reward.every((row) => row.length === 2),
    status: receipt.status,
    within: receipt.effectiveGasPrice <= estimate.maxFeePerGas,
  }
}

export async function reads(given) {
  const client = connect(given)
  const contract = await deployed(given, client)
  const { reader, account } = client
  const key = `0x${'00'.repeat(32)}`
  const proof = await reader.getProof({ address: contract.address, storageKeys: [key] })
  const held = (stateOverride) =>
    reader.readContract({ ...contract, functionName: 'title', stateOverride })
  const text = `0x${Buffer.from('Other').toString('hex').padEnd(62, '0')}0a`
  const request = {
    account, to: contract.address,
    data: encodeFunctionData({ ...contract, functionName: 'store', args: [1n, 2n] }),
  }
  return {
    proof,
    overridden: await held([
      { address: contract.address, stateDiff: [{ slot: key, value: text }] },
    ]),
    plain: await held(undefined),
    accessList: await reader.createAccessList(request),
    address: contract.address,
    count: await reader.getBlockTransactionCount(),
  }
}

export async function simulations(given) {
  const client = connect(given)
  const { reader, account } = client
  const contract = await deployed(given, client)
  const call = (functionName, ...args) => ({ ...contract, to: contract.address, functionName, args })
  const simulated = await reader.simulateCalls({
    account: account.address,
    traceAssetChanges: true,
    calls: [
      call('store', 7n, 8n), call('slots', 7n), { to: stranger, value: 5n }, call('withdraw', 5000n),
    ],
  })
  const [first, second] = await reader.simulateBlocks({
    traceTransfers: true,
    blocks: [
      { calls: [{ account: account.address, to: stranger, value: 5n }] },
      { calls: [{ ...call('title'), account: account.address }], blockOverrides: { time: 2n ** 33n } },
    ],
  })
  const head = await reader.getBlock()
  return {
    statuses: simulated.results.map(({ status }) => status),
    stored: simulated.results[1].result,
    error: simulated.results[3].error.name,
    assets: simulated.assetChanges.map(({ token, value }) => [token.symbol, value.diff]),
    plain: await reader.readContract({ ...contract, functionName: 'slots', args: [7n] }),
    numbers: [first.number - head.number, second.number - head.number],
    follows: first.parentHash === head.hash && second.parentHash === first.hash,
    time: second.timestamp,
    moved: first.calls[0].logs.map(({ data }) => BigInt(data)),
    title: second.calls[0].result,
  }
}

export async function refusals(given) {
  const { reader, wallet, account, mined } = connect(given)
  const nonce = await reader.getTransactionCount({ address: account.address })
  const fee = (maxFee, tip) => ({
    maxFeePerGas: parseGwei(maxFee), maxPriorityFeePerGas: parseGwei(tip), gas: 21_000n,
  })
  const send = (request) => wallet.sendTransaction({ to: stranger, ...request })
  const first = await send({ nonce: nonce + 1, ...fee('10', '1') })
  const underpriced = await failure(send({ nonce: nonce + 1, ...fee('10.9', '1') }))
  const replacement = await send({ nonce: nonce + 1, ...fee('11', '1.1') })
  await send({ nonce, ...fee('10', '1') })
  const { status } = await mined(replacement)
  return {
    underpriced: underpriced.message.includes('replacement transaction underpriced'),
    status,
    replaced: (await failure(reader.getTransaction({ hash: first }))).kind,
    used: (await failure(send({ nonce, ...fee('10', '1') }))).kinds,
    poor: (await failure(send({ value: parseEther('1000000'), ...fee('10', '1') }))).kinds,
  }
}

export async function inFlight(given) {
  const { reader, wallet, account, mined } = connect(given, { nonceManager })
  const hashes = await Promise.all(
    Array.from({ length: 20 }, (_, value) => wallet.sendTransaction({ to: stranger, value: BigInt(value) })),
  )
  const receipts = await Promise.all(hashes.map(mined))
  return {
    mined: receipts.filter(({ status }) => status === 'success').length,
    next: await reader.getTransactionCount({ address: account.address, blockTag: 'pending' }),
  }
}

export async function batch(given) {
  let bodies = 0
  const fetchFn = (...request) => {
    bodies += 1
    return fetch(...request)
  }
  const { reader, account } = connect(given, {
    transport: http(given.url, { ...patient, batch: { batchSize: 50 }, fetchFn }),
  })
  const balances = await Promise.all(
    Array.from({ length: 100 }, () => reader.getBalance({ address: account.address, blockNumber: 0n })),
  )
  return { answers: balances.length, bodies }
}
