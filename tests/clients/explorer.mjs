// The explorer in a real browser: all pages on a desktop and a phone screen, live heads, search, and the write form's wallet.
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { openPage, picture } from './browser.mjs'

const SCREENS = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

const open = (viewport, options = {}) => openPage({ viewport, ...options }, 60_000)

/** Returns the parts that overflow the window, without those inside of a scrollable part. */
function sticksOut() {
  const width = document.documentElement.clientWidth
  const scrolls = (part) => part && (getComputedStyle(part).overflowX !== 'visible' || scrolls(part.parentElement))
  return [...document.body.querySelectorAll('*')]
    .filter((part) => part.getBoundingClientRect().right > width + 1 && !scrolls(part.parentElement))
    .map((part) => `${part.tagName}.${part.className}`)
    .slice(0, 5)
}

/** Returns what is wrong with a page on a phone: a head above 96 px, a current tab or a part of a list that is not in view. */
async function phoneFaults() {
  const closed = [...document.querySelectorAll('details:not([open])')]
  for (const part of closed) part.open = true
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame)
  const { bottom } = document.querySelector('header.top').getBoundingClientRect()
  const outside = (part) => {
    const { left, right } = part.getBoundingClientRect()
    return left < 0 || right > document.documentElement.clientWidth
  }
  const tabs = [...document.querySelectorAll('main nav [aria-current]')].filter(outside)
  const lists = [...document.querySelectorAll('.scroll')]
    .filter((list) => list.scrollWidth > list.clientWidth)
    .map((list) => list.innerText.slice(0, 60))
  for (const part of closed) part.open = false
  return [
    ...(bottom > 96 ? [`the head is ${bottom} px high`] : []),
    ...tabs.map((entry) => `${entry.innerText} is not in view`),
    ...lists.map((text) => `a list is cut: ${text}`),
  ]
}

/** Opens the menu of a page on a phone; returns its entries, and which of them is the current one. */
async function menuOf(page) {
  await page.click('button.menu')
  const entries = await page.locator('#menu a').allInnerTexts()
  const current = await page.locator('#menu a[aria-current]').allInnerTexts()
  await page.keyboard.press('Escape')
  await page.locator('#menu').waitFor({ state: 'hidden' })
  return { entries, current }
}

/** Returns faults of a page on a desk: lists beside others that do not fit into their column. */
function deskFaults() {
  const wide = [...document.querySelectorAll('.columns .scroll')].filter((list) => list.scrollWidth > list.clientWidth)
  return wide.map((list) => `${list.closest('.panel')?.querySelector('h2')?.innerText} scrolls sideways`)
}

/** Runs axe on a page, measures it and takes a screenshot; adds problems to the faults. */
async function audit(page, name, screen, screenshots, faults) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
  if (wide) faults.push(`${name} on a ${screen} is too wide: ${await page.evaluate(sticksOut)}`)
  for (const fault of await page.evaluate(screen === 'phone' ? phoneFaults : deskFaults)) faults.push(`${name}: ${fault}`)
  await page.evaluate(await readFile(AXE, 'utf8'))
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  for (const one of found.violations)
    if (['serious', 'critical'].includes(one.impact))
      faults.push(`${name} on a ${screen}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(' ')}`)
  await picture(page, screenshots, `${name}-${screen}`)
}

/** Opens pages by name on both screens in parallel, in light and dark mode, and runs axe on each. */
export async function look({ base, pages, screenshots }) {
  const screens = await Promise.all(Object.keys(SCREENS).map((screen) => lookOn(screen, { base, pages, screenshots })))
  return { seen: Object.assign({}, ...screens.map((one) => one.seen)), faults: screens.flatMap((one) => one.faults) }
}

async function lookOn(screen, { base, pages, screenshots }) {
  const colorScheme = screen === 'desk' ? 'light' : 'dark'
  // The pages' content security policy is bypassed only to inject axe.
  const { context, page, faults } = await open(SCREENS[screen], { bypassCSP: true, colorScheme })
  const seen = {}
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(`${base}${path}`)
    await page.waitForLoadState('load')
    await audit(page, name, screen, screenshots, faults)
    seen[`${name}-${screen}`] = await page.innerText('body')
    if (name === 'validators' && screen === 'phone') seen.menu = await menuOf(page)
  }
  await context.close()
  return { seen, faults }
}

