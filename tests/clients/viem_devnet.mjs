// Every action of viem's test client, in one of its modes: {passed: [case], failed: {case: why}, unused: [action]}.
import assert from 'node:assert/strict'
import {
  createTestClient, defineChain, encodeFunctionData, getAddress, http, keccak256, numberToHex, pad,
  parseEther, publicActions, testActions, walletActions, zeroAddress,
} from 'viem'

const ONE = parseEther('1')
const ACCOUNTS = [
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
]
// Code that returns 42.
const CODE = '0x602a5f5260205ff3'

let made = 0xf00000
const stranger = () => getAddress(pad(numberToHex(++made), { size: 20 }))

const until = async (holds) => {
  const end = Date.now() + 30_000
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('it did not come')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function connect({ url, chainId, mode }, used) {
  const chain = defineChain({
    id: chainId,
    name: 'devnet',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
  // Requests are not repeated, so viem's own time limit of ten seconds must not end one on a busy machine.
  const transport = http(url, { retryCount: 0, timeout: 60_000 })
  const options = { chain, mode, transport, pollingInterval: 50, cacheTime: 0 }
  const base = createTestClient(options)
  const actions = Object.keys(testActions({ mode })(base))
  const client = base.extend(publicActions).extend(walletActions)
  const watched = new Proxy(client, {
    get(target, name) {
      if (actions.includes(name)) used.add(name)
      return target[name]
    },
  })
  return { client: watched, actions }
}

const mined = async (client, sent) => client.waitForTransactionReceipt({ hash: await sent })

/** Runs `work` while transactions stay pending; mines the remaining ones afterwards. */
async function withoutAutomine(client, work) {
  await client.setAutomine(false)
  try {
    await work()
  } finally {
    await client.mine({ blocks: 1 })
    await client.setAutomine(true)
  }
}

const send = (client, value, options) =>
  client.sendTransaction({ account: ACCOUNTS[0], to: stranger(), value, gas: 21_000n, ...options })

/** The order matters, because the last cases change the whole chain. */
const cases = {
  async 'mine: one block and many'({ client }) {
    const before = await client.getBlockNumber()
    await client.mine({ blocks: 1 })
    await client.mine({ blocks: 20 })
    assert.equal(await client.getBlockNumber(), before + 21n)
  },
  async 'mine: blocks that are apart'({ client }) {
    await client.mine({ blocks: 3, interval: 60 })
    const last = await client.getBlock()
    const previous = await client.getBlock({ blockNumber: last.number - 1n })
    assert.equal(last.timestamp - previous.timestamp, 60n)
  },
  async 'sendTransaction: by an account of the node'({ client }) {
    const to = stranger()
    const receipt = await mined(client, client.sendTransaction({ account: ACCOUNTS[0], to, value: 7n }))
    assert.equal(receipt.status, 'success')
    assert.equal(await client.getBalance({ address: to }), 7n)
  },
  async 'deployContract: by an account of the node'({ client, artifact }) {
    const { abi, bytecode } = artifact
    const sent = client.deployContract({ account: ACCOUNTS[1], abi, bytecode, args: ['Main'], value: 5n })
    const { contractAddress: address } = await mined(client, sent)
    assert.equal(await client.readContract({ address, abi, functionName: 'title' }), 'Main')
    const data = encodeFunctionData({ abi, functionName: 'withdraw', args: [6n] })
    await assert.rejects(client.call({ account: ACCOUNTS[1], to: address, data }), /Insufficient|revert/)
  },
  async 'signMessage: by an account of the node'({ client }) {
    const signature = await client.signMessage({ account: ACCOUNTS[0], message: 'hello' })
    assert(await client.verifyMessage({ address: ACCOUNTS[0], message: 'hello', signature }))
  },
  async 'signTypedData: by an account of the node'({ client, chainId }) {
    const typed = {
      domain: { name: 'Mail', version: '1', chainId, verifyingContract: zeroAddress },
      types: { Mail: [{ name: 'to', type: 'address' }, { name: 'text', type: 'string' }] },
      primaryType: 'Mail',
      message: { to: ACCOUNTS[1], text: 'hello' },
    }
    const signature = await client.signTypedData({ account: ACCOUNTS[0], ...typed })
    assert(await client.verifyTypedData({ address: ACCOUNTS[0], ...typed, signature }))
  },
  async 'setBalance: is seen at once, and in the next block'({ client }) {
    const address = stranger()
    await client.setBalance({ address, value: 3n * ONE })
    assert.equal(await client.getBalance({ address }), 3n * ONE)
    await client.mine({ blocks: 1 })
    assert.equal(await client.getBalance({ address }), 3n * ONE)
  },
  async 'setCode: runs'({ client }) {
    const address = stranger()
    await client.setCode({ address, bytecode: CODE })
    assert.equal(await client.getCode({ address }), CODE)
    assert.equal(BigInt((await client.call({ to: address })).data), 42n)
  },
  async 'setNonce: is the next one that is used'({ client }) {
    const account = ACCOUNTS[1]
    const nonce = (await client.getTransactionCount({ address: account })) + 10
    await client.setNonce({ address: account, nonce })
    const { transactionHash: hash } = await mined(client, send(client, 1n, { account }))
    assert.equal((await client.getTransaction({ hash })).nonce, nonce)
  },
  async 'setStorageAt: by number and by hash'({ client }) {
    const address = stranger()
    const value = pad('0x2a')
    for (const index of [5, keccak256('0x05')]) {
      await client.setStorageAt({ address, index, value })
      const slot = typeof index === 'number' ? numberToHex(index) : index
      assert.equal(await client.getStorageAt({ address, slot }), value)
    }
  },
  async 'impersonateAccount, stopImpersonatingAccount'({ client }) {
    const address = stranger()
    await client.setBalance({ address, value: ONE })
    await client.impersonateAccount({ address })
    const { transactionHash: hash } = await mined(client, send(client, 1n, { account: address }))
    assert.equal(getAddress((await client.getTransaction({ hash })).from), address)
    await client.stopImpersonatingAccount({ address })
    await assert.rejects(send(client, 1n, { account: address }))
  },
  async 'impersonateAccount: a contract'({ client }) {
    const address = stranger()
    await client.setCode({ address, bytecode: CODE })
    await client.setBalance({ address, value: ONE })
    await client.impersonateAccount({ address })
    assert.equal((await mined(client, send(client, 1n, { account: address }))).status, 'success')
  },
  async 'sendUnsignedTransaction'({ client }) {
    const from = stranger()
    const to = stranger()
    await client.setBalance({ address: from, value: ONE })
    await client.impersonateAccount({ address: from })
    const sent = client.sendUnsignedTransaction({ from, to, value: 9n, gas: 21_000n })
    assert.equal((await mined(client, sent)).status, 'success')
    assert.equal(await client.getBalance({ address: to }), 9n)
  },
  async 'setAutomine: transactions wait and are mined together'({ client }) {
    await withoutAutomine(client, async () => {
      const sent = [await send(client, 1n), await send(client, 2n)]
      assert.equal((await client.getTransaction({ hash: sent[1] })).blockNumber, null)
      await client.mine({ blocks: 1 })
      assert.deepEqual((await client.getBlock()).transactions, sent)
    })
  },
  async 'getAutomine'({ client }) {
    assert.equal(await client.getAutomine(), true)
    await withoutAutomine(client, async () => assert.equal(await client.getAutomine(), false))
    assert.equal(await client.getAutomine(), true)
  },
  async 'getTxpoolStatus, getTxpoolContent, inspectTxpool'({ client }) {
    await withoutAutomine(client, async () => {
      const hash = await send(client, 1n)
      assert.deepEqual(await client.getTxpoolStatus(), { pending: 1, queued: 0 })
      const found = Object.values((await client.getTxpoolContent()).pending)
      assert.equal(Object.values(found[0])[0].hash, hash)
      const told = Object.values((await client.inspectTxpool()).pending)
      assert.match(Object.values(told[0])[0], /: 1 wei \+ 21000 /)
    })
  },
  async 'dropTransaction'({ client }) {
    await withoutAutomine(client, async () => {
      const hash = await send(client, 1n)
      await client.dropTransaction({ hash })
      assert.deepEqual(await client.getTxpoolStatus(), { pending: 0, queued: 0 })
      await assert.rejects(client.getTransaction({ hash }), /could not be found/)
    })
  },
  async 'setIntervalMining: off again'({ client }) {
    await client.setIntervalMining({ interval: 1 })
    await client.setIntervalMining({ interval: 0 })
    await client.setAutomine(true)
    assert.equal((await mined(client, send(client, 1n))).status, 'success')
  },
  async 'increaseTime'({ client }) {
    const before = (await client.getBlock()).timestamp
    await client.increaseTime({ seconds: 3600 })
    await client.mine({ blocks: 1 })
    assert((await client.getBlock()).timestamp >= before + 3600n)
  },
  async 'setNextBlockTimestamp'({ client }) {
    const timestamp = (await client.getBlock()).timestamp + 5000n
    await client.setNextBlockTimestamp({ timestamp })
    assert.equal((await client.getBlock({ blockTag: 'pending' })).timestamp, timestamp)
    await client.mine({ blocks: 1 })
    assert.equal((await client.getBlock()).timestamp, timestamp)
    await assert.rejects(client.setNextBlockTimestamp({ timestamp: timestamp - 1n }))
  },
  async 'setBlockTimestampInterval, removeBlockTimestampInterval'({ client, mode }) {
    await client.setBlockTimestampInterval({ interval: 40 })
    await client.mine({ blocks: 1 })
    const before = (await client.getBlock()).timestamp
    await client.mine({ blocks: 1 })
    const passed = (await client.getBlock()).timestamp - before
    await client.removeBlockTimestampInterval()
    if (mode === 'anvil') assert.equal(passed, 40n)
  },
  async 'setBlockGasLimit'({ client }) {
    await client.setBlockGasLimit({ gasLimit: 25_000_000n })
    await client.mine({ blocks: 1 })
    assert.equal((await client.getBlock()).gasLimit, 25_000_000n)
  },
  async 'setCoinbase'({ client }) {
    const address = stranger()
    await client.setCoinbase({ address })
    await client.mine({ blocks: 1 })
    assert.equal(getAddress((await client.getBlock()).miner), address)
  },
  async 'setNextBlockBaseFeePerGas'({ client }) {
    await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 30_000_000_000n })
    await client.mine({ blocks: 1 })
    assert.equal((await client.getBlock()).baseFeePerGas, 30_000_000_000n)
  },
  async 'setMinGasPrice: is refused where there is a base fee'({ client }) {
    await assert.rejects(client.setMinGasPrice({ gasPrice: 1n }), /1559/)
  },
  async 'setLoggingEnabled'({ client }) {
    await client.setLoggingEnabled(false)
    await client.setLoggingEnabled(true)
  },
  async 'setRpcUrl: of a chain that is no fork'({ client }) {
    await client.setRpcUrl('http://127.0.0.1:1')
  },
  async 'snapshot, revert: of all that is there'({ client }) {
    const address = stranger()
    const before = await client.getBlock()
    const id = await client.snapshot()
    await client.setBalance({ address, value: ONE })
    const { transactionHash: hash } = await mined(client, send(client, 1n))
    await client.mine({ blocks: 3 })
    await client.revert({ id })
    assert.equal((await client.getBlock()).hash, before.hash)
    assert.equal(await client.getBalance({ address }), 0n)
    await assert.rejects(client.getTransactionReceipt({ hash }), /could not be found/)
  },
  async 'snapshot, revert: one in the other'({ client }) {
    const address = stranger()
    const seen = async () => client.getBalance({ address })
    const outer = await client.snapshot()
    await client.setBalance({ address, value: 1n })
    const inner = await client.snapshot()
    await client.setBalance({ address, value: 2n })
    await client.revert({ id: inner })
    assert.equal(await seen(), 1n)
    await client.revert({ id: outer })
    assert.equal(await seen(), 0n)
  },
  async 'getContractEvents: none of blocks that are gone'({ client, artifact }) {
    const { abi, bytecode } = artifact
    const account = ACCOUNTS[1]
    const deployed = client.deployContract({ account, abi, bytecode, args: ['Main'] })
    const { contractAddress: address } = await mined(client, deployed)
    const store = (value) =>
      mined(client, client.writeContract({ account, address, abi, functionName: 'store', args: [1n, value] }))
    const id = await client.snapshot()
    await store(1n)
    await client.revert({ id })
    await store(2n)
    const logs = await client.getContractEvents({ address, abi, eventName: 'Stored', fromBlock: 0n })
    assert.deepEqual(logs.map((log) => log.args.value), [2n])
  },
  async 'dumpState, loadState'({ client }) {
    const address = stranger()
    await client.setBalance({ address, value: 11n })
    await client.setCode({ address, bytecode: CODE })
    await client.setStorageAt({ address, index: 1, value: pad('0x07') })
    await client.mine({ blocks: 1 })
    const state = await client.dumpState()
    await client.setBalance({ address, value: 12n })
    await client.setCode({ address, bytecode: '0x' })
    await client.loadState({ state })
    assert.equal(await client.getBalance({ address }), 11n)
    assert.equal(await client.getCode({ address }), CODE)
    assert.equal(await client.getStorageAt({ address, slot: '0x1' }), pad('0x07'))
  },
  async 'setIntervalMining: blocks come by themselves'({ client }) {
    const before = await client.getBlockNumber()
    await client.setIntervalMining({ interval: 1 })
    try {
      await until(async () => (await client.getBlockNumber()) >= before + 2n)
    } finally {
      await client.setIntervalMining({ interval: 0 })
      await client.setAutomine(true)
    }
  },
  async 'reset: begins anew'({ client }) {
    await client.mine({ blocks: 1 })
    await client.request({ method: `${client.mode}_reset`, params: [] })
    assert.equal(await client.getBlockNumber(), 0n)
    assert.equal(await client.getTransactionCount({ address: ACCOUNTS[0] }), 0)
    assert.equal((await mined(client, send(client, 1n))).status, 'success')
  },
  async 'reset: to another chain'({ client, upstream }) {
    await mined(client, send(client, 1n))
    await client.reset({ jsonRpcUrl: upstream, blockNumber: 0n })
    assert.equal(await client.getBlockNumber(), 0n)
    assert.equal((await mined(client, send(client, 1n))).blockNumber, 1n)
  },
  async 'reset: back from it'({ client }) {
    await client.request({ method: `${client.mode}_reset`, params: [] })
    assert.equal(await client.getBlockNumber(), 0n)
  },
}

export async function everyAction({ artifact, upstream, ...where }) {
  const used = new Set()
  const { client, actions } = connect(where, used)
  const passed = []
  const failed = {}
  for (const [name, check] of Object.entries(cases)) {
    try {
      await check({ client, artifact, upstream, ...where })
      passed.push(name)
    } catch (error) {
      failed[name] = `${error.shortMessage ?? error.message} ${error.details ?? ''}`
    }
  }
  return { passed, failed, unused: actions.filter((name) => !used.has(name)) }
}
