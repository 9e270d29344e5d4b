const { loadFixture, time } = require('@nomicfoundation/hardhat-network-helpers')
const { anyUint, anyValue } = require('@nomicfoundation/hardhat-chai-matchers/withArgs')
const { expect } = require('chai')
const { ethers } = require('hardhat')
const { deploy, mined } = require('../contracts')

const YEAR = 365 * 24 * 3600
const ONE = ethers.parseEther('1')

describe('Vault', () => {
  async function empty() {
    const [owner, alice] = await ethers.getSigners()
    return { vault: await deploy('Vault'), owner, alice }
  }

  async function locked() {
    const { vault, owner, alice } = await empty()
    await mined(vault.connect(alice).deposit(YEAR, { value: ONE }))
    const { until } = await vault.deposits(0)
    return { vault, owner, alice, until }
  }

  it('takes a deposit', async () => {
    const { vault, alice } = await loadFixture(empty)
    await expect(vault.connect(alice).deposit(YEAR, { value: ONE }))
      .to.emit(vault, 'Deposited')
      .withArgs(alice.address, 0n, ONE, anyUint)
  })

  it('moves ether into the vault', async () => {
    const { vault, alice } = await loadFixture(empty)
    await expect(vault.connect(alice).deposit(YEAR, { value: ONE })).to.changeEtherBalances(
      [alice, vault],
      [-ONE, ONE],
    )
  })

  it('refuses an empty deposit, with its reason', async () => {
    const { vault } = await loadFixture(empty)
    await expect(vault.deposit(YEAR)).to.be.revertedWith('Vault: nothing sent')
  })

  it('locks for exactly the time that was said', async () => {
    const { vault, until } = await loadFixture(locked)
    expect(until).to.equal((await time.latest()) + YEAR)
    expect(await ethers.provider.getBalance(vault)).to.equal(ONE)
  })

  it('gives nothing before the time', async () => {
    const { vault, alice, until } = await loadFixture(locked)
    await expect(vault.connect(alice).withdraw(0))
      .to.be.revertedWithCustomError(vault, 'StillLocked')
      .withArgs(until, anyValue)
  })

  it('gives nothing one second before the time', async () => {
    const { vault, alice, until } = await loadFixture(locked)
    await time.setNextBlockTimestamp(until - 1n)
    await expect(vault.connect(alice).withdraw(0))
      .to.be.revertedWithCustomError(vault, 'StillLocked')
      .withArgs(until, until - 1n)
  })

  it('gives all at the time', async () => {
    const { vault, alice, until } = await loadFixture(locked)
    await time.setNextBlockTimestamp(until)
    await expect(vault.connect(alice).withdraw(0)).to.changeEtherBalance(alice, ONE)
    expect(await time.latest()).to.equal(until)
  })

  it('gives all after the time', async () => {
    const { vault, alice, until } = await loadFixture(locked)
    await time.increaseTo(until)
    await expect(vault.connect(alice).withdraw(0))
      .to.emit(vault, 'Withdrawn')
      .withArgs(alice.address, 0n, ONE)
  })

  it('sees days pass', async () => {
    const { vault, alice } = await loadFixture(locked)
    await time.increase(time.duration.days(366))
    await expect(vault.connect(alice).withdraw(0)).to.changeEtherBalances(
      [vault, alice],
      [-ONE, ONE],
    )
  })

  it('gives nothing to a stranger', async () => {
    const { vault, owner, until } = await loadFixture(locked)
    await time.increaseTo(until)
    await expect(vault.connect(owner).withdraw(0)).to.be.revertedWith('Vault: not the owner')
  })

  it('knows no deposit that was not made', async () => {
    const { vault } = await loadFixture(locked)
    await expect(vault.withdraw(7))
      .to.be.revertedWithCustomError(vault, 'UnknownDeposit')
      .withArgs(7n)
  })

  it('costs what the receipt says', async () => {
    const { vault, alice } = await loadFixture(empty)
    const before = await ethers.provider.getBalance(alice)
    const { fee } = await mined(vault.connect(alice).deposit(YEAR, { value: ONE }))
    expect(await ethers.provider.getBalance(alice)).to.equal(before - ONE - fee)
  })
})