/** Moves the pointer over a chart; returns the labels of its axes and the values that it shows, in two time zones. */
export async function chart({ base, path }) {
  const seen = []
  const faults = []
  for (const timezoneId of ['Asia/Tokyo', 'America/New_York']) {
    const { context, page, faults: met } = await open(SCREENS.phone, { timezoneId })
    await page.goto(`${base}${path}`)
    const plot = page.locator('.u-over').first()
    const { x, y, width, height } = await plot.boundingBox()
    const values = () => page.locator('.u-legend').first().innerText()
    const latest = await values()
    await page.mouse.move(x + 2, y + height / 2)
    const first = await values()
    await page.mouse.move(x + width - 2, y + height / 2)
    const labels = await page.evaluate(() => timeLabels(null, [86_399, 86_400, 86_460, 172_800], 0, 0, 1))
    seen.push({ latest, first, last: await values(), labels, days: await page.evaluate(() => timeLabels(null, [86_400], 0, 0, 86_400)) })
    faults.push(...met)
    await context.close()
  }
  return { seen, faults }
}

/** Chooses themes in the explorer and in the admin; returns after each choice whether both are dark. */
export async function themes({ base, password }) {
  const { context, page, faults } = await open(SCREENS.desk, { colorScheme: 'light' })
  const admin = await context.newPage()
  await admin.goto(`${base}/admin/`)
  await admin.fill('input[name=username]', 'admin')
  await admin.fill('input[name=password]', password)
  await admin.press('input[name=password]', 'Enter')
  await admin.waitForURL(`${base}/admin/`)
  await page.goto(`${base}/`)
  const isDark = (one) => one.evaluate(() => getComputedStyle(document.documentElement).colorScheme === 'dark')
  const seen = []
  const look = async (wanted) => {
    for (const one of [page, admin])
      await one.waitForFunction((dark) => (getComputedStyle(document.documentElement).colorScheme === 'dark') === dark, wanted)
    const fresh = await context.newPage()
    await fresh.goto(`${base}/ext/docs`)
    seen.push([await isDark(page), await isDark(admin), await isDark(fresh)])
    await fresh.close()
  }
  await look(false)
  await page.click('[data-choose-theme=dark]')
  await look(true)
  await admin.evaluate(() => Alpine.$data(document.documentElement).switchTheme('light'))
  await look(false)
  const pressed = await page.getAttribute('[data-choose-theme=light]', 'aria-pressed')
  await context.close()
  return { seen, pressed, faults }
}

/** Sends a transaction while a chain's front page is open, and waits until the page shows its block without a reload. */
export async function live({ base, raw, pages = '', rpc = '/ext/bc/C' }) {
  const { context, page, faults } = await open(SCREENS.desk)
  const subscribed = page.waitForEvent('websocket').then((socket) => socket.waitForEvent('framereceived'))
  await page.goto(`${base}${pages || '/'}`)
  await subscribed
  const before = Number((await page.innerText('[data-head]')).replaceAll(',', ''))
  const hash = await page.evaluate(async ({ url, signed }) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [signed] })
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return (await answer.json()).result
  }, { url: `${base}${rpc}/rpc`, signed: raw })
  await page.waitForFunction(
    (height) => Number(document.querySelector('[data-head]').innerText.replaceAll(',', '')) > height, before,
  )
  await page.waitForSelector(`a[href="${new URL(base).pathname.replace(/\/$/, '')}${pages}/tx/${hash}"]`)
  const after = Number((await page.innerText('[data-head]')).replaceAll(',', ''))
  await context.close()
  return { before, after, hash, faults }
}

/** Chooses a chain in the switch of each page, on both screens; returns its entries and where the choices led. */
export async function switchChains({ base, from, to }) {
  const seen = []
  const faults = []
  for (const screen of Object.values(SCREENS)) {
    const { context, page, faults: met } = await open(screen)
    await page.goto(`${base}${from}`)
    await page.click('details.switch > summary')
    const entries = await page.locator('details.switch a').allInnerTexts()
    await page.keyboard.press('Escape')
    const left = await page.locator('details.switch[open]').count()
    await page.click('details.switch > summary')
    await page.click(`details.switch a:has-text("${to}")`)
    await page.waitForLoadState('load')
    seen.push({ entries, left, path: new URL(page.url()).pathname, chosen: await page.innerText('details.switch > summary') })
    faults.push(...met)
    await context.close()
  }
  return { seen, faults }
}

