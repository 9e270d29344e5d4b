const { expect } = require('chai')
const { deployments, ethers, getNamedAccounts } = require('hardhat')

const SUPPLY = 10n ** 21n
const SALT = `0x${'01'.repeat(32)}`

describe('hardhat-deploy', () => {
  async function token() {
    const { address } = await deployments.get('Token')
    return ethers.getContractAt('Token', address)
  }

  it('runs a script after those that it depends on', async () => {
    await deployments.fixture(['Funded'])
    const { alice } = await getNamedAccounts()
    expect(await (await token()).balanceOf(alice)).to.equal(500n)
  })

  it('starts each fixture with the same state', async () => {
    const { alice } = await getNamedAccounts()
    for (let run = 0; run < 2; run++) {
      await deployments.fixture(['Funded'])
      const deployed = await token()
      await (await deployed.transfer(alice, 7n)).wait()
      expect(await deployed.balanceOf(alice)).to.equal(507n)
    }
  })

  it('deploys a contract once', async () => {
    await deployments.fixture(['Token'])
    const { deployer } = await getNamedAccounts()
    const first = await deployments.get('Token')
    const again = await deployments.deploy('Token', { from: deployer, args: [SUPPLY] })
    expect(again.newlyDeployed).to.equal(false)
    expect(again.address).to.equal(first.address)
  })

  it('deploys with CREATE2 to the computed address', async () => {
    const { deployer } = await getNamedAccounts()
    const options = { from: deployer, salt: SALT, args: [1n], contract: 'Token' }
    const { address, deploy } = await deployments.deterministic('Deterministic', options)
    expect((await deploy()).address).to.equal(address)
    expect(await ethers.provider.getCode(address)).to.not.equal('0x')
  })

  it('upgrades its own proxies', async () => {
    const { deployer } = await getNamedAccounts()
    const proxy = {
      proxyContract: 'UUPS',
      execute: { init: { methodName: 'initialize', args: [42n] } },
      upgradeFunction: {
        methodName: 'upgradeToAndCall',
        upgradeArgs: ['{implementation}', '{data}'],
      },
    }
    const options = { from: deployer, proxy }
    const first = await deployments.deploy('Upgraded', { ...options, contract: 'Box' })
    const second = await deployments.deploy('Upgraded', { ...options, contract: 'BoxV2' })
    expect(second.address).to.equal(first.address)
    const box = await ethers.getContractAt('BoxV2', first.address)
    expect(await box.value()).to.equal(42n)
    expect(await box.version()).to.equal(2n)
  })
})
