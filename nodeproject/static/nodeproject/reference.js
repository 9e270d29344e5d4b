// The reference is complete and readable without this script, which filters it, opens link targets, and tries methods.
'use strict'

const methods = [...document.querySelectorAll('.method')]

/** Only the browser knows the host name by which the page was fetched, and whether over TLS. */
for (const url of document.querySelectorAll('[data-origin]'))
  url.textContent = location.origin.replace(/^http/, url.dataset.origin)

/** Opens the method or type in the address's fragment, also if the address did not change. */
function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!named) return
  if (named.matches('details')) named.open = true
  if (named.closest('[hidden]')) {
    typed.value = ''
    choose()
  }
  named.scrollIntoView()
}
addEventListener('hashchange', openNamed)

const filter = document.querySelector('.filter')
const [typed, counted] = [filter.querySelector('input'), filter.querySelector('output')]
const texts = methods.map((method) => method.querySelector('summary').textContent.toLowerCase())

/** Shows the methods whose name and summary contain all typed words. */
function choose() {
  const words = typed.value.toLowerCase().split(/\s+/).filter(Boolean)
  const matching = methods.filter((method, index) => {
    method.hidden = !words.every((word) => texts[index].includes(word))
    return !method.hidden
  })
  for (const space of document.querySelectorAll('.namespace')) {
    space.hidden = !space.querySelector('.method:not([hidden])')
    document.querySelector(`[data-of="${CSS.escape(space.id)}"]`).hidden = space.hidden
  }
  for (const section of document.querySelectorAll('.interface'))
    section.hidden = words.length > 0 && !section.querySelector('.method:not([hidden])')
  counted.textContent = words.length ? `${matching.length} of ${methods.length}` : ''
}
filter.hidden = false
typed.addEventListener('input', choose)
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.matches('input, textarea')) return
  event.preventDefault()
  typed.focus()
})

/** Creates a method's form when it is opened for the first time. */
function prepare(method) {
  const form = method.querySelector('.try')
  if (!form || form.firstChild) return
  const [label, title, params, send, warning, got] =
    ['label', 'b', 'textarea', 'button', 'span', 'pre'].map((name) => document.createElement(name))
  title.textContent = 'Try it with params'
  params.value = form.dataset.params
  params.rows = Math.min(14, params.value.split('\n').length)
  params.spellcheck = false
  label.append(title, params)
  send.textContent = 'Send'
  warning.className = 'warn'
  warning.textContent = 'changes' in form.dataset ? 'This call changes the state of this node.' : ''
  got.className = 'got'
  got.hidden = true
  form.append(label, send, warning, got)
  form.hidden = false
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    send.disabled = true
    const answer = await ask(method, params.value)
    got.textContent = answer.text
    got.classList.toggle('failed', answer.failed)
    got.hidden = false
    send.disabled = false
  })
}

/** Sends a call to the node; returns the answer as text, and whether it is an error. */
async function ask(method, params) {
  const call = `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method.id)},"params":${params.trim() || 'null'}}`
  try {
    JSON.parse(call)
  } catch (error) {
    return { text: `The params are not valid JSON: ${error.message}`, failed: true }
  }
  try {
    const answer = await post(method.dataset.path, call)
    const text = await answer.text()
    if (!answer.ok) return { text: `${answer.status}: ${text.slice(0, MAX_SHOWN)}`, failed: true }
    return { text: indented(text), failed: 'error' in JSON.parse(text) }
  } catch (error) {
    return { text: `The node did not answer: ${error.message}`, failed: true }
  }
}

/** Sends a body; a node with NODE_RPC_TOKEN_FILE needs a token, which the user enters once for this tab. */
async function post(path, body) {
  const send = (token) => fetch(path, {
    method: 'POST', headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }, body,
  })
  const answer = await send(sessionStorage.getItem('rpc-token'))
  if (answer.status !== 401) return answer
  const token = prompt('The RPC interfaces of this node need a token:')?.trim()
  if (!token) return answer
  sessionStorage.setItem('rpc-token', token)
  return send(token)
}

/** Maximum characters of an answer that are shown, and maximum levels that are indented: a trace may have megabytes. */
const [MAX_SHOWN, MAX_LEVELS] = [1 << 18, 64]

/** JSON with line breaks; numbers stay as they arrived, also those beyond a script's precision. */
function indented(text) {
  const shown = []
  let depth = 0
  let last = ''
  for (const [part] of text.slice(0, MAX_SHOWN).matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^"[\]{},:\s]+/g)) {
    const [opened, closes] = ['{['.includes(last), '}]'.includes(part)]
    if (closes) depth -= 1
    if (last && (closes ? !opened : opened || last === ','))
      shown.push('\n', '  '.repeat(Math.min(depth, MAX_LEVELS)))
    if ('{['.includes(part)) depth += 1
    shown.push(part === ':' ? ': ' : part)
    last = part
  }
  const more = text.length - MAX_SHOWN
  if (more > 0) shown.push(`\n… and ${more} more characters; run the call above in a shell to see all`)
  return shown.join('') || text
}

for (const method of methods) method.addEventListener('toggle', () => method.open && prepare(method))
openNamed()