/** Opens, scrolls and focuses parts of the front page, makes it refresh, and returns their state. */
export async function keepsReading({ base }) {
  // The pages' content security policy is bypassed only to add a style.
  const { context, page, faults } = await open({ width: 320, height: 700 }, { bypassCSP: true })
  await page.goto(`${base}/`)
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  // On a larger screen lists scroll, if they are wider than their place.
  await page.setViewportSize({ width: 1020, height: 700 })
  await page.addStyleTag({ content: '.scroll { width: 12rem }' })
  await page.click('details.health summary')
  const drawn = async (selected) => {
    await page.evaluate((focus) => {
      for (const one of document.querySelectorAll('#front .scroll')) one.scrollLeft = 40
      document.querySelector(focus).focus()
      window.old = document.getElementById('front')
      window.scrolls = [...document.querySelectorAll('#front .scroll')].map((one) => one.scrollLeft)
      document.body.dispatchEvent(new CustomEvent('head'))
    }, selected)
    await page.waitForFunction(() => document.getElementById('front') !== window.old)
    return page.evaluate(() => ({
      open: document.querySelector('details.health').open,
      scrolls: [window.scrolls, [...document.querySelectorAll('#front .scroll')].map((one) => one.scrollLeft)],
      focus: document.activeElement.getAttribute('href') ?? document.activeElement.localName,
    }))
  }
  const link = await drawn('#front a.more[href="/p/txs"]')
  await page.waitForTimeout(1000) // the page refreshes at most once a second
  const summary = await drawn('details.health summary')
  await page.evaluate(() => document.getSelection().selectAllChildren(document.querySelector('h2')))
  const asked = await page.evaluate(() => {
    let heads = 0
    document.body.addEventListener('head', () => { heads += 1 })
    announceHead()
    document.getSelection().removeAllRanges()
    announceHead()
    return heads
  })
  await context.close()
  return { wide, link, summary, asked, faults }
}

/** Announces wallets as extensions do (EIP-6963): one adds the chain, one refuses; a third has an icon of another host. */
function announceWallets() {
  window.asked = []
  const icon = 'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg"/%3E'
  const answers = { Willing: async () => null, Unwilling: async () => { throw new Error('the user refused') }, Foreign: async () => null }
  const wallets = Object.entries(answers).map(([name, answer]) => Object.freeze({
    info: { uuid: name, name, rdns: 'test', icon: name === 'Foreign' ? 'https://example.com/icon.png' : icon },
    provider: { request: (request) => { window.asked.push(request); return answer() } },
  }))
  const announce = () => wallets.forEach((detail) => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail })))
  addEventListener('eip6963:requestProvider', announce)
  announce()
}

/** Adds the chain to wallets on the page for connecting, copies values, and opens the page without a wallet. */
export async function connect({ base }) {
  const { context, page, faults } = await open(SCREENS.desk, { permissions: ['clipboard-read', 'clipboard-write'] })
  await page.goto(`${base}/connect`)
  await page.locator('.no-wallet').waitFor()
  const without = await page.locator('.no-wallet').innerText()
  const copied = []
  for (const line of ['dt:text-is("RPC URL") + dd', '.snippet:has-text("cast block-number")']) {
    await page.click(`${line} button.copy`)
    await page.locator(`${line} button.copy.done`).waitFor()
    copied.push(await page.evaluate(() => navigator.clipboard.readText()))
  }
  await page.addInitScript(announceWallets)
  await page.reload()
  const names = await page.locator('.wallets button').allInnerTexts()
  const icons = await page.locator('.wallets img').evaluateAll((images) => images.map((image) => image.src.slice(0, 10)))
  const said = []
  for (const name of ['Willing', 'Unwilling']) {
    await page.click(`.wallets button:has-text("${name}")`)
    await page.waitForFunction((other) => document.querySelector('.wallet-status').innerText.includes(other), name)
    said.push(await page.innerText('.wallet-status'))
  }
  const asked = await page.evaluate(() => window.asked)
  await context.close()
  return { without, copied, names, icons, said, asked, faults }
}

