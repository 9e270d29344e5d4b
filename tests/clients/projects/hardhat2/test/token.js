const { loadFixture, time } = require('@nomicfoundation/hardhat-network-helpers')
const { expect } = require('chai')
const { ethers } = require('hardhat')
const { deploy, mined } = require('../contracts')

const SUPPLY = ethers.parseEther('1000')

describe('Token', () => {
  async function deployed() {
    const [owner, alice, bob] = await ethers.getSigners()
    const token = await deploy('Token', [SUPPLY], owner)
    await mined(token.transfer(alice, 500n))
    return { token, owner, alice, bob }
  }

  it('gives the supply to who deploys it', async () => {
    const { token, owner } = await loadFixture(deployed)
    expect(await token.balanceOf(owner)).to.equal(SUPPLY - 500n)
    expect(await token.totalSupply()).to.equal(SUPPLY)
  })

  it('emits a transfer', async () => {
    const { token, alice, bob } = await loadFixture(deployed)
    await expect(token.connect(alice).transfer(bob, 20n))
      .to.emit(token, 'Transfer')
      .withArgs(alice.address, bob.address, 20n)
  })

  it('moves balances', async () => {
    const { token, alice, bob } = await loadFixture(deployed)
    await expect(token.connect(alice).transfer(bob, 20n)).to.changeTokenBalances(
      token,
      [alice, bob],
      [-20n, 20n],
    )
  })

  it('begins each test with the same balances', async () => {
    const { token, alice, bob } = await loadFixture(deployed)
    expect(await token.balanceOf(alice)).to.equal(500n)
    expect(await token.balanceOf(bob)).to.equal(0n)
  })

  it('refuses more than is held, by a custom error', async () => {
    const { token, alice, bob } = await loadFixture(deployed)
    await expect(token.connect(alice).transfer(bob, 501n))
      .to.be.revertedWithCustomError(token, 'InsufficientBalance')
      .withArgs(alice.address, 501n, 500n)
  })

  it('lets only the owner mint', async () => {
    const { token, alice } = await loadFixture(deployed)
    await expect(token.connect(alice).mint(alice, 1n))
      .to.be.revertedWithCustomError(token, 'NotOwner')
      .withArgs(alice.address)
    await expect(token.mint(alice, 7n)).to.changeTokenBalance(token, alice, 7n)
  })

  it('spends an allowance and no more', async () => {
    const { token, alice, bob } = await loadFixture(deployed)
    await expect(token.connect(alice).approve(bob, 30n)).to.emit(token, 'Approval')
    await mined(token.connect(bob).transferFrom(alice, bob, 30n))
    await expect(token.connect(bob).transferFrom(alice, bob, 1n))
      .to.be.revertedWithCustomError(token, 'InsufficientAllowance')
      .withArgs(bob.address, 1n, 0n)
  })

  it('takes a permit that the node signed', async () => {
    const { token, alice, bob } = await loadFixture(deployed)
    const { chainId } = await ethers.provider.getNetwork()
    const deadline = (await time.latest()) + 3600
    const domain = {
      name: 'Sample',
      version: '1',
      chainId,
      verifyingContract: await token.getAddress(),
    }
    const types = {
      Permit: [
        { name: 'owner', type: 'address' },
        { name: 'spender', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'nonce', type: 'uint256' },
        { name: 'deadline', type: 'uint256' },
      ],
    }
    const message = { owner: alice.address, spender: bob.address, value: 9n, nonce: 0n, deadline }
    const { v, r, s } = ethers.Signature.from(await alice.signTypedData(domain, types, message))
    await mined(token.connect(bob).permit(alice, bob, 9n, deadline, v, r, s))
    expect(await token.allowance(alice, bob)).to.equal(9n)
  })

  it('takes no permit whose time is over', async () => {
    const { token, alice, bob } = await loadFixture(deployed)
    const deadline = (await time.latest()) + 60
    await time.increaseTo(deadline + 1)
    const nothing = ethers.ZeroHash
    await expect(token.permit(alice, bob, 9n, deadline, 27, nothing, nothing))
      .to.be.revertedWithCustomError(token, 'ExpiredPermit')
      .withArgs(deadline)
  })

  it('has its messages signed by accounts of the node', async () => {
    const [signer] = await ethers.getSigners()
    const signature = await signer.signMessage('hello')
    expect(ethers.verifyMessage('hello', signature)).to.equal(signer.address)
  })
})
