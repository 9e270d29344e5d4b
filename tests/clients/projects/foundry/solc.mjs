#!/usr/bin/env node
// A compiler's program as forge starts one, made of the npm package: no other is to be had
// from a registry. It knows the two calls that it makes: --version, and standard JSON from the input.
import { readFileSync } from 'node:fs'
import solc from 'solc'

if (process.argv.includes('--version')) {
  const [version] = solc.version().split('.Emscripten')
  console.log(`solc, the solidity compiler commandline interface\nVersion: ${version}.Linux.g++`)
} else if (process.argv.includes('--standard-json')) {
  process.stdout.write(solc.compile(readFileSync(0, 'utf8')))
} else {
  console.error('solc.mjs: --version or --standard-json')
  process.exitCode = 1
}
