const { loadFixture } = require('@nomicfoundation/hardhat-network-helpers')
const { expect } = require('chai')
const { ethers, upgrades } = require('hardhat')
const { mined } = require('../contracts')

const factory = (...options) => ethers.getContractFactory(...options)

describe('OpenZeppelin upgrades', () => {
  for (const kind of ['uups', 'transparent']) {
    describe(kind, () => {
      async function deployed() {
        const [owner, alice] = await ethers.getSigners()
        const box = await upgrades.deployProxy(await factory('Box'), [42n], { kind })
        await box.waitForDeployment()
        return { box, address: await box.getAddress(), owner, alice }
      }

      it('deploys a proxy that is initialized once', async () => {
        const { box, owner } = await loadFixture(deployed)
        expect(await box.value()).to.equal(42n)
        expect(await box.owner()).to.equal(owner.address)
        const again = box.initialize(1n)
        await expect(again).to.be.revertedWithCustomError(box, 'InvalidInitialization')
      })

      it('upgrades the proxy and keeps its state', async () => {
        const { box, address } = await loadFixture(deployed)
        await mined(box.store(7n))
        const before = await upgrades.erc1967.getImplementationAddress(address)
        const next = await upgrades.upgradeProxy(address, await factory('BoxV2'), { kind })
        expect(await next.getAddress()).to.equal(address)
        expect(await upgrades.erc1967.getImplementationAddress(address)).to.not.equal(before)
        await mined(next.increment())
        expect(await next.value()).to.equal(8n)
        expect(await next.version()).to.equal(2n)
      })

      it('rejects an incompatible storage layout', async () => {
        const { address } = await loadFixture(deployed)
        const upgraded = upgrades.upgradeProxy(address, await factory('OtherBox'), { kind })
        await expect(upgraded).to.be.rejectedWith('New storage layout is incompatible')
      })

      it('lets only the owner upgrade', async () => {
        const { address, alice } = await loadFixture(deployed)
        const upgraded = upgrades.upgradeProxy(address, await factory('BoxV2', alice), { kind })
        await expect(upgraded).to.be.rejected
      })
    })
  }

  it('upgrades all proxies of a beacon', async () => {
    const box = await factory('Box')
    const beacon = await upgrades.deployBeacon(box)
    const proxies = []
    for (const value of [1n, 2n])
      proxies.push(await upgrades.deployBeaconProxy(beacon, box, [value]))
    await upgrades.upgradeBeacon(beacon, await factory('BoxV2'))
    for (const proxy of proxies) expect(await proxy.version()).to.equal(2n)
  })

  it('imports an existing proxy', async () => {
    const box = await factory('Box')
    const proxy = await upgrades.deployProxy(box, [5n], { kind: 'uups' })
    const imported = await upgrades.forceImport(await proxy.getAddress(), box, { kind: 'uups' })
    expect(await imported.value()).to.equal(5n)
  })
})
