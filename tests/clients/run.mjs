// `node run.mjs LIBRARY SCENARIO ARGUMENTS`: runs a scenario of a library's module and prints its result as JSON,
// with integers beyond 53 bits as text. A scenario that throws an error fails the test.
const [library, scenario, argumentsText] = process.argv.slice(2)
const scenarios = await import(`./${library}.mjs`)
const found = await scenarios[scenario](JSON.parse(argumentsText))
const text = JSON.stringify(found, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
// Exit after a long text is written completely, without waiting for the sockets and timers of a client.
process.stdout.write(text, () => process.exit(0))
