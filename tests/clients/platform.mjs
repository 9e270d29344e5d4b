// The P-Chain scenarios, which are the same for every SDK. `scenarios(connect)` returns the exports of an
// SDK's module; `connect` returns a wallet that builds and signs transactions and queries the node.

/** Builds and signs without a network: a library that uses it fails. */
async function offline(work) {
  const { fetch } = globalThis
  globalThis.fetch = () => { throw new Error('the network was used to build a transaction') }
  try {
    return await work()
  } finally {
    globalThis.fetch = fetch
  }
}

/** Returns the status of a transaction as soon as it is decided. */
async function decided(wallet, txID) {
  const deadline = Date.now() + 120_000
  while (Date.now() < deadline) {
    const found = await wallet.status(txID)
    if (!['Processing', 'Unknown'].includes(found.status)) return found
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`${txID} is not decided`)
}

/** Builds, signs and issues a transaction, waits until it is decided and reads it back. */
export async function done(wallet, kind, terms) {
  const funds = await wallet.funds()
  const signed = await offline(() => wallet[kind](funds, terms))
  const txID = await wallet.issue(signed)
  const { status } = await decided(wallet, txID)
  return { txID, status, readBack: (await wallet.tx(txID)) === wallet.bytes(signed) }
}

/** Returns the error message of a rejected promise. */
async function message(promise) {
  try {
    await promise
  } catch (error) {
    return error.message
  }
  throw new Error('nothing failed')
}

export function scenarios(connect) {
  /** Pays an amount and returns the balance before and after. */
  async function pay(kind, { to, threshold = 1, amount, ...given }) {
    const wallet = await connect(given)
    const before = await wallet.balance(wallet.address)
    const paid = await done(wallet, kind, { to, threshold, amount })
    return { ...paid, before, after: await wallet.balance(wallet.address) }
  }

  return {
    async transfer(given) {
      const paid = await pay('transfer', given)
      const reader = await connect(given)
      return { ...paid, outputs: await reader.outputs(given.to[0]) }
    },

    exported: (given) => pay('exported', given),

    /** Pays to two keys that can only sign together, and spends that payment with both. */
    async together({ partners, addresses, to, amount, ...given }) {
      const shared = { to: addresses, threshold: 2, amount: 2 * amount }
      const funding = await pay('transfer', { ...given, ...shared })
      const spending = await pay('transfer', { ...given, keys: partners, to, amount })
      return { funding, spending }
    },

    async subnet({ owners, validator, chain, ...given }) {
      const wallet = await connect(given)
      const made = await done(wallet, 'createSubnet', { owners })
      const control = { subnetID: made.txID, owners }
      const validating = await done(wallet, 'addSubnetValidator', { ...control, ...validator })
      const chained = await done(wallet, 'createChain', { ...control, ...chain })
      return {
        made,
        validating,
        chained,
        subnets: await wallet.subnets([made.txID]),
        current: await wallet.currentValidators(made.txID, [validator.nodeID]),
        pending: await wallet.pendingValidators(made.txID, [validator.nodeID]),
        chains: (await wallet.blockchains()).filter(({ id }) => id === chained.txID),
        chainStatus: await wallet.blockchainStatus(chained.txID),
        validatedBy: await wallet.validatedBy(chained.txID),
        validates: await wallet.validates(made.txID),
      }
    },

    /** Transfers a subnet to other owners, who remove its validator. */
    async handedOver({ subnetID, nodeID, owners, heirs, ...given }) {
      const wallet = await connect(given)
      const handed = await done(wallet, 'transferSubnetOwnership', { subnetID, owners, heirs })
      const subnets = await wallet.subnets([subnetID])
      const removed = await done(wallet, 'removeSubnetValidator', { subnetID, nodeID, owners: heirs })
      return { handed, subnets, removed, pending: await wallet.pendingValidators(subnetID, []) }
    },

    async staking({ validator, delegator, ...given }) {
      const wallet = await connect(given)
      const before = await wallet.balance(wallet.address)
      const validating = await done(wallet, 'addValidator', validator)
      const delegating = await done(wallet, 'addDelegator', { ...delegator, nodeID: validator.nodeID })
      return {
        validating,
        delegating,
        before,
        after: await wallet.balance(wallet.address),
        stake: await wallet.stake(wallet.address),
        current: await wallet.currentValidators(undefined, [validator.nodeID]),
        pending: await wallet.pendingValidators(undefined, [validator.nodeID]),
      }
    },

    /** Returns a node's stakers, on the primary network and on a subnet, and the rewards of transactions. */
    async stakersNow({ txIDs, nodeID, subnetID, ...given }) {
      const wallet = await connect(given)
      const rewards = []
      for (const txID of txIDs) rewards.push(await wallet.rewards(txID))
      return {
        rewards,
        balance: await wallet.balance(wallet.address),
        stake: await wallet.stake(wallet.address),
        current: await wallet.currentValidators(undefined, [nodeID]),
        pending: await wallet.pendingValidators(undefined, [nodeID]),
        ofSubnet: await wallet.currentValidators(subnetID, [nodeID]),
      }
    },

    /** Reads all outputs of an address, page by page as long as pages are full. */
    async paged({ address, ...given }) {
      const wallet = await connect(given)
      const pages = []
      const ids = new Set()
      let startIndex
      do {
        const page = await wallet.page(address, startIndex)
        pages.push(page.ids.length)
        page.ids.forEach((id) => ids.add(id))
        startIndex = page.endIndex
      } while (pages.at(-1) >= 1024)
      return { pages, different: ids.size }
    },

    /** Spends the same funds twice; the second transaction fails. */
    async spentTwice({ kind, terms, other, ...given }) {
      const wallet = await connect(given)
      const funds = await wallet.funds()
      const [first, second] = await offline(() => Promise.all([
        wallet[kind](funds, terms),
        wallet[kind](funds, { ...terms, ...other }),
      ]))
      const { status } = await decided(wallet, await wallet.issue(first))
      return { status, refusal: await message(wallet.issue(second)) }
    },
  }
}
