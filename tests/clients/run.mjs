// `node run.mjs LIBRARY SCENARIO ARGUMENTS`: runs one scenario of a library's module and prints what
// it found as JSON, whole numbers beyond 53 bits as text. A scenario that throws fails the test.
const [library, scenario, argumentsText] = process.argv.slice(2)
const scenarios = await import(`./${library}.mjs`)
const found = await scenarios[scenario](JSON.parse(argumentsText))
const text = JSON.stringify(found, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
// Sockets and timers of a client must not keep the test waiting; a long text has to be through the pipe.
process.stdout.write(text, () => process.exit(0))
