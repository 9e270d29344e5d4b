// Reads standard JSON for Solidity's compiler from the input and prints {version, output}: one job, one process.
// The argument is the folder of an npm package `solc`. No callback is given: nothing is read but the input.
'use strict'
const { readFileSync } = require('node:fs')
const { resolve } = require('node:path')

const MOST = 12 * 1024 * 1024

const solc = require(resolve(process.argv[2]))
// The package makes itself the handler of all failures, and would print them as if they were its own.
for (const event of ['uncaughtException', 'unhandledRejection']) process.removeAllListeners(event)

const compile = solc.compileStandardWrapper ?? solc.compile
const output = compile(readFileSync(0, 'utf8'))
if (output.length > MOST) throw new Error(`the output has more than ${MOST} characters`)
process.stdout.write(JSON.stringify({ version: solc.version(), output: JSON.parse(output) }))
