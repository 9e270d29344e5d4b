module.exports = async ({ getNamedAccounts, deployments }) => {
  const { deployer, alice } = await getNamedAccounts()
  await deployments.execute('Token', { from: deployer }, 'transfer', alice, 500n)
}
module.exports.tags = ['Funded']
module.exports.dependencies = ['Token']
