// The package avalanche 3.16 against the node: the scenarios of `platform.mjs` whose transactions the package
// supports (it has no transfers, and stakes with start times), and the node's keystore.
import { Avalanche, BN, BinTools, Buffer, platformvm } from 'avalanche'
import { scenarios } from './platform.mjs'

const bintools = BinTools.getInstance()
const number = (value) => new BN(`${value}`)
const privateKey = (hex) => `PrivateKey-${bintools.cb58Encode(Buffer.from(hex.slice(2), 'hex'))}`

function client({ url, networkID }) {
  const { hostname, port, protocol } = new URL(url)
  return new Avalanche(hostname, Number(port), protocol.slice(0, -1), networkID)
}

class Wallet {
  constructor(given) {
    this.api = client(given).PChain()
    this.keys = this.api.keyChain()
    this.addresses = given.keys.map((key) => this.keys.importKey(privateKey(key)).getAddressString())
    this.address = this.addresses[0]
  }

  /** Fetches all data that is needed before a transaction is built; the library caches its own requests. */
  async funds() {
    await this.api.getAVAXAssetID()
    await this.api.getMinStake()
    const cChain = (await this.blockchains()).find(({ name }) => name === 'C-Chain').id
    return { cChain, utxos: (await this.api.getUTXOs(this.addresses)).utxos }
  }

  /** The addresses that coins are spent from, and those that receive the change. */
  get fromAndChange() {
    return [this.addresses, this.addresses]
  }

  /** Returns each owner's index among the subnet's control keys, and adds the owner's key for signing. */
  authority(owners) {
    return owners.map((key, place) => [place, this.keys.importKey(privateKey(key)).getAddress()])
  }

  async exported({ utxos, cChain }, { amount, to, threshold }) {
    const built = await this.api.buildExportTx(
      utxos, number(amount), cChain, to, ...this.fromAndChange, undefined, undefined, undefined,
      threshold,
    )
    return built.sign(this.keys)
  }

  async createSubnet({ utxos }, { owners }) {
    const addresses = this.authority(owners).map(([, bytes]) => this.api.addressFromBuffer(bytes))
    const built = await this.api.buildCreateSubnetTx(
      utxos, ...this.fromAndChange, addresses, addresses.length,
    )
    return built.sign(this.keys)
  }

  async addSubnetValidator({ utxos }, { subnetID, owners, nodeID, start, end, weight }) {
    const built = await this.api.buildAddSubnetValidatorTx(
      utxos, ...this.fromAndChange, nodeID, number(start), number(end), number(weight), subnetID,
      undefined, undefined, this.authority(owners),
    )
    return built.sign(this.keys)
  }

  async createChain({ utxos }, { subnetID, owners, name, vmID, genesis }) {
    const vmName = bintools.cb58Decode(vmID).toString().replace(/\0+$/, '')
    const built = await this.api.buildCreateChainTx(
      utxos, ...this.fromAndChange, subnetID, name, vmName, [], JSON.stringify(genesis), undefined,
      undefined, this.authority(owners),
    )
    return built.sign(this.keys)
  }

  async addValidator({ utxos }, { nodeID, start, end, weight, rewards, shares }) {
    const built = await this.api.buildAddValidatorTx(
      utxos, this.addresses, ...this.fromAndChange, nodeID, number(start), number(end),
      number(weight), rewards, shares / 10_000,
    )
    return built.sign(this.keys)
  }

  async addDelegator({ utxos }, { nodeID, start, end, weight, rewards }) {
    const built = await this.api.buildAddDelegatorTx(
      utxos, this.addresses, ...this.fromAndChange, nodeID, number(start), number(end),
      number(weight), rewards,
    )
    return built.sign(this.keys)
  }

  bytes(signed) {
    return signed.toStringHex()
  }

  issue(signed) {
    return this.api.issueTx(signed)
  }

  /** Returns the transaction's text; the library cannot parse all transactions that it builds. */
  tx(txID) {
    return this.api.getTx(txID)
  }

  status(txID) {
    return this.api.getTxStatus(txID)
  }

  async balance(address) {
    return BigInt((await this.api.getBalance(address)).balance)
  }

  async page(address, startIndex) {
    const { utxos, endIndex } = await this.api.getUTXOs([address], undefined, undefined, startIndex)
    return { ids: utxos.getUTXOIDs(), endIndex }
  }

  async stake(address) {
    const { staked, stakedOutputs } = await this.api.getStake([address])
    const amounts = stakedOutputs.map((one) => `${one.getOutput().getAmount()}`)
    return { staked: `${staked}`, outputs: amounts }
  }

  async rewards(txID) {
    const { utxos } = await this.api.getRewardUTXOs(txID, 'hex')
    return utxos.map((hex) => {
      const utxo = new platformvm.UTXO()
      utxo.fromBuffer(Buffer.from(hex.slice(2), 'hex'))
      return `${utxo.getOutput().getAmount()}`
    })
  }

  async currentValidators(subnetID, nodeIDs) {
    return (await this.api.getCurrentValidators(subnetID, nodeIDs)).validators
  }

  pendingValidators(subnetID, nodeIDs) {
    return this.api.getPendingValidators(subnetID, nodeIDs)
  }

  subnets(ids) {
    return this.api.getSubnets(ids)
  }

  blockchains() {
    return this.api.getBlockchains()
  }

  blockchainStatus(id) {
    return this.api.getBlockchainStatus(id)
  }

  validatedBy(id) {
    return this.api.validatedBy(id)
  }

  validates(subnetID) {
    return this.api.validates(subnetID)
  }
}

export const { exported, subnet, staking, stakersNow, paged, spentTwice } = scenarios(
  async (given) => new Wallet(given),
)

/** Creates a user, imports a key, lets the node build and sign, and moves the user to another name. */
export async function keystore({ username, password, keys, validator, ...given }) {
  const users = client(given).NodeKeys()
  const api = client(given).PChain()
  const found = { created: await users.createUser(username, password) }
  found.address = await api.importKey(username, password, privateKey(keys[0]))
  found.second = await api.createAddress(username, password)
  found.addresses = await api.listAddresses(username, password)
  found.exportedKey = (await api.exportKey(username, password, found.address)) === privateKey(keys[0])
  found.subnetID = await api.createSubnet(username, password, [found.address, found.second], 2)
  found.status = await settled(api, found.subnetID)
  found.validating = await api.addSubnetValidator(
    username, password, validator.nodeID, found.subnetID, new Date(validator.start * 1000),
    new Date(validator.end * 1000), validator.weight,
  )
  found.validatingStatus = await settled(api, found.validating)
  found.subnets = await api.getSubnets([found.subnetID])
  found.pending = await api.getPendingValidators(found.subnetID)
  const backup = await users.exportUser(username, password)
  found.imported = await users.importUser(`${username} again`, backup, password)
  found.movedAddresses = await api.listAddresses(`${username} again`, password)
  found.users = await users.listUsers()
  found.deleted = await users.deleteUser(username, password)
  found.usersLeft = await users.listUsers()
  return found
}

async function settled(api, txID) {
  for (let tries = 0; tries < 2400; tries += 1) {
    const { status } = await api.getTxStatus(txID)
    if (!['Processing', 'Unknown'].includes(status)) return status
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`${txID} is not decided`)
}
