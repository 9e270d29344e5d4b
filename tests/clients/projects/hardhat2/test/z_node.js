// The requests that network-helpers make to the node itself.
const helpers = require('@nomicfoundation/hardhat-network-helpers')
const { expect } = require('chai')
const { ethers, network } = require('hardhat')
const { deploy, mined } = require('../contracts')

const { loadFixture, time } = helpers
const SOMEBODY = '0x00000000000000000000000000000000000c0ffe'
const ONE = ethers.parseEther('1')

describe('The node', () => {
  async function deployed() {
    const [owner, alice] = await ethers.getSigners()
    const token = await deploy('Token', [1000n])
    const counter = await deploy('Counter')
    return { token, counter, owner, alice }
  }

  const number = () => ethers.provider.getBlockNumber()

  it('mines one block', async () => {
    const before = await number()
    await helpers.mine()
    expect(await number()).to.equal(before + 1)
  })

  it('mines many blocks', async () => {
    const before = await number()
    await helpers.mine(300)
    expect(await number()).to.equal(before + 300)
  })

  it('mines blocks that are apart', async () => {
    await helpers.mine(5, { interval: 60 })
    const head = await number()
    const last = await ethers.provider.getBlock(head)
    const previous = await ethers.provider.getBlock(head - 1)
    expect(last.timestamp - previous.timestamp).to.equal(60)
  })

  it('mines up to a height', async () => {
    const wanted = (await number()) + 12
    await helpers.mineUpTo(wanted)
    expect(await number()).to.equal(wanted)
  })

  it('moves its time forward and keeps it', async () => {
    const before = await time.latest()
    await time.increase(3600)
    const moved = await time.latest()
    await helpers.mine()
    expect(moved).to.be.at.least(before + 3600)
    expect(await time.latest()).to.be.at.least(moved)
    expect(await time.latestBlock()).to.equal(await number())
  })

  it('refuses a time that is over', async () => {
    const now = await time.latest()
    await expect(time.increaseTo(now - 100)).to.be.rejectedWith(/lower than|not increase/i)
  })

  it('sets a balance', async () => {
    await helpers.setBalance(SOMEBODY, 3n * ONE)
    expect(await ethers.provider.getBalance(SOMEBODY)).to.equal(3n * ONE)
  })

  it('sets a nonce', async () => {
    await helpers.setNonce(SOMEBODY, 77)
    expect(await ethers.provider.getTransactionCount(SOMEBODY)).to.equal(77)
  })

  it('sets code', async () => {
    const { counter } = await loadFixture(deployed)
    await helpers.setCode(SOMEBODY, await ethers.provider.getCode(counter))
    const other = counter.attach(SOMEBODY)
    await expect(other.increment()).to.emit(other, 'Counted')
    expect(await other.count()).to.equal(1n)
  })

  it('sets a slot', async () => {
    const { counter, token, alice } = await loadFixture(deployed)
    await helpers.setStorageAt(await counter.getAddress(), 0, 4)
    await mined(counter.increment())
    expect(await counter.count()).to.equal(5n)
    const slot = ethers.solidityPackedKeccak256(['uint256', 'uint256'], [alice.address, 0])
    await helpers.setStorageAt(await token.getAddress(), slot, 12)
    expect(await token.balanceOf(alice)).to.equal(12n)
    expect(await helpers.getStorageAt(await token.getAddress(), slot)).to.equal(
      ethers.toBeHex(12, 32),
    )
  })

  it('shows a change at once, and in the next block', async () => {
    await helpers.setBalance(SOMEBODY, 5n)
    const head = await number()
    expect(await ethers.provider.getBalance(SOMEBODY, head)).to.equal(5n)
    await helpers.mine()
    expect(await number()).to.equal(head + 1)
    expect(await ethers.provider.getBalance(SOMEBODY, head + 1)).to.equal(5n)
  })

  it('lets tests be an account without a key', async () => {
    const { token, owner } = await loadFixture(deployed)
    await helpers.setBalance(SOMEBODY, ONE)
    const somebody = await ethers.getImpersonatedSigner(SOMEBODY)
    await mined(token.transfer(somebody, 10n))
    await expect(token.connect(somebody).transfer(owner, 4n)).to.changeTokenBalances(
      token,
      [somebody, owner],
      [-4n, 4n],
    )
  })

  it('lets tests be a contract', async () => {
    const { token, counter, alice } = await loadFixture(deployed)
    const address = await counter.getAddress()
    await mined(token.transfer(address, 10n))
    await helpers.impersonateAccount(address)
    await helpers.setBalance(address, ONE)
    const contract = await ethers.getSigner(address)
    await mined(token.connect(contract).transfer(alice, 6n))
    expect(await token.balanceOf(alice)).to.equal(6n)
  })

  it('lets nobody be who is impersonated no more', async () => {
    const { token, alice } = await loadFixture(deployed)
    const other = '0x0000000000000000000000000000000000beef01'
    await helpers.setBalance(other, ONE)
    await helpers.impersonateAccount(other)
    await helpers.stopImpersonatingAccount(other)
    const signer = await ethers.getSigner(other)
    await expect(token.connect(signer).transfer(alice, 0n)).to.be.rejectedWith(Error)
  })

  it('goes back to snapshots, one in the other', async () => {
    const { counter } = await loadFixture(deployed)
    const outer = await helpers.takeSnapshot()
    await mined(counter.increment())
    const inner = await helpers.takeSnapshot()
    await mined(counter.increment())
    await helpers.setBalance(SOMEBODY, 1n)
    await inner.restore()
    expect(await counter.count()).to.equal(1n)
    await outer.restore()
    expect(await counter.count()).to.equal(0n)
    await outer.restore()
    expect(await counter.count()).to.equal(0n)
  })

  it('forgets blocks and events when it goes back', async () => {
    const { counter } = await loadFixture(deployed)
    const before = await number()
    const snapshot = await helpers.takeSnapshot()
    const { hash } = await mined(counter.increment())
    await snapshot.restore()
    expect(await number()).to.equal(before)
    expect(await ethers.provider.getTransactionReceipt(hash)).to.equal(null)
    expect(await counter.queryFilter(counter.filters.Counted(), before)).to.deep.equal([])
  })

  it('pays its blocks to another', async () => {
    const { counter } = await loadFixture(deployed)
    await helpers.setCoinbase(SOMEBODY)
    await helpers.mine()
    const { miner } = await ethers.provider.getBlock('latest')
    expect(miner).to.equal(ethers.getAddress(SOMEBODY))
    expect((await counter.environment({ blockTag: 'latest' })).coinbase).to.equal(miner)
  })

  it('sets the next base fee', async () => {
    await helpers.setNextBlockBaseFeePerGas(10n ** 10n)
    await helpers.mine()
    expect((await ethers.provider.getBlock('latest')).baseFeePerGas).to.equal(10n ** 10n)
  })

  it('sets the gas limit of blocks', async () => {
    await helpers.setBlockGasLimit(25_000_000)
    await helpers.mine()
    expect((await ethers.provider.getBlock('latest')).gasLimit).to.equal(25_000_000n)
  })

  it('keeps transactions waiting, and mines them together', async () => {
    const { counter, owner, alice } = await loadFixture(deployed)
    await network.provider.send('evm_setAutomine', [false])
    try {
      const options = { gasLimit: 100_000 }
      const first = await counter.connect(owner).increment(options)
      const second = await counter.connect(alice).increment(options)
      expect(await ethers.provider.getTransactionReceipt(first.hash)).to.equal(null)
      await helpers.mine()
      const { transactions } = await ethers.provider.getBlock('latest')
      expect([...transactions].sort()).to.deep.equal([first.hash, second.hash].sort())
    } finally {
      await network.provider.send('evm_setAutomine', [true])
    }
    expect(await counter.count()).to.equal(2n)
  })

  it('drops a transaction that waits', async () => {
    const { counter } = await loadFixture(deployed)
    await network.provider.send('evm_setAutomine', [false])
    try {
      const sent = await counter.increment({ gasLimit: 100_000 })
      await helpers.dropTransaction(sent.hash)
      await helpers.mine()
      expect(await ethers.provider.getTransaction(sent.hash)).to.equal(null)
    } finally {
      await network.provider.send('evm_setAutomine', [true])
    }
    expect(await counter.count()).to.equal(0n)
  })

  it('gives each block another prevrandao', async () => {
    const { counter } = await loadFixture(deployed)
    await helpers.mine()
    const first = (await counter.environment()).prevrandao
    await helpers.mine()
    expect((await counter.environment()).prevrandao).not.to.equal(first)
  })

  it('begins anew', async () => {
    await helpers.reset()
    expect(await number()).to.equal(0)
    const [owner] = await ethers.getSigners()
    expect(await ethers.provider.getTransactionCount(owner)).to.equal(0)
  })
})
