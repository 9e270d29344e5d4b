// The admin in a real browser: logs in, finds a transaction by its hash, finds a validator and downloads
// the list of validators as a file, and checks pages on a desktop and on a phone screen.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { openPage, picture } from './browser.mjs'

const SCREENS = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } }

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

async function logIn(base, password, viewport = SCREENS.desk, { colorScheme, onLogin = () => {} } = {}) {
  const { context, page, faults } = await openPage({ viewport, colorScheme, bypassCSP: true }, 120_000)
  await page.goto(`${base}/admin/`)
  await onLogin(page)
  await page.fill('input[name=username]', 'admin')
  await page.fill('input[name=password]', password)
  await page.press('input[name=password]', 'Enter')
  await page.waitForURL(`${base}/admin/`)
  return { context, page, faults }
}

export async function findTransaction({ base, password, hash, screenshots }) {
  const { context, page, faults } = await logIn(base, password)
  const dashboard = await page.innerText('body')
  await page.goto(`${base}/admin/cchain_app/transaction/?q=${hash}`)
  const rows = await page.locator('#result_list tbody tr').count()
  await page.locator('#result_list tbody th a').first().click()
  await page.waitForLoadState()
  const transaction = await page.innerText('body')
  await picture(page, screenshots, 'transaction')
  await context.close()
  return { dashboard, rows, transaction, faults }
}

export async function findValidator({ base, password, node, screenshots }) {
  const { context, page, faults } = await logIn(base, password)
  const dashboard = await page.innerText('body')
  await page.fill('.nd-jump input', node)
  await page.press('.nd-jump input', 'Enter')
  await page.waitForURL(/validator/)
  const validator = await page.innerText('body')
  await picture(page, screenshots, 'validator')
  await page.goto(`${base}/admin/platform_app/validator/`)
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('.nd-export')])
  const file = await readFile(await download.path(), 'utf8')
  await context.close()
  return { dashboard, validator, file, name: download.suggestedFilename(), faults }
}

/** Returns the content of the front page without scripts: numbers, and charts drawn by the server. */
async function withoutScripts(base, page) {
  const storageState = await page.context().storageState()
  const { context, page: plain } = await openPage({ javaScriptEnabled: false, storageState }, 120_000)
  await plain.goto(`${base}/admin/`)
  const said = { text: await plain.innerText('body'), bars: await plain.locator('svg.nd-bars rect').count() }
  await context.close()
  return said
}

