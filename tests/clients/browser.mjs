// The single browser of a scenario, which ends with the process; each page has its own context and cookies.
import { chromium } from 'playwright-core'

let started

/** Returns the browser, which is started when the first page is opened. */
function browser() {
  started ??= chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
      '--disable-background-networking', '--disable-component-update',
    ],
  })
  return started
}

/** Opens a page in its own context, and adds its errors to the faults. */
export async function openPage(options, timeout, faults = []) {
  const context = await (await browser()).newContext(options)
  const page = await context.newPage()
  page.setDefaultTimeout(timeout)
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('response', (answer) => answer.status() >= 400 && faults.push(`${answer.status()} ${answer.url()}`))
  return { context, page, faults }
}

/** Takes a screenshot of a page, if a folder for screenshots is given. */
export async function picture(page, folder, name, options = { fullPage: true }) {
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, ...options })
}
