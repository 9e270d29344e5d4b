const { loadFixture } = require('@nomicfoundation/hardhat-network-helpers')
const { PANIC_CODES } = require('@nomicfoundation/hardhat-chai-matchers/panic')
const { expect } = require('chai')
const { ethers } = require('hardhat')
const { deploy, mined } = require('../contracts')

describe('Counter', () => {
  async function deployed() {
    const [owner, alice] = await ethers.getSigners()
    return { counter: await deploy('Counter'), owner, alice }
  }

  it('counts', async () => {
    const { counter, owner } = await loadFixture(deployed)
    await expect(counter.increment()).to.emit(counter, 'Counted').withArgs(owner.address, 1n)
    expect(await counter.count()).to.equal(1n)
  })

  it('does not count below nothing', async () => {
    const { counter } = await loadFixture(deployed)
    await expect(counter.decrement()).to.be.revertedWithPanic(
      PANIC_CODES.ARITHMETIC_OVERFLOW,
    )
  })

  it('stops at its limit', async () => {
    const { counter } = await loadFixture(deployed)
    for (let done = 0; done < 5; done++) await mined(counter.increment())
    await expect(counter.increment())
      .to.be.revertedWithCustomError(counter, 'TooFar')
      .withArgs(5n, 5n)
  })

  it('says why it refuses', async () => {
    const { counter } = await loadFixture(deployed)
    await expect(counter.refuse()).to.be.revertedWith('Counter: not today')
    await expect(counter.refuse()).to.be.reverted
  })

  it('fails without a word', async () => {
    const { counter } = await loadFixture(deployed)
    await expect(counter.failSilently()).to.be.revertedWithoutReason()
  })

  it('fails an assertion', async () => {
    const { counter } = await loadFixture(deployed)
    await expect(counter.failAssertion()).to.be.revertedWithPanic(PANIC_CODES.ASSERTION_ERROR)
  })

  it('is told of a failure by calls and estimates too', async () => {
    const { counter } = await loadFixture(deployed)
    await expect(counter.refuse.staticCall()).to.be.revertedWith('Counter: not today')
    await expect(counter.refuse.estimateGas()).to.be.revertedWith('Counter: not today')
  })

  it('is mined though it fails, where gas is given', async () => {
    const { counter, owner } = await loadFixture(deployed)
    const sent = await counter.refuse({ gasLimit: 100_000 })
    await expect(sent.wait()).to.be.rejectedWith(/reverted/)
    const receipt = await ethers.provider.getTransactionReceipt(sent.hash)
    expect(receipt.status).to.equal(0)
    expect(receipt.from).to.equal(owner.address)
    expect(await counter.count()).to.equal(0n)
  })

  it('talks on the console', async () => {
    const { counter } = await loadFixture(deployed)
    await mined(counter.say())
    expect(await counter.count()).to.equal(1n)
  })

  it('emits nothing where nothing is said', async () => {
    const { counter } = await loadFixture(deployed)
    const sent = await counter.say()
    await sent.wait()
    await expect(sent).not.to.emit(counter, 'Counted')
  })
})
