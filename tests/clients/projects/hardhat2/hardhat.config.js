// The compiler is the npm package that Hardhat itself depends on, not a download.
const { subtask } = require('hardhat/config')
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require('hardhat/builtin-tasks/task-names')
const solc = require('solc')
require('@nomicfoundation/hardhat-ethers')
require('@nomicfoundation/hardhat-chai-matchers')
require('@nomicfoundation/hardhat-verify')
require('@openzeppelin/hardhat-upgrades')
require('hardhat-deploy')

const [longVersion] = solc.version().split('.Emscripten')
const [version] = longVersion.split('+')

subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  compilerPath: require.resolve('solc/soljson.js'),
  isSolcJs: true,
  version,
  longVersion,
}))

module.exports = {
  solidity: { version, settings: { evmVersion: 'cancun' } },
  namedAccounts: { deployer: 0, alice: 1 },
  networks: { devnet: { url: process.env.NODE_URL } },
  etherscan: {
    apiKey: { devnet: 'any' },
    customChains: [
      {
        network: 'devnet',
        chainId: 43112,
        urls: { apiURL: `${process.env.NODE_URL}/api`, browserURL: process.env.NODE_URL },
      },
    ],
  },
  sourcify: { enabled: true, apiUrl: process.env.NODE_URL, browserUrl: process.env.NODE_URL },
  mocha: {
    reporter: 'json',
    reporterOptions: { output: process.env.REPORT },
    timeout: 60_000,
  },
}
