// The explorer in a real browser: every page on a desk and on a phone, live heads, search, and the write form's wallet.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

const SCREENS = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

async function open(viewport, options = {}) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
      '--disable-background-networking', '--disable-component-update',
    ],
  })
  // Past the policy of the pages only for what the test itself brings in: axe.
  const context = await browser.newContext({ viewport, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const faults = []
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('response', (answer) => answer.status() >= 400 && faults.push(`${answer.status()} ${answer.url()}`))
  return { browser, page, faults }
}

/** What a page is too wide for: the parts that stick out of the window, without those inside of a part that scrolls. */
function sticksOut() {
  const width = document.documentElement.clientWidth
  const scrolls = (part) => part && (getComputedStyle(part).overflowX !== 'visible' || scrolls(part.parentElement))
  return [...document.body.querySelectorAll('*')]
    .filter((part) => part.getBoundingClientRect().right > width + 1 && !scrolls(part.parentElement))
    .map((part) => `${part.tagName}.${part.className}`)
    .slice(0, 5)
}

/** Opens pages by name on both screens, light and dark, and lets axe look at each. */
export async function look({ base, pages, screenshots }) {
  const axe = await readFile(AXE, 'utf8')
  const faults = []
  const seen = {}
  for (const [screen, viewport] of Object.entries(SCREENS)) {
    const colorScheme = screen === 'desk' ? 'light' : 'dark'
    const { browser, page, faults: met } = await open(viewport, { bypassCSP: true, colorScheme })
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(`${base}${path}`)
      await page.waitForLoadState('load')
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
      if (wide) met.push(`${name} on a ${screen} is too wide: ${await page.evaluate(sticksOut)}`)
      await page.evaluate(axe)
      const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
      for (const one of found.violations)
        if (['serious', 'critical'].includes(one.impact))
          met.push(`${name} on a ${screen}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(' ')}`)
      await page.screenshot({ path: `${screenshots}/${name}-${screen}.png`, fullPage: true })
      seen[`${name}-${screen}`] = await page.innerText('body')
    }
    faults.push(...met)
    await browser.close()
  }
  return { seen, faults }
}

/** Sends a transaction while the front page is open, and waits until the page shows the block by itself. */
export async function live({ base, raw }) {
  const { browser, page, faults } = await open(SCREENS.desk)
  const subscribed = page.waitForEvent('websocket').then((socket) => socket.waitForEvent('framereceived'))
  await page.goto(`${base}/`)
  await subscribed
  const before = Number((await page.innerText('[data-head]')).replaceAll(',', ''))
  const hash = await page.evaluate(async (signed) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [signed] })
    const answer = await fetch('/ext/bc/C/rpc', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return (await answer.json()).result
  }, raw)
  await page.waitForFunction(
    (height) => Number(document.querySelector('[data-head]').innerText.replaceAll(',', '')) > height, before,
  )
  await page.waitForSelector(`a[href="/tx/${hash}"]`)
  const after = Number((await page.innerText('[data-head]')).replaceAll(',', ''))
  await browser.close()
  return { before, after, hash, faults }
}

/** Types into the search box: takes the suggestion, and then a whole text with the return key. */
export async function search({ base, typed, whole }) {
  const { browser, page, faults } = await open(SCREENS.desk)
  await page.goto(`${base}/`)
  await page.keyboard.press('/')
  await page.keyboard.type(typed)
  await page.click('#suggestions a')
  await page.waitForLoadState()
  const suggested = new URL(page.url()).pathname
  await page.fill('.search input', whole)
  await page.press('.search input', 'Enter')
  await page.waitForURL((url) => url.pathname !== suggested)
  const found = new URL(page.url()).pathname
  await browser.close()
  return { suggested, found, faults }
}

/** Reads pages without scripts: what they say must be there. */
export async function withoutScripts({ base, path }) {
  const { browser, page, faults } = await open(SCREENS.desk, { javaScriptEnabled: false })
  await page.goto(`${base}${path}`)
  const text = await page.innerText('main')
  await browser.close()
  return { text, faults }
}
