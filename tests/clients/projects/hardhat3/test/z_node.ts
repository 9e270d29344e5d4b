// The requests that network-helpers make to the node itself.
import { expect } from 'chai'
import { network } from 'hardhat'

const { ethers, networkHelpers, provider } = await network.create('devnet')
const { loadFixture, time } = networkHelpers

const SOMEBODY = '0x00000000000000000000000000000000000c0ffe'
const ONE = ethers.parseEther('1')

describe('The node', () => {
  async function deployed() {
    const [owner, alice] = await ethers.getSigners()
    const token = await ethers.deployContract('Token', [1000n])
    const counter = await ethers.deployContract('Counter')
    await counter.waitForDeployment()
    return { token, counter, owner, alice }
  }

  const number = () => ethers.provider.getBlockNumber()

  const head = async () => (await ethers.provider.getBlock('latest'))!

  it('mines blocks', async () => {
    const before = await number()
    await networkHelpers.mine()
    await networkHelpers.mine(40)
    expect(await number()).to.equal(before + 41)
  })

  it('mines blocks that are apart', async () => {
    const before = (await head()).number
    await networkHelpers.mine(4, { interval: 600 })
    const times = []
    for (let at = before + 1; at <= before + 4; at++) {
      times.push((await ethers.provider.getBlock(at))!.timestamp)
    }
    expect(times.slice(1).map((time, at) => time - times[at])).to.deep.equal([600, 600, 600])
  })

  it('mines up to a height', async () => {
    const wanted = (await number()) + 5
    await networkHelpers.mineUpTo(wanted)
    expect(await time.latestBlock()).to.equal(wanted)
  })

  it('moves its time forward and keeps it', async () => {
    const before = await time.latest()
    expect(await time.increase(3600)).to.be.at.least(before + 3600)
    await networkHelpers.mine()
    expect(await time.latest()).to.be.at.least(before + 3600)
  })

  it('sets a balance and a nonce', async () => {
    await networkHelpers.setBalance(SOMEBODY, 3n * ONE)
    await networkHelpers.setNonce(SOMEBODY, 77)
    expect(await ethers.provider.getBalance(SOMEBODY)).to.equal(3n * ONE)
    expect(await ethers.provider.getTransactionCount(SOMEBODY)).to.equal(77)
  })

  it('sets code', async () => {
    const { counter } = await loadFixture(deployed)
    await networkHelpers.setCode(SOMEBODY, await ethers.provider.getCode(counter))
    const other = await ethers.getContractAt('Counter', SOMEBODY)
    await expect(other.increment()).to.emit(other, 'Counted')
  })

  it('sets a slot', async () => {
    const { counter } = await loadFixture(deployed)
    const address = await counter.getAddress()
    await networkHelpers.setStorageAt(address, 0, 3)
    await (await counter.increment()).wait()
    expect(await networkHelpers.getStorageAt(address, 0)).to.equal(ethers.toBeHex(4, 32))
  })

  it('lets tests be an account without a key', async () => {
    const { token, owner } = await loadFixture(deployed)
    await networkHelpers.impersonateAccount(SOMEBODY)
    await networkHelpers.setBalance(SOMEBODY, ONE)
    const somebody = await ethers.getSigner(SOMEBODY)
    await (await token.transfer(somebody, 10n)).wait()
    await expect(token.connect(somebody).transfer(owner, 4n)).to.changeTokenBalances(
      ethers,
      token,
      [somebody, owner],
      [-4n, 4n],
    )
    await networkHelpers.stopImpersonatingAccount(SOMEBODY)
    await expect(token.connect(somebody).transfer(owner, 1n)).to.be.rejectedWith(Error)
  })

  it('lets tests be a contract', async () => {
    const { token, counter, alice } = await loadFixture(deployed)
    const contract = await ethers.getImpersonatedSigner(await counter.getAddress())
    await networkHelpers.setBalance(contract.address, ONE)
    await (await token.transfer(contract, 10n)).wait()
    await (await token.connect(contract).transfer(alice, 6n)).wait()
    expect(await token.balanceOf(alice)).to.equal(6n)
  })

  it('goes back to snapshots, one in the other', async () => {
    const { counter } = await loadFixture(deployed)
    const outer = await networkHelpers.takeSnapshot()
    await (await counter.increment()).wait()
    const inner = await networkHelpers.takeSnapshot()
    await (await counter.increment()).wait()
    await inner.restore()
    expect(await counter.count()).to.equal(1n)
    await outer.restore()
    expect(await counter.count()).to.equal(0n)
  })

  it('goes back in its height too', async () => {
    const before = await head()
    const snapshot = await networkHelpers.takeSnapshot()
    await networkHelpers.mine(10)
    await snapshot.restore()
    expect((await head()).hash).to.equal(before.hash)
    expect(await ethers.provider.getBlock(before.number + 1)).to.equal(null)
  })

  it('begins many tests from one fixture', async () => {
    for (let done = 0; done < 20; done++) {
      const { counter } = await loadFixture(deployed)
      expect(await counter.count()).to.equal(0n)
      await (await counter.increment()).wait()
    }
  })

  it('pays its blocks to another', async () => {
    await networkHelpers.setCoinbase(SOMEBODY)
    await networkHelpers.mine()
    expect((await head()).miner).to.equal(ethers.getAddress(SOMEBODY))
  })

  it('sets the next base fee', async () => {
    await networkHelpers.setNextBlockBaseFeePerGas(10n ** 10n)
    await networkHelpers.mine()
    expect((await head()).baseFeePerGas).to.equal(10n ** 10n)
  })

  it('sets the gas limit of blocks', async () => {
    await networkHelpers.setBlockGasLimit(25_000_000)
    await networkHelpers.mine()
    expect((await head()).gasLimit).to.equal(25_000_000n)
  })

  it('keeps transactions waiting, and mines them together', async () => {
    const { counter, owner, alice } = await loadFixture(deployed)
    await provider.request({ method: 'evm_setAutomine', params: [false] })
    try {
      const options = { gasLimit: 100_000 }
      const first = await counter.connect(owner).increment(options)
      const second = await counter.connect(alice).increment(options)
      expect(await ethers.provider.getTransactionReceipt(first.hash)).to.equal(null)
      await networkHelpers.mine()
      const { transactions } = await head()
      expect([...transactions].sort()).to.deep.equal([first.hash, second.hash].sort())
    } finally {
      await provider.request({ method: 'evm_setAutomine', params: [true] })
    }
    expect(await counter.count()).to.equal(2n)
  })

  // Anvil answers with the transaction hash, which these helpers do not accept.
  it('drops a transaction that waits', async () => {
    const { counter } = await loadFixture(deployed)
    await provider.request({ method: 'evm_setAutomine', params: [false] })
    try {
      const sent = await counter.increment({ gasLimit: 100_000 })
      expect(await networkHelpers.dropTransaction(sent.hash)).to.equal(true)
      await networkHelpers.mine()
    } finally {
      await provider.request({ method: 'evm_setAutomine', params: [true] })
    }
    expect(await counter.count()).to.equal(0n)
  })

  it('shows a contract its block', async () => {
    const { counter } = await loadFixture(deployed)
    await networkHelpers.mine()
    const { number: height, miner } = await head()
    const params = [ethers.toQuantity(height), false]
    const block: any = await provider.request({ method: 'eth_getBlockByNumber', params })
    const seen = await counter.environment({ blockTag: height })
    expect(seen.coinbase).to.equal(miner)
    expect(seen.prevrandao).to.equal(BigInt(block.mixHash))
    expect(seen.number).to.equal(BigInt(height))
  })
})
