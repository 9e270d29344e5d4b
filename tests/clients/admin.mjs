// The admin in a real browser: log in, find a transaction by its hash; find a validator and take
// the list of validators home as a file.
import { readFile } from 'node:fs/promises'
import { chromium } from 'playwright-core'

async function logIn(base, password) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
      '--disable-background-networking', '--disable-component-update',
    ],
  })
  const page = await browser.newPage()
  const faults = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('response', (answer) => answer.status() >= 400 && faults.push(`${answer.status()} ${answer.url()}`))
  await page.goto(`${base}/admin/`)
  await page.fill('input[name=username]', 'admin')
  await page.fill('input[name=password]', password)
  await page.press('input[name=password]', 'Enter')
  await page.waitForURL(`${base}/admin/`)
  return { browser, page, faults }
}

export async function findTransaction({ base, password, hash, screenshot }) {
  const { browser, page, faults } = await logIn(base, password)
  const dashboard = await page.innerText('body')
  await page.goto(`${base}/admin/cchain_app/transaction/?q=${hash}`)
  const rows = await page.locator('#result_list tbody tr').count()
  await page.locator('#result_list tbody th a').first().click()
  await page.waitForLoadState()
  const transaction = await page.innerText('body')
  await page.screenshot({ path: screenshot, fullPage: true })
  await browser.close()
  return { dashboard, rows, transaction, faults }
}

export async function findValidator({ base, password, node, screenshot }) {
  const { browser, page, faults } = await logIn(base, password)
  const dashboard = await page.innerText('body')
  await page.fill('.nd-jump input', node)
  await page.press('.nd-jump input', 'Enter')
  await page.waitForURL(/validator/)
  const validator = await page.innerText('body')
  await page.screenshot({ path: screenshot, fullPage: true })
  await page.goto(`${base}/admin/platform_app/validator/`)
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('.nd-export')])
  const file = await readFile(await download.path(), 'utf8')
  await browser.close()
  return { dashboard, validator, file, name: download.suggestedFilename(), faults }
}
