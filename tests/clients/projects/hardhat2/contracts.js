const { ethers } = require('hardhat')

/** Deploy a contract and wait until its code is there. */
exports.deploy = async (name, ...options) => {
  const contract = await ethers.deployContract(name, ...options)
  return contract.waitForDeployment()
}

/** Wait for the receipt of a sent transaction. */
exports.mined = async (sent) => (await sent).wait()