/** Performs all actions of the front page and of a pending transaction, each after its confirmation page. */
export async function operate({ base, password, hash, screenshots }) {
  const { context, page, faults } = await logIn(base, password, { width: 1440, height: 900 })
  const plain = await withoutScripts(base, page)
  const said = {}
  const action = async (name, open) => {
    await open()
    await page.waitForSelector('.nd-question')
    said[`${name} asked`] = await page.innerText('.nd-question')
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
    if (wide) faults.push(`${name} is too wide: ${await page.evaluate(sticksOut)}`)
    await picture(page, screenshots, name, {})
    await page.click('.nd-question .nd-sure')
    await page.waitForURL((url) => !/\/(do|production|check)\//.test(url.pathname))
    said[name] = await page.innerText('body')
  }
  await action('pause', () => page.click('a[href="/admin/production/pause/"]'))
  await action('resume', () => page.click('a[href="/admin/production/resume/"]'))
  await action('check', () => page.click('a[href="/admin/check/X/"]'))
  await page.goto(`${base}/admin/cchain_app/pooltransaction/?q=${hash}`)
  await page.locator('#result_list tbody th a').first().click()
  await page.waitForURL(/\/change\//)
  await action('drop', () => page.click('a[href$="/do/drop/"]'))
  await page.goto(`${base}/admin/cchain_app/block/?height=abc`)
  said.filter = await page.innerText('body')
  await context.close()
  return { said, plain, faults }
}

/** Scrolls and focuses parts of the front page, waits until it refreshes, and returns the scroll positions and focus. */
export async function keepsReading({ base, password }) {
  const { context, page, faults } = await logIn(base, password, SCREENS.phone)
  await page.evaluate(() => {
    const shown = document.getElementById('overview')
    for (const one of shown.querySelectorAll('.nd-scroll')) one.scrollLeft = 30
    window.scrolls = [...shown.querySelectorAll('.nd-scroll')].map((one) => one.scrollLeft)
    shown.querySelector('a[href="/admin/production/pause/"]').focus()
    window.old = shown
  })
  await page.waitForFunction(() => document.getElementById('overview') !== window.old)
  const kept = await page.evaluate(() => ({
    scrolls: [window.scrolls, [...document.querySelectorAll('#overview .nd-scroll')].map((one) => one.scrollLeft)],
    focus: document.activeElement.getAttribute('href'),
  }))
  await context.close()
  return { ...kept, faults }
}

/** Returns the parts that overflow the window, without those inside of a scrollable part. */
function sticksOut() {
  const width = document.documentElement.clientWidth
  const scrolls = (part) => part && (getComputedStyle(part).overflowX !== 'visible' || scrolls(part.parentElement))
  return [...document.body.querySelectorAll('*')]
    .filter((part) => part.getBoundingClientRect().right > width + 1 && !scrolls(part.parentElement))
    .map((part) => `${part.tagName}.${part.className}`)
    .slice(0, 5)
}

/** Returns a live set of a page's requests that are in progress. */
function requestsOf(page) {
  const asked = new Set()
  page.on('request', (one) => asked.add(one))
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (one) => asked.delete(one))
  return asked
}

/** Waits for all requests made so far: a page that polls never becomes idle on a busy machine. */
const answered = (asked) =>
  Promise.all([...asked].map(async (one) => (await one.response())?.finished()))

/** Opens pages and lists, and the first row of each list, on both screens. A list without rows is a fault. */
export async function look({ base, password, pages = {}, lists, screenshots }) {
  const seen = {}
  const faults = []
  for (const [screen, viewport] of Object.entries(SCREENS)) {
    const { context, page, faults: met } = await logIn(base, password, viewport)
    const asked = requestsOf(page)
    const show = async (name, path) => {
      if (path) await page.goto(`${base}${path}`)
      await page.waitForLoadState('load')
      await answered(asked)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
      if (wide) met.push(`${name} on a ${screen} is too wide: ${await page.evaluate(sticksOut)}`)
      await picture(page, screenshots, `${name}-${screen}`)
      seen[`${name}-${screen}`] = await page.innerText('body')
    }
    await show('overview', '/admin/')
    for (const [name, path] of Object.entries(pages)) await show(name, path)
    for (const [name, path] of Object.entries(lists)) {
      await show(name, path)
      await page.locator('#result_list tbody th a').first().click()
      await page.waitForURL(/\/change\//)
      await show(`${name}-page`)
    }
    faults.push(...met)
    await context.close()
  }
  return { seen, faults }
}

/** Runs axe on the login page and on other pages, on a desktop in light mode and on a phone in dark mode. */
export async function accessible({ base, password, pages }) {
  const faults = []
  for (const [screen, colorScheme] of [['desk', 'light'], ['phone', 'dark']]) {
    const check = async (name, page) => {
      await page.waitForFunction(() => document.documentElement.checkVisibility()) // the theme hides the page until it is ready
      await page.evaluate(await readFile(AXE, 'utf8'))
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
      for (const one of violations)
        if (['serious', 'critical'].includes(one.impact))
          faults.push(`${name} on a ${screen}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(' ')}`)
    }
    const { context, page, faults: met } = await logIn(base, password, SCREENS[screen], {
      colorScheme, onLogin: (page) => check('login', page),
    })
    for (const path of pages) {
      await page.goto(`${base}${path}`)
      await check(path, page)
    }
    await page.locator('#result_list tbody th a').first().click()
    await page.waitForURL(/\/change\//)
    await check('a row', page)
    faults.push(...met)
    await context.close()
  }
  return { faults }
}

/** Saves snapshots, restores one of them and deletes all, on both screens; a page that is too wide is a fault. */
export async function snapshots({ base, password, screenshots }) {
  const seen = {}
  const faults = []
  for (const [screen, viewport] of Object.entries({ desk: { width: 1440, height: 900 }, phone: SCREENS.phone })) {
    const { context, page, faults: met } = await logIn(base, password, viewport)
    const show = async (name) => {
      await page.waitForLoadState('networkidle')
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
      if (wide) met.push(`${name} on a ${screen} is too wide: ${await page.evaluate(sticksOut)}`)
      await picture(page, screenshots, `snapshots-${name}-${screen}`)
      seen[`${name}-${screen}`] = await page.innerText('body')
    }
    await page.goto(`${base}/admin/snapshots/`)
    await show('none')
    for (const name of ['before-upgrade', 'a-name-of-as-many-letters-as-may-be-0123', 'c']) {
      await page.fill('input[name=name]:visible', name)
      await page.click('.nd-jump button')
      await page.waitForURL(`${base}/admin/snapshots/`)
    }
    await show('list')
    await page.click('[aria-label="Restore before-upgrade"]')
    await show('question')
    await page.click('.nd-sure')
    await page.waitForSelector('text=Restored before-upgrade')
    await show('restored')
    for (const name of ['before-upgrade', 'a-name-of-as-many-letters-as-may-be-0123', 'c']) {
      await page.click(`[aria-label="Delete ${name}"]`)
      await page.click('.nd-sure')
      await page.waitForSelector(`text=Deleted ${name}`)
    }
    faults.push(...met)
    await context.close()
  }
  return { seen, faults }
}
