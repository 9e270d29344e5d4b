// The compiler is the npm package, not a download.
import { createRequire } from 'node:module'
import hardhatEthers from '@nomicfoundation/hardhat-ethers'
import hardhatEthersChaiMatchers from '@nomicfoundation/hardhat-ethers-chai-matchers'
import hardhatMocha from '@nomicfoundation/hardhat-mocha'
import hardhatNetworkHelpers from '@nomicfoundation/hardhat-network-helpers'
import { configVariable, defineConfig } from 'hardhat/config'

export default defineConfig({
  plugins: [hardhatEthers, hardhatEthersChaiMatchers, hardhatMocha, hardhatNetworkHelpers],
  solidity: {
    compilers: [
      {
        version: '0.8.37',
        path: createRequire(import.meta.url).resolve('solc/soljson.js'),
        settings: { evmVersion: 'prague' },
      },
    ],
  },
  networks: {
    devnet: { type: 'http', chainType: 'l1', url: configVariable('NODE_URL') },
  },
  test: {
    mocha: { reporter: 'json', reporterOptions: { output: process.env.REPORT }, timeout: 60_000 },
  },
})
