import { expect } from 'chai'
import { network } from 'hardhat'

const { ethers, networkHelpers } = await network.create('devnet')
const { loadFixture, time } = networkHelpers

const SUPPLY = ethers.parseEther('1000')

describe('Token', () => {
  async function deployed() {
    const [owner, alice, bob] = await ethers.getSigners()
    const token = await ethers.deployContract('Token', [SUPPLY], owner)
    await token.waitForDeployment()
    return { token, owner, alice, bob }
  }

  it('emits the first transfer', async () => {
    const { token, owner } = await loadFixture(deployed)
    const found = await token.queryFilter(token.filters.Transfer(), 0)
    const own = found.filter((log) => log.transactionHash === token.deploymentTransaction()!.hash)
    expect(own.map((log) => ('args' in log ? [...log.args] : []))).to.deep.equal([
      [ethers.ZeroAddress, owner.address, SUPPLY],
    ])
  })

  it('moves balances', async () => {
    const { token, owner, alice } = await loadFixture(deployed)
    await expect(token.transfer(alice, 20n)).to.changeTokenBalances(
      ethers,
      token,
      [owner, alice],
      [-20n, 20n],
    )
  })

  it('emits a transfer', async () => {
    const { token, owner, alice } = await loadFixture(deployed)
    await expect(token.transfer(alice, 20n))
      .to.emit(token, 'Transfer')
      .withArgs(owner.address, alice.address, 20n)
  })

  it('moves no ether', async () => {
    const { token, alice } = await loadFixture(deployed)
    await expect(token.transfer(alice, 20n)).to.changeEtherBalance(ethers, alice, 0n)
  })

  it('begins each test with the same balances', async () => {
    const { token, owner, alice } = await loadFixture(deployed)
    expect(await token.balanceOf(owner)).to.equal(SUPPLY)
    expect(await token.balanceOf(alice)).to.equal(0n)
  })

  it('refuses more than is held', async () => {
    const { token, alice, bob } = await loadFixture(deployed)
    await expect(token.connect(alice).transfer(bob, 1n))
      .to.be.revertedWithCustomError(token, 'InsufficientBalance')
      .withArgs(alice.address, 1n, 0n)
    await expect(token.connect(alice).transfer(bob, 1n)).to.revert(ethers)
  })

  it('spends an allowance', async () => {
    const { token, owner, alice, bob } = await loadFixture(deployed)
    await (await token.approve(alice, 30n)).wait()
    await expect(token.connect(alice).transferFrom(owner, bob, 30n)).to.changeTokenBalance(
      ethers,
      token,
      bob,
      30n,
    )
    expect(await token.allowance(owner, alice)).to.equal(0n)
  })

  it('takes a permit that the node signed, once', async () => {
    const { token, owner, alice, bob } = await loadFixture(deployed)
    const { chainId } = await ethers.provider.getNetwork()
    const deadline = (await time.latest()) + 3600
    const verifyingContract = await token.getAddress()
    const names = ['owner', 'spender', 'value', 'nonce', 'deadline']
    const types = {
      Permit: names.map((name, at) => ({ name, type: at < 2 ? 'address' : 'uint256' })),
    }
    const signature = await owner.signTypedData(
      { name: 'Sample', version: '1', chainId, verifyingContract },
      types,
      { owner: owner.address, spender: alice.address, value: 9n, nonce: 0n, deadline },
    )
    const { v, r, s } = ethers.Signature.from(signature)
    const permit = () => token.connect(bob).permit(owner, alice, 9n, deadline, v, r, s)
    await expect(permit()).to.emit(token, 'Approval').withArgs(owner.address, alice.address, 9n)
    await expect(permit()).to.be.revertedWithCustomError(token, 'WrongSigner')
  })

  it('finds the slot of a balance', async () => {
    const { token, alice } = await loadFixture(deployed)
    const slot = ethers.solidityPackedKeccak256(['uint256', 'uint256'], [alice.address, 0])
    await networkHelpers.setStorageAt(await token.getAddress(), slot, 12n)
    expect(await token.balanceOf(alice)).to.equal(12n)
  })
})
