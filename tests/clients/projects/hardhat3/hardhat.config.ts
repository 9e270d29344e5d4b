// The compiler is the npm package, not a download.
import { createRequire } from 'node:module'
import hardhatEthers from '@nomicfoundation/hardhat-ethers'
import hardhatEthersChaiMatchers from '@nomicfoundation/hardhat-ethers-chai-matchers'
import hardhatMocha from '@nomicfoundation/hardhat-mocha'
import hardhatVerify from '@nomicfoundation/hardhat-verify'
import hardhatNetworkHelpers from '@nomicfoundation/hardhat-network-helpers'
import { configVariable, defineConfig } from 'hardhat/config'

const node = process.env.NODE_URL ?? ''

export default defineConfig({
  plugins: [hardhatEthers, hardhatEthersChaiMatchers, hardhatMocha, hardhatNetworkHelpers, hardhatVerify],
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
  chainDescriptors: {
    43112: {
      name: 'devnet',
      chainType: 'l1',
      blockExplorers: {
        etherscan: { name: 'Node', url: node, apiUrl: `${node}/api` },
        blockscout: { name: 'Node', url: node, apiUrl: `${node}/api` },
      },
    },
  },
  verify: {
    etherscan: { apiKey: 'any' },
    blockscout: { enabled: true },
    sourcify: { enabled: true, apiUrl: `${node}/server` },
  },
  test: {
    mocha: { reporter: 'json', reporterOptions: { output: process.env.REPORT }, timeout: 60_000 },
  },
})
