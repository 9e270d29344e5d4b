// Compiles contracts/*.sol and prints {name: {abi, bytecode, deployed, settings}} as JSON.
import { readdirSync, readFileSync } from 'node:fs'
import solc from 'solc'

const folder = new URL('contracts/', import.meta.url)
const names = readdirSync(folder).filter((name) => name.endsWith('.sol'))
const input = {
  language: 'Solidity',
  sources: Object.fromEntries(
    names.map((name) => [name, { content: readFileSync(new URL(name, folder), 'utf8') }]),
  ),
  settings: {
    evmVersion: 'prague',
    optimizer: { enabled: true, runs: 200 },
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
  },
}
const output = JSON.parse(solc.compile(JSON.stringify(input)))
const errors = (output.errors ?? []).filter((one) => one.severity === 'error')
if (errors.length) throw new Error(errors.map((one) => one.formattedMessage).join('\n'))

const compiled = {}
for (const file of Object.values(output.contracts)) {
  for (const [name, { abi, evm }] of Object.entries(file)) {
    compiled[name] = {
      abi,
      bytecode: '0x' + evm.bytecode.object,
      deployed: '0x' + evm.deployedBytecode.object,
      settings: input.settings,
    }
  }
}
console.log(JSON.stringify(compiled))
