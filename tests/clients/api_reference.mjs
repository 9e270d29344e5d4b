// The RPC reference page in a real browser: its index, the filter, links into it, and forms that call the node.
import { openPage, picture } from './browser.mjs'

const SCREENS = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }

/** Opens the page in its own context and collects its errors; a request to another host is a fault. */
async function open(base, viewport, colorScheme, faults) {
  const { page } = await openPage({ viewport, colorScheme }, 120_000, faults)
  page.on('request', (asked) => asked.url().startsWith(base) || asked.url().startsWith('data:') || faults.push(asked.url()))
  await page.goto(`${base}/ext/docs`)
  return page
}

/** Sends a method's form with its default params or others; returns the result that is shown. */
async function tried(page, method, params) {
  await page.click(`#${CSS_escape(method)} > summary`)
  const form = page.locator(`[id="${method}"] .try`)
  if (params !== undefined) await form.locator('textarea').fill(params)
  await form.locator('button').click()
  await form.locator('button:enabled').waitFor() // an earlier answer stays until the new one is there
  const shown = await form.locator('.got').innerText()
  await page.click(`#${CSS_escape(method)} > summary`)
  return shown
}

/** Returns the part of an answer with a million numbers that is shown. */
async function longOne(page, method) {
  const answer = { jsonrpc: '2.0', id: 1, result: [...Array(1_000_000).keys()] }
  await page.route('**/ext/bc/C/rpc', (route) => route.fulfill({ json: answer }))
  const shown = await tried(page, method)
  await page.unroute('**/ext/bc/C/rpc')
  const end = shown.lastIndexOf('\n')
  const isBegun = JSON.stringify(answer, null, 2).startsWith(shown.slice(0, end))
  return { isBegun, length: end, words: shown.slice(end + 1) }
}

const CSS_escape = (name) => name.replace('.', '\\.')

/** Searches methods and tries some, on a desktop screen in light mode and on a phone screen in dark mode. */
export async function use({ base, screenshots }) {
  const faults = []
  const desk = await onDesk(await open(base, SCREENS.desk, 'light', faults), base, screenshots)
  const wide = await onPhone(await open(base, SCREENS.phone, 'dark', faults), screenshots)
  return { ...desk, wide, faults }
}

/** Tries methods of a node that needs a token: without giving one, with it, and without being asked again. */
export async function withToken({ base, token }) {
  const page = await open(base, SCREENS.desk, 'light', [])
  const asked = []
  page.on('dialog', (dialog) => {
    asked.push(dialog.message())
    return asked.length === 1 ? dialog.dismiss() : dialog.accept(token)
  })
  const found = { without: await tried(page, 'eth_blockNumber') }
  found.given = await tried(page, 'eth_blockNumber')
  found.kept = await tried(page, 'info.getNetworkName')
  return { ...found, asked }
}

async function onDesk(page, base, screenshots) {
  const shown = () => page.locator('.method:visible').count()
  const found = { all: await shown() }
  found.namespaces = await page.locator('nav li li a').allInnerTexts()
  await picture(page, screenshots, 'reference-desk', {})
  await page.fill('.filter input', 'balance account')
  found.chosen = await page.locator('.method:visible > summary > code').allInnerTexts()
  found.counted = await page.innerText('.filter output')
  found.spaces = await page.locator('nav li li a:visible').allInnerTexts()
  await page.evaluate(() => { location.hash = '#info.peers' })
  await page.locator('[id="info.peers"] h4').first().waitFor()
  found.filter = await page.inputValue('.filter input')
  found.again = await shown()
  found.block = await tried(page, 'eth_blockNumber')
  found.network = await tried(page, 'info.getNetworkName')
  found.big = await tried(page, 'platform.getFeeConfig')
  found.refused = await tried(page, 'eth_getBalance', '["0x12", "latest"]')
  found.nonsense = await tried(page, 'eth_chainId', '[')
  found.long = await longOne(page, 'eth_accounts')
  await page.goto(`${base}/ext/docs#eth_getBalance`)
  const heading = page.locator('#eth_getBalance h4').first()
  await heading.waitFor() // the page is not loaded again: it opens the method at the event `hashchange`
  found.named = await heading.isVisible()
  found.curl = await page.innerText('#eth_getBalance .call')
  await picture(page, screenshots, 'reference-desk-method', {})
  return found
}

/** Returns the parts that overflow a phone's window when all sections are open; there should be none. */
async function onPhone(page, screenshots) {
  await picture(page, screenshots, 'reference-phone', {})
  await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true }))
  const wide = await page.evaluate(() => {
    const width = document.documentElement.clientWidth
    return [...document.body.querySelectorAll('*')]
      .filter((part) => part.getBoundingClientRect().right > width + 1)
      .map((part) => `${part.tagName} ${part.textContent.slice(0, 60)}`).slice(0, 5)
  })
  await page.locator('#debug_traceCall').scrollIntoViewIfNeeded()
  await picture(page, screenshots, 'reference-phone-open', {})
  return wide
}
