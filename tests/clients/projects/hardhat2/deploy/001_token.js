const SUPPLY = 10n ** 21n

module.exports = async ({ getNamedAccounts, deployments }) => {
  const { deployer } = await getNamedAccounts()
  await deployments.deploy('Token', { from: deployer, args: [SUPPLY] })
}
module.exports.tags = ['Token']