/** Uses the search box: first a suggestion, then a full text with the Enter key. */
export async function search({ base, typed, whole }) {
  const { context, page, faults } = await open(SCREENS.desk)
  await page.goto(`${base}/`)
  await page.keyboard.press('/')
  await page.keyboard.type(typed)
  // On a busy machine there are suggestions for the first letters too, before the whole text is typed.
  await page.click(`#suggestions a:has-text("${typed}")`)
  await page.waitForURL((url) => url.href !== `${base}/`)
  const suggested = new URL(page.url()).pathname
  await page.fill('.search input', whole)
  await page.press('.search input', 'Enter')
  await page.waitForURL((url) => url.pathname !== suggested)
  const found = new URL(page.url()).pathname
  await context.close()
  return { suggested, found, faults }
}

/** Pages through a list of transactions, returns to the newest, and lets the faucet pay to an address. */
export async function turnAndTake({ base, list, thirsty }) {
  const { context, page, faults } = await open(SCREENS.desk)
  const hashes = () => page.$$eval('tbody td:first-child a', (links) => links.map((link) => link.getAttribute('href')))
  await page.goto(`${base}${list}`)
  const lists = [await hashes()]
  for (const words of ['Older', 'Older', 'Newest']) {
    const here = page.url()
    await page.click(`nav[aria-label="Pages of the list"] >> text=${words}`)
    await page.waitForURL((url) => url.href !== here)
    lists.push(await hashes())
  }
  await page.click('nav[aria-label="Pages"] >> text=Faucet')
  await page.fill('#address', thirsty)
  await page.click('form.faucet button')
  const given = await page.innerText('[role=status]')
  const coins = Number(/([\d,]+) AVAX/.exec(given)[1].replaceAll(',', ''))
  await page.click('[role=status] a')
  await page.waitForURL('**/tx/0x*')
  await context.close()
  return { lists, given, coins, faults }
}

/** Returns the text of a page without scripts. */
export async function withoutScripts({ base, path }) {
  const { context, page, faults } = await open(SCREENS.desk, { javaScriptEnabled: false })
  await page.goto(`${base}${path}`)
  const text = await page.innerText('main')
  await context.close()
  return { text, faults }
}

/** A wallet for the page: it knows the node's chain after the page adds it, and lets the node sign for one account. */
function wallet({ account, chain }) {
  const asked = []
  let current = '0x1'
  let known = false
  const send = async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = await fetch('/ext/bc/C/rpc', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { result, error } = await answer.json()
    if (error) throw Object.assign(new Error(error.message), { code: error.code })
    return result
  }
  const methods = {
    eth_requestAccounts: () => [account],
    eth_chainId: () => current,
    wallet_switchEthereumChain: ([{ chainId }]) => {
      if (!known || chainId !== chain) throw Object.assign(new Error('Unrecognized chain ID'), { code: 4902 })
      current = chainId
      return null
    },
    wallet_addEthereumChain: ([{ chainId, rpcUrls }]) => {
      known = chainId === chain && rpcUrls[0].endsWith('/ext/bc/C/rpc')
      return null
    },
    eth_sendTransaction: ([transaction]) => {
      if (current !== chain) throw new Error('another chain')
      return send('eth_sendTransaction', [transaction])
    },
  }
  window.asked = asked
  window.ethereum = {
    request: async ({ method, params }) => {
      asked.push(method)
      return methods[method](params)
    },
  }
}

/** Opens the form of a function, fills its fields and submits it; returns the form in the response. */
async function fill(page, name, fields) {
  const block = page.locator('details.function').filter({ has: page.locator('summary b', { hasText: new RegExp(`^${name}$`) }) })
  await block.locator('summary').click()
  for (const [field, value] of Object.entries(fields)) {
    const input = block.locator(`[name="${field}"]`)
    if ((await input.evaluate((part) => part.tagName)) === 'SELECT') await input.selectOption(value)
    else await input.fill(value)
  }
  await block.locator('button[type=submit]').click()
  await block.locator('.outcome, .error').first().waitFor()
  return block
}

/** Sends the transaction prepared by a form, and returns the page's message once the receipt is there. */
async function send(block, button) {
  await block.locator(`[data-send="${button}"]`).click()
  await block.locator('.send-status .badge.good, .send-status .badge.bad').waitFor()
  return block.locator('.send-status').innerText()
}

