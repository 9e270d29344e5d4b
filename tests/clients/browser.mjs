// The one browser of a scenario, which ends with its process: a window has a context, and with that cookies, of its own.
import { chromium } from 'playwright-core'

let started

/** Returns the browser, started when the first window is opened. */
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

/** Opens a page in a context of its own, and adds what goes wrong on it to the faults. */
export async function openPage(options, timeout, faults = []) {
  const context = await (await browser()).newContext(options)
  const page = await context.newPage()
  page.setDefaultTimeout(timeout)
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('response', (answer) => answer.status() >= 400 && faults.push(`${answer.status()} ${answer.url()}`))
  return { context, page, faults }
}

/** Takes a picture of a page, where somebody wants to look at it: then there is a folder. */
export async function picture(page, folder, name, options = { fullPage: true }) {
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, ...options })
}
