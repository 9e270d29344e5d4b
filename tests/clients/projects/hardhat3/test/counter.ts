import { expect } from 'chai'
import { network } from 'hardhat'
import { PANIC_CODES } from '@nomicfoundation/hardhat-ethers-chai-matchers/panic'

const { ethers, networkHelpers } = await network.create('devnet')
const { loadFixture } = networkHelpers

describe('Counter', () => {
  async function deployed() {
    const [owner, alice] = await ethers.getSigners()
    const counter = await ethers.deployContract('Counter')
    await counter.waitForDeployment()
    return { counter, owner, alice }
  }

  it('counts', async () => {
    const { counter, owner } = await loadFixture(deployed)
    await expect(counter.increment()).to.emit(counter, 'Counted').withArgs(owner.address, 1n)
    expect(await counter.count()).to.equal(1n)
  })

  it('does not count below nothing', async () => {
    const { counter } = await loadFixture(deployed)
    await expect(counter.decrement()).to.be.revertedWithPanic(PANIC_CODES.ARITHMETIC_OVERFLOW)
  })

  it('says why it refuses', async () => {
    const { counter } = await loadFixture(deployed)
    await expect(counter.refuse()).to.be.revertedWith('Counter: not today')
    await expect(counter.refuse.staticCall()).to.be.revertedWith('Counter: not today')
  })

  it('fails without a word', async () => {
    const { counter } = await loadFixture(deployed)
    await expect(counter.failSilently()).to.be.revertedWithoutReason(ethers)
  })

  it('fails an assertion', async () => {
    const { counter } = await loadFixture(deployed)
    await expect(counter.failAssertion()).to.be.revertedWithPanic(PANIC_CODES.ASSERTION_ERROR)
  })

  it('stops at its limit', async () => {
    const { counter } = await loadFixture(deployed)
    await networkHelpers.setStorageAt(await counter.getAddress(), 0, 5)
    await expect(counter.increment())
      .to.be.revertedWithCustomError(counter, 'TooFar')
      .withArgs(5n, 5n)
  })

  it('talks on the console', async () => {
    const { counter } = await loadFixture(deployed)
    await (await counter.say()).wait()
    expect(await counter.count()).to.equal(1n)
  })

  it('is created where its deployer and nonce say', async () => {
    const [, , carol] = await ethers.getSigners()
    const nonce = await ethers.provider.getTransactionCount(carol)
    const counter = await ethers.deployContract('Counter', carol)
    expect(await counter.getAddress()).to.equal(
      ethers.getCreateAddress({ from: carol.address, nonce }),
    )
    await counter.waitForDeployment()
    expect(await ethers.provider.getCode(counter)).not.to.equal('0x')
  })
})
