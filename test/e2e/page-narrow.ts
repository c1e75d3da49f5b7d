/** What zoom and narrow windows must not do to a page of ours: cut something off, scroll it sideways, or hide where the focus is. */
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

const CLIPPED = `(() => {
  const out = [];
  if (document.documentElement.scrollWidth > innerWidth) out.push('the page scrolls sideways: ' + document.documentElement.scrollWidth);
  const scrolls = (element) => element !== null && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  for (const element of document.querySelectorAll('#app *')) {
    const { left, right, width, height } = element.getBoundingClientRect();
    if (width === 0 || height === 0 || element.closest('.unseen, .skip-link, dialog:not([open]), details:not([open]) > :not(summary)') !== null) continue;
    const name = element.tagName + '.' + element.className + ' ' + element.textContent.slice(0, 40);
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if ((right > innerWidth + 1 || left < -1) && !scrolls(element.parentElement)) out.push('beyond the edge: ' + name);
    else if (own && /hidden|clip/.test(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth + 1) out.push('cut: ' + name);
  }
  return [...new Set(out)];
})()`;
/** The element that has the focus, and what is wrong with how it shows. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return { name: '', wrong: null };
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const name = element.tagName + ' ' + (element.getAttribute('aria-label') ?? element.name ?? '') + ' ' + element.textContent.slice(0, 40);
  const style = getComputedStyle(element);
  const seen = (x, y) => { const at = document.elementFromPoint(x, y); return at !== null && (element.contains(at) || at.contains(element)); };
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  const points = [[x, y], [left + 3, y], [right - 3, y]];
  const wrong = style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2 ? 'has no outline'
    : bottom <= 0 || top >= innerHeight ? 'is out of sight'
    : points.some(([at, to]) => seen(at, to)) ? null : 'is hidden by something';
  return { name, wrong };
})()`;
/** What the window cuts off now, or what makes the page scroll sideways; names of elements. */
export const clipped = (page: Page): Promise<readonly string[]> =>
  page.evaluate<readonly string[]>(CLIPPED);

/** Tabs through all there is, once, and says whose focus cannot be seen. */
export const unseenFocus = async (page: Page): Promise<readonly string[]> => {
  const wrong: string[] = [];
  const seen = new Set<string>();
  for (let at = 0; at < 80; at += 1) {
    await page.keyboard.press('Tab');
    const focus = await page.evaluate<{ name: string; wrong: string | null }>(FOCUSED);
    if (focus.name === '' && at > 0) break;
    seen.add(focus.name);
    if (focus.wrong !== null) wrong.push(`${focus.name}: ${focus.wrong}`);
  }
  expect(seen.size).toBeGreaterThan(2);
  return wrong;
};
