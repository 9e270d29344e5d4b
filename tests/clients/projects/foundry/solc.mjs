#!/usr/bin/env node
// A compiler binary for forge that wraps the npm package, because no registry has another one. It supports
// the two calls that forge makes: --version, and standard JSON on the standard input.
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
