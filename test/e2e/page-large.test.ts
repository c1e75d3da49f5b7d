/** The review of 300 files in a real browser: nothing of it depends on how large the results of its activities are. */
import { expect, jest, test } from '@jest/globals';
import { BOUNDS } from '../../src/shared/limits.js';
import { inBrowser, inPages, openPage, violations } from './page-support.js';
import { numbered, scene, whole } from './support.js';

jest.setTimeout(240_000);

const FILES = 300;
const EDITED = 'src/edited.txt';
const PROTECTED = 'package.json';
const BASE = numbered(60);
const RESULT = BASE.replace('line 5\n', 'five\n').replace('line 50\n', 'fifty\n');
const DELETED = Array.from(
  { length: FILES - 2 },
  (_, index) => `old/part-${String(index).padStart(3, '0')}.txt`,
);
const PACKAGE = '{ "name": "a" }\n';
const RENAMED_PACKAGE = '{ "name": "b" }\n';

inBrowser()('a review of 300 files', () => {
  test('shows counts, findings, instructions, Viewed marks and the buttons of hunks', async () => {
    const files = {
      [EDITED]: BASE,
      [PROTECTED]: PACKAGE,
      ...Object.fromEntries(DELETED.map((path) => [path, 'gone\n'])),
    };
    const s = await scene(files, [
      {
        name: 'brief',
        match: { contains: 'Now write the brief' },
        answer: 'Shorter.\nEMEND-COMPLETE {{nonce}} 0 0\n',
      },
      {
        name: 'edited',
        match: { contains: `- ${EDITED}` },
        answer: whole({ [EDITED]: RESULT }),
      },
      {
        name: 'protected',
        match: { contains: `- ${PROTECTED}` },
        answer: whole({ [PROTECTED]: RENAMED_PACKAGE }),
      },
    ]);
    await inPages(s, async (browser, served) => {
      await s.worker();
      const run = await s.start(
        'jobs/large.md',
        [
          '---',
          `target_files: [${EDITED}, ${PROTECTED}]`,
          `delete_files: [${DELETED.join(', ')}]`,
          'test: false',
          '---',
          '# Remove what is old',
          '',
          'It is not used any more.',
          '',
        ].join('\n'),
      );
      const { proposal, status } = await s.settle(run);
      expect(status.decision?.reason).toBe('approval');
      expect(JSON.stringify(proposal).length).toBeGreaterThan(BOUNDS.inlinePayload_bytes);

      const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
      const { page, faults } = await openPage(context, served);
      await page.goto(`${served.url}/#/run/${run.stepKey}/review`);
      await page.getByText('300 files changed, 3 insertions(+), 301 deletions(-)').waitFor();
      const summary = page.getByRole('region', { name: 'The proposal' });
      expect(await summary.innerText()).toContain('300 files, +3 -301');
      const findings = proposal?.findings ?? [];
      expect(findings.length).toBeGreaterThanOrEqual(DELETED.length);
      await summary.getByText(/\d+ things to look at/).click();
      await summary
        .getByText(/protected path.*package\.json/)
        .first()
        .waitFor();
      expect(await page.getByLabel('Instructions', { exact: true }).innerText()).toContain(
        'It is not used any more.',
      );
      // The tree has the numbers of each file, the file its mark and its hunks their buttons.
      const item = page.getByRole('treeitem', { name: 'edited.txt' });
      // An item outside the view has no rendered text.
      expect(await item.textContent()).toMatch(/\+2\s*-2/);
      await item.click();
      await page.getByRole('group', { name: `Verdict on hunk 1 of ${EDITED}` }).waitFor();
      await page.getByRole('button', { name: `Viewed ${EDITED}` }).click();
      await page.getByText('1 viewed').waitFor();
      expect(await page.getByText(/\b0 files\b/).count()).toBe(0);
      expect(await violations(page)).toEqual([]);
      expect(faults).toEqual([]);
      await context.close();
    });
  });
});
