import { expect } from 'chai'
import { network } from 'hardhat'
import { anyUint, anyValue } from '@nomicfoundation/hardhat-ethers-chai-matchers/withArgs'

const { ethers, networkHelpers } = await network.create('devnet')
const { loadFixture, time } = networkHelpers

const WEEK = 7 * 24 * 3600
const ONE = ethers.parseEther('1')

describe('Vault', () => {
  async function locked() {
    const [owner, alice] = await ethers.getSigners()
    const vault = await ethers.deployContract('Vault')
    await vault.waitForDeployment()
    await (await vault.connect(alice).deposit(WEEK, { value: ONE })).wait()
    const { until } = await vault.deposits(0)
    return { vault, owner, alice, until }
  }

  it('takes a deposit', async () => {
    const { vault, owner } = await loadFixture(locked)
    await expect(vault.deposit(WEEK, { value: 7n }))
      .to.emit(vault, 'Deposited')
      .withArgs(owner.address, 1n, 7n, anyUint)
  })

  it('moves ether into the vault', async () => {
    const { vault, owner } = await loadFixture(locked)
    await expect(vault.deposit(WEEK, { value: ONE })).to.changeEtherBalances(
      ethers,
      [owner, vault],
      [-ONE, ONE],
    )
  })

  it('refuses an empty deposit', async () => {
    const { vault } = await loadFixture(locked)
    await expect(vault.deposit(WEEK)).to.be.revertedWith('Vault: nothing sent')
  })

  it('gives nothing before the time', async () => {
    const { vault, alice, until } = await loadFixture(locked)
    await expect(vault.connect(alice).withdraw(0))
      .to.be.revertedWithCustomError(vault, 'StillLocked')
      .withArgs(until, anyValue)
  })

  it('gives all when the time has come', async () => {
    const { vault, alice, until } = await loadFixture(locked)
    await time.increaseTo(until)
    await expect(vault.connect(alice).withdraw(0)).to.changeEtherBalances(
      ethers,
      [vault, alice],
      [-ONE, ONE],
    )
  })

  it('gives all at exactly the time', async () => {
    const { vault, alice, until } = await loadFixture(locked)
    await time.setNextBlockTimestamp(until)
    await expect(vault.connect(alice).withdraw(0)).to.emit(vault, 'Withdrawn')
    expect(await time.latest()).to.equal(Number(until))
  })

  it('gives all after days have passed', async () => {
    const { vault, alice } = await loadFixture(locked)
    await time.increase(time.duration.days(8))
    await expect(vault.connect(alice).withdraw(0)).to.changeEtherBalance(ethers, alice, ONE)
  })

  it('gives nothing to a stranger', async () => {
    const { vault, owner, until } = await loadFixture(locked)
    await time.increaseTo(until)
    await expect(vault.connect(owner).withdraw(0)).to.be.revertedWith('Vault: not the owner')
  })

  it('sees the time of a fixture anew in each test', async () => {
    const { until } = await loadFixture(locked)
    expect(BigInt(await time.latest())).to.be.lessThan(until)
  })
})
