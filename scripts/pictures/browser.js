/** Pictures of pages in a headless Chromium. */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const MOST_bytes = 160_000;
const SIZE = { width: 1100, height: 640 };
/** The Temporal UI draws for some time after its data came. */
const DRAWN_MS = 1_500;

export const openBrowser = async () => {
  const executablePath = [process.env.EMEND_TEST_BROWSER, ...PLACES].find(
    (path) => path && existsSync(path),
  );
  if (executablePath === undefined)
    throw new Error(
      'no Chromium here: apt-get install chromium (or EMEND_TEST_BROWSER=/path/to/chrome)',
    );
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
};

/** `use` gets a page and a function that takes a picture of it, or of a part. */
export const visit = async (browser, { colorScheme = 'light', size = SIZE, pathOf }, use) => {
  const context = await browser.newContext({
    viewport: size,
    colorScheme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const picture = async (name, part = page) => {
    const path = pathOf(`${name}.png`);
    await part.screenshot({ path });
    const { size } = await stat(path);
    if (size > MOST_bytes)
      throw new Error(`${path} has ${size} bytes; at most ${MOST_bytes} are kept`);
    console.log(`  ${path}  ${Math.round(size / 1000)} KB`);
  };
  try {
    await use(page, picture);
  } catch (error) {
    const path = join(tmpdir(), 'emend-picture-failed.png');
    await page.screenshot({ path });
    throw new Error(`this is what was there: ${path}`, { cause: error });
  } finally {
    await context.close();
  }
};

export const drawn = (page) => page.waitForTimeout(DRAWN_MS);
