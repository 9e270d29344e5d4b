// An L1 from its subnet to the balances of its validators: avalanchejs 5 on the P-Chain, viem on the EVM chains.
// `chains` names each EVM chain with its URL and chain ID.
import * as library from 'avalanchejs5'
import {
  ContractFunctionRevertedError, concatHex, createPublicClient, createWalletClient, defineChain, http, pad,
  parseEventLogs, size, slice,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { connecting } from './avalanchejs.mjs'
import { builders } from './avalanchejs5.mjs'
import { done } from './platform.mjs'

const { BigIntPr, BlsPublicKey, Id, L1Validator, NodeId, PChainOwner, bls, pvm, pvmSerial, utils } = library
const { AddressedCallPayloads, codec } = pvmSerial.warp
const WARP = '0x0200000000000000000000000000000000000005'
const sendWarpMessage = [{
  type: 'event',
  name: 'SendWarpMessage',
  inputs: [
    { name: 'sender', type: 'address', indexed: true },
    { name: 'messageID', type: 'bytes32', indexed: true },
    { name: 'message', type: 'bytes', indexed: false },
  ],
}]

const common = ({ utxos, from, feeState }) => ({ utxos, fromAddressesBytes: from, feeState })
const ownedBy = (from) => PChainOwner.fromNative(from)

const connect = connecting(library, {
  ...builders,

  convertSubnet: (terms, context) => pvm.newConvertSubnetToL1Tx({
    ...common(terms),
    subnetId: terms.subnetID,
    subnetAuth: terms.authority,
    chainId: terms.chainID ?? context.cBlockchainID,
    address: utils.hexToBuffer(terms.manager),
    validators: terms.validators.map(({ nodeID, weight, balance, publicKey, proof }) =>
      L1Validator.fromNative(
        nodeID, BigInt(weight), BigInt(balance),
        new pvmSerial.ProofOfPossession(utils.hexToBuffer(publicKey), utils.hexToBuffer(proof)),
        ownedBy(terms.from), ownedBy(terms.from),
      )),
  }, context),

  registerValidator: (terms, context) => pvm.newRegisterL1ValidatorTx({
    ...common(terms),
    balance: BigInt(terms.balance),
    blsSignature: utils.hexToBuffer(terms.possession),
    message: utils.hexToBuffer(terms.message),
  }, context),

  setWeight: (terms, context) =>
    pvm.newSetL1ValidatorWeightTx({ ...common(terms), message: utils.hexToBuffer(terms.message) }, context),

  increaseBalance: (terms, context) => pvm.newIncreaseL1ValidatorBalanceTx({
    ...common(terms), balance: BigInt(terms.balance), validationId: terms.validationID,
  }, context),
})

/** Creates a subnet with one EVM chain. */
export async function created({ name, vmID, genesis, owners, ...given }) {
  const wallet = await connect(given)
  const subnet = await done(wallet, 'createSubnet', { owners })
  const chain = await done(wallet, 'createChain', { subnetID: subnet.txID, owners, name, vmID, genesis })
  return { subnet, chain }
}

/** Deploys contracts by name; returns their addresses. */
export async function deployed({ chain, key, artifacts }) {
  const client = evm(chain, key)
  const addresses = {}
  for (const [name, { abi, bytecode }] of Object.entries(artifacts)) {
    const hash = await client.wallet.deployContract({ abi, bytecode })
    const { contractAddress } = await client.reader.waitForTransactionReceipt({ hash })
    addresses[name] = contractAddress
  }
  return addresses
}

export async function converted({ terms, ...given }) {
  return done(await connect(given), 'convertSubnet', terms)
}

/** Lets the manager register a validator, and brings its signed message to the P-Chain. */
export async function registered({ validator, expiry, manager, ...given }) {
  const wallet = await connect(given)
  const owner = ownedBy([wallet.owner(wallet.keys[0])])
  const message = new AddressedCallPayloads.RegisterL1ValidatorMessage(
    Id.fromString(validator.subnetID), NodeId.fromString(validator.nodeID),
    new BlsPublicKey(bls.publicKeyFromBytes(utils.hexToBuffer(validator.publicKey))), new BigIntPr(BigInt(expiry)),
    owner, owner, new BigIntPr(BigInt(validator.weight)),
  )
  const signed = await told(manager, message)
  return done(wallet, 'registerValidator', {
    balance: validator.balance, possession: validator.proof, message: signed,
  })
}

/** Lets the manager set a validator's weight. */
export async function weighed({ validationID, nonce, weight, manager, ...given }) {
  const message = new AddressedCallPayloads.L1ValidatorWeightMessage(
    Id.fromString(validationID), new BigIntPr(BigInt(nonce)), new BigIntPr(BigInt(weight)),
  )
  return done(await connect(given), 'setWeight', { message: await told(manager, message) })
}

export async function paid({ validationID, balance, ...given }) {
  return done(await connect(given), 'increaseBalance', { validationID, balance })
}

/** Issues a transaction with a message that is signed already. */
export async function brought({ step, terms, ...given }) {
  return done(await connect(given), step, terms)
}

/** Calls the manager, perhaps with a signed message; returns what it tells the P-Chain, signed. Digits are numbers. */
export async function managed({ manager, call, args, value = '0', message }) {
  const client = evm(manager, manager.key)
  const given = {
    address: manager.address,
    abi: manager.abi,
    functionName: call,
    args: numbers(args),
    value: BigInt(value),
    ...(message ? { gas: 2_000_000n, accessList: [{ address: WARP, storageKeys: packed(message) }] } : {}),
  }
  const { status, logs } = await written(client, given)
  const [sent] = parseEventLogs({ abi: sendWarpMessage, logs })
  const signed = sent && await client.reader.request({
    method: 'warp_getMessageAggregateSignature', params: [sent.args.messageID],
  })
  return { status, events: parseEventLogs({ abi: manager.abi, logs }).map((event) => event.eventName), signed, unsigned: sent?.args.message }
}

const numbers = (value) => Array.isArray(value) ? value.map(numbers) : /^[0-9]+$/.test(value) ? BigInt(value) : value

/** Makes blocks: transfers of nothing, one after the other. */
export async function blocks({ chain, key, count }) {
  const client = evm(chain, key)
  for (let made = 0; made < count; made++) {
    const hash = await client.wallet.sendTransaction({ to: client.account.address })
    await client.reader.waitForTransactionReceipt({ hash })
  }
  return client.reader.getBlockNumber()
}

/** Sends a text from a messenger to one of another chain, which takes it twice: the second time fails. */
export async function delivered({ source, destination, key, text, signingSubnet }) {
  const [from, to] = [evm(source, key), evm(destination, key)]
  const there = await to.reader.readContract({ address: WARP, abi: blockchainID, functionName: 'getBlockchainID' })
  const here = await from.reader.readContract({ address: WARP, abi: blockchainID, functionName: 'getBlockchainID' })
  const signed = await sent(from, {
    address: source.messenger, abi: source.abi, functionName: 'send', args: [there, destination.messenger, text],
  }, signingSubnet)
  const take = {
    address: destination.messenger,
    abi: destination.abi,
    functionName: 'take',
    args: [0],
    accessList: [{ address: WARP, storageKeys: packed(signed) }],
  }
  const receipt = await written(to, take)
  const [event] = parseEventLogs({ abi: destination.abi, logs: receipt.logs, eventName: 'Taken' })
  const last = await to.reader.readContract({ ...take, functionName: 'last', args: [here], accessList: undefined })
  const again = await to.reader.simulateContract({ ...take, account: to.account }).then(
    () => 'taken again', (error) => error.walk((one) => one instanceof ContractFunctionRevertedError)?.reason ?? error.message,
  )
  const { status: unsigned } = await written(to, { ...take, accessList: [], gas: 300_000n })
  return { status: receipt.status, event: event?.args, last, again, unsigned, source: here }
}

const blockchainID = [{
  type: 'function', name: 'getBlockchainID', stateMutability: 'view', inputs: [], outputs: [{ type: 'bytes32' }],
}]

/** Connects viem to a chain. */
function evm({ url, chainID }, key) {
  const chain = defineChain({
    id: chainID,
    name: 'local',
    nativeCurrency: { name: 'Coin', symbol: 'COIN', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
  const account = privateKeyToAccount(key)
  // Viem's own time limit is ten seconds, which a busy machine exceeds.
  const options = { chain, transport: http(url, { timeout: 60_000 }), pollingInterval: 100 }
  return {
    url,
    account,
    reader: createPublicClient(options),
    wallet: createWalletClient({ ...options, account }),
  }
}

async function written(client, call) {
  const hash = await client.wallet.writeContract(call)
  return client.reader.waitForTransactionReceipt({ hash })
}

/** Calls a contract that sends a warp message, and returns the message with the signatures of a subnet's validators. */
async function sent(client, call, signingSubnet = '') {
  const { logs } = await written(client, call)
  const [{ args }] = parseEventLogs({ abi: sendWarpMessage, logs })
  return client.reader.request({ method: 'warp_getMessageAggregateSignature', params: [args.messageID, 67, signingSubnet] })
}

/** Lets the manager tell the P-Chain something. */
function told({ key, address, abi, ...chain }, message) {
  const payload = concatHex(['0x0000', utils.bufferToHex(message.toBytes(codec))]) // the codec's version
  return sent(evm(chain, key), { address, abi, functionName: 'tell', args: [payload] })
}

/** Returns a message as storage keys: with 0xff and zeros up to a multiple of 32 bytes. */
function packed(message) {
  const ended = concatHex([message, '0xff'])
  const words = Math.ceil(size(ended) / 32)
  const whole = pad(ended, { dir: 'right', size: 32 * words })
  return Array.from({ length: words }, (_, place) => slice(whole, 32 * place, 32 * place + 32))
}