/** Reads and writes a contract on both screens, with a wallet and with the node's account, and reads its storage. */
export async function contract({ base, address, account, chain, count, screenshots }) {
  const faults = []
  const seen = {}
  for (const [screen, viewport] of Object.entries(SCREENS)) {
    const colorScheme = screen === 'desk' ? 'light' : 'dark'
    const { context, page, faults: met } = await open(viewport, { colorScheme })
    const audited = async (name, text) => {
      await audit(page, name, screen, screenshots, met)
      seen[`${name}-${screen}`] = text
    }
    await page.addInitScript(wallet, { account, chain })

    await page.goto(`${base}/address/${address}/write`)
    const set = await fill(page, 'setNumber', { a0: count[screen] })
    await page.evaluate(() => {
      const { fetch } = window
      let looks = 0
      window.fetch = (url, given) => /getTransactionReceipt/.test(given?.body) && !looks++ ? Promise.reject(new Error('away')) : fetch(url, given)
    })
    const byWallet = await send(set, 'wallet')
    seen[`asked-${screen}`] = await page.evaluate(() => window.asked)
    const drawers = '[{"width": 5, "depth": -1, "locked": true, "label": "new", "sizes": [1, 2]}]'
    const filled = await fill(page, 'fill', { a0: drawers, a1: '-7', coins: '0.25' })
    await filled.locator('select').selectOption(account)
    await audited('contract-write', [byWallet, await send(filled, 'node')])

    await page.goto(`${base}/address/${address}/write`)
    const refused = await fill(page, 'refuse', { a0: '7' })
    const unsent = await send(refused, 'node')
    await page.evaluate(() => { window.ethereum.request = () => Promise.reject() })
    const unexplained = await send(refused, 'wallet')
    seen[`contract-unexplained-${screen}`] = [unexplained, await refused.locator('[data-send="wallet"]').isEnabled()]
    const bad = await fill(page, 'setNumber', { a0: 'many' })
    await audited('contract-refused', [unsent, await bad.locator('.error').innerText()])

    await page.goto(`${base}/address/${address}/read`)
    await page.locator('dd', { hasText: 'Cabinet' }).waitFor()
    const values = await page.locator('dl').last().innerText()
    const sum = await fill(page, 'sum', { a0: '[20, 1]', a1: 'true' })
    const opened = await fill(page, 'open', { a0: '9' })
    seen[`contract-busy-${screen}`] = await opened.evaluate((block) => {
      const elt = block.querySelector('form')
      htmx.trigger(elt, 'htmx:responseError', { elt, xhr: { status: 429, statusText: '<b>Too Many Requests' } })
      return elt.querySelector('[role=alert]').textContent
    })
    await audited('contract-read', [values, await sum.locator('.outcome').innerText(), await opened.locator('.outcome').innerText()])

    await page.goto(`${base}/address/${address}/storage`)
    const held = page.locator('.stored > li').filter({ has: page.locator('.name', { hasText: /^heldBy$/ }) })
    await held.locator('input[name=k0]').fill(account)
    await held.locator('button').click()
    await held.locator('.looked-up .is').waitFor()
    await audited('contract-storage', [await page.innerText('main'), await held.locator('.looked-up').innerText()])
    faults.push(...met)
    await context.close()
  }
  return { seen, faults }
}

/** Submits a form without scripts; returns its text in the response. */
export async function plainForm({ base, path, name, fields }) {
  const { context, page, faults } = await open(SCREENS.desk, { javaScriptEnabled: false })
  await page.goto(`${base}${path}`)
  const block = await fill(page, name, fields)
  const text = await block.innerText()
  await context.close()
  return { text, faults }
}

/** Takes WebP screenshots of pages for the docs: the first screen of each, with the given parts unfolded. */
export async function pictures({ base, pages, folder }) {
  const { context, page, faults } = await open({ width: 1320, height: 880 }, { deviceScaleFactor: 1.25 })
  const session = await page.context().newCDPSession(page)
  for (const [name, { path, height = 880, unfold = [] }] of Object.entries(pages)) {
    await page.setViewportSize({ width: 1320, height })
    await page.goto(`${base}${path}`)
    await page.waitForLoadState('load')
    for (const words of unfold) await page.click(`summary:has-text("${words}")`)
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 })
    await writeFile(`${folder}/${name}.webp`, Buffer.from(data, 'base64'))
  }
  await context.close()
  return { faults }
}
