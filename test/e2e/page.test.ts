/** The review page in a real browser: from what waits to the commit in git, by mouse and by keyboard alone, live for all who look. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { clipped, unseenFocus } from './page-narrow.js';
import {
  inBrowser,
  launch,
  openPage,
  picture,
  servePage,
  violations,
  type ServedPage,
} from './page-support.js';
import { answerFor, planText, replanned, startDemo } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

const PHASES = [
  { name: 'Foundation', file: 'src/one.js' },
  { name: 'Core logic', file: 'src/two.js', dependencies: [1] },
];
/** A browser starts slowly beside others' work. */
jest.setTimeout(180_000);

const job = (title: string, file: string, check = file): string =>
  `---\ntarget_files: [${JSON.stringify(file)}]\ncommit: true\ntest: node --check ${JSON.stringify(check)}\n---\n# ${title}\n\nSay good day.\n`;
const GREET =
  Array.from({ length: 40 }, (_, i) => `// line ${i + 1}`).join('\n') +
  "\nexport const greet = (name) => 'hello ' + name;\n";
const GREETED = GREET.replace("'hello ' + name", "'good day, ' + name");
/** Three hunks: the first brings a name, the third uses it. */
const PARTS = Array.from({ length: 40 }, (_, i) => `// line ${i + 1}\n`).join('');
const PARTED = PARTS.replace('// line 2\n', 'export const shout = (t) => t;\n')
  .replace('// line 20\n', '// twenty\n')
  .replace('// line 38\n', 'export const loud = shout(1);\n');
/** A name and a content that are HTML and script: what runs of them sets the title. */
const EVIL = 'src/<img src=x onerror=document.title=1>.js';
const MARKUP =
  '</pre></script><script>document.title=1</script><img src=x onerror="document.title=1">';
const evil = (text: string): string =>
  `export const a = ${JSON.stringify(MARKUP)};\nexport const b = '${text}';\n`;

inBrowser()('the review page', () => {
  let s: Scene;
  let served: ServedPage;
  let browser: Browser;
  beforeAll(async () => {
    const hold = { kind: 'hold' as const, after_bytes: 20 };
    s = await scene(
      {
        'src/greet.js': GREET,
        'src/skip.js': 'let a = 1;\n',
        'src/parts.js': PARTS,
        'src/held.js': 'let h = 1;\n',
        'src/bad.js': 'let x = 1;\n',
        [EVIL]: evil('b'),
        'plans/010_demo.md': planText(PHASES),
        'emend.yaml': 'test: [node -e 0]\nlimits: { budget_tokens: 1000000000 }\n',
      },
      [
        replanned({ action: 'update_tasks', phase: 1, add: ['Migrate what is there'] }),
        ...PHASES.map((phase) => answerFor(phase)),
        {
          name: 'greet',
          match: { contains: '- src/greet.js' },
          answer: whole({ 'src/greet.js': GREETED }),
        },
        {
          name: 'parts',
          match: { contains: '- src/parts.js' },
          answer: whole({ 'src/parts.js': PARTED }),
        },
        {
          name: 'skip',
          match: { contains: '- src/skip.js' },
          answer: whole({ 'src/skip.js': 'let a = 2;\n' }),
        },
        {
          name: 'held',
          match: { contains: '- src/held.js', times: 1 },
          answer: whole({ 'src/held.js': 'let h = 2;\n' }),
          fault: hold,
        },
        {
          name: 'held no more',
          match: { contains: '- src/held.js' },
          answer: whole({ 'src/held.js': 'let h = 2;\n' }),
        },
        { name: 'bad', match: { contains: '- src/bad.js' }, answer: 'I would rather not say.' },
        {
          name: 'revised',
          match: { contains: 'line 2 of the proposed text' },
          answer: whole({ [EVIL]: evil('plain') }),
        },
        {
          name: 'evil',
          match: { contains: `- ${EVIL}` },
          answer: whole({ [EVIL]: evil(MARKUP.replaceAll("'", '')) }),
        },
      ],
    );
    await s.worker();
    served = await servePage(s.emend);
    browser = await launch();
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    await served.close();
    expect(served.errors).toEqual([]);
    await s.close();
  });

  /** `expected`: what the browser may complain of. */
  const visit = async (
    options: BrowserContextOptions,
    use: (page: Page) => Promise<void>,
    expected?: RegExp,
  ): Promise<void> => {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      ...options,
    });
    const { page, faults } = await openPage(context, served);
    try {
      await use(page);
    } catch (error) {
      await picture(page, 'failed');
      throw new Error(`${await page.locator('body').innerText()}\n${faults.join('\n')}`, {
        cause: error,
      });
    }
    expect(faults.filter((fault) => expected?.test(fault) !== true)).toEqual([]);
    expect(await page.title()).not.toBe('1');
    await context.close();
  };
  const open = (page: Page, title: RegExp): Promise<void> =>
    page.getByRole('link', { name: title }).click();

  test('approves to the commit in git', async () => {
    const run = await s.start('jobs/greet.md', job('Greet politely', 'src/greet.js'));
    await s.settle(run);
    await visit({ colorScheme: 'light' }, async (page) => {
      await page.getByRole('link', { name: /Greet politely/ }).waitFor();
      await picture(page, 'runs-light');
      expect(await violations(page)).toEqual([]);
      await open(page, /Greet politely/);
      await page.locator('.k-string').first().waitFor();
      await page.getByRole('button', { name: 'show 37 unchanged lines' }).click();
      await page.getByText('// line 1', { exact: true }).first().waitFor();
      await picture(page, 'review-light');
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Approve all' }).click();
      await page.getByRole('button', { name: 'Send …' }).click();
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText(/approve by ada \(web\)/).waitFor();
      await page.getByRole('link', { name: 'Result' }).click();
      await page.getByText('committed', { exact: true }).first().waitFor();
      await page
        .getByText(/; expected: about 1 model call, .* tokens in, .* out, \$0\.\d{4} \(claude-/)
        .waitFor();
      await picture(page, 'run-light');
      expect(await violations(page)).toEqual([]);
    });
    expect(s.git('show', 'HEAD:src/greet.js')).toBe(GREETED);
  });

  test('by keyboard alone, in the dark, over markup: comments on a line, has it revised, approves', async () => {
    const run = await s.start('jobs/evil.md', job('Say <b>more</b>', EVIL));
    await s.settle(run);
    await visit({ colorScheme: 'dark' }, async (page) => {
      await page.getByRole('link', { name: /Say <b>more/ }).waitFor();
      const press = async (...keys: string[]): Promise<void> => {
        for (const key of keys) await page.keyboard.press(key);
      };
      await press('j', 'Enter');
      await page.getByText(MARKUP).first().waitFor();
      await press('n', 'J', 'J');
      await picture(page, 'review-dark');
      expect(await violations(page)).toEqual([]);
      await press('?');
      await page.getByRole('heading', { name: 'Keys' }).waitFor();
      expect(await violations(page)).toEqual([]);
      await press('Escape', 'c');
      await page.keyboard.type('use the word plain');
      await press('Control+Enter', 'Enter');
      await page.getByRole('heading', { name: 'Send your verdicts' }).waitFor();
      await picture(page, 'send-dark');
      expect(await violations(page)).toEqual([]);
      await press('Enter');
      await page.getByText("export const b = 'plain';").first().waitFor();
      await page.getByRole('button', { name: 'Approve all' }).waitFor();
      await press('a', 'Enter');
      await page.getByRole('heading', { name: 'Send your verdicts' }).waitFor();
      await press('Enter');
      await page.getByText(/approve by ada/).waitFor();
    });
    expect((await s.end(run)).outcome).toBe('committed');
    expect(s.git('show', `HEAD:${EVIL}`)).toBe(evil('plain'));
  });

  test('takes part of a file by keys: what it needs is flagged, the part is shown anew and approved by its own hash', async () => {
    const run = await s.start('jobs/parts.md', job('Say it louder', 'src/parts.js'));
    await s.settle(run);
    await visit({ colorScheme: 'light' }, async (page) => {
      await open(page, /Say it louder/);
      await page.getByText('needs hunk 1 (shout)', { exact: true }).waitFor();
      // Leaves the first, takes the second, and takes the third by mouse.
      for (const key of ['n', 'l', 't']) await page.keyboard.press(key);
      await page.getByText('needs hunk 1 (shout), which you rejected').waitFor();
      await page
        .getByRole('group', { name: 'Verdict on hunk 3' })
        .getByRole('button', { name: 'Take' })
        .click();
      await page.getByText('2 of 3 hunks').waitFor();
      await picture(page, 'parts-light');
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Send …' }).click();
      await page
        .getByText('hunk 3 of src/parts.js needs hunk 1 (shout), which you rejected')
        .waitFor();
      await page.getByRole('button', { name: 'Cancel' }).click();
      // The other way round: what is used is taken, the middle is left.
      for (const key of ['p', 'p', 't', 'l']) await page.keyboard.press(key);
      const first = await page.getByText(/^Proposal [0-9a-f]{8}:/).innerText();
      await page.getByRole('button', { name: 'Send …' }).click();
      expect(await page.getByText('which you rejected').count()).toBe(0);
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      const part = page.getByText(/^Proposal [0-9a-f]{8}: 1 file, \+2 -2/);
      await part.waitFor();
      expect(await part.innerText()).not.toBe(first);
      await page.getByRole('button', { name: 'Approve all' }).click();
      await page.getByRole('button', { name: 'Send …' }).click();
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText(/approve by ada \(web\)/).waitFor();
    });
    expect((await s.end(run)).outcome).toBe('committed');
    expect(s.git('show', 'HEAD:src/parts.js')).toBe(PARTED.replace('// twenty', '// line 20'));
  });

  test('two people on one decision: the second sees what the first decided; then the list is right for both', async () => {
    const run = await s.start('jobs/skip.md', job('Skip me', 'src/skip.js'));
    await s.settle(run);
    await visit({ viewport: { width: 390, height: 800 }, hasTouch: true }, async (second) => {
      await open(second, /Skip me/);
      await second.getByText('let a = 2;').first().waitFor();
      await picture(second, 'review-phone');
      expect(await violations(second)).toEqual([]);
      expect(
        await second.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
      ).toBe(true);
      await visit({}, async (first) => {
        await open(first, /Skip me/);
        await first.getByRole('button', { name: 'Skip', exact: true }).click();
        await first.getByRole('button', { name: 'Send …' }).click();
        await first.getByRole('button', { name: 'Send', exact: true }).click();
        await second.getByText(/skip by ada/).waitFor();
      });
      expect(await second.getByRole('button', { name: 'Send …' }).count()).toBe(0);
    });
    expect((await s.end(run)).outcome).toBe('skipped');
    expect(s.read('src/skip.js')).toBe('let a = 1;\n');
  });

  test('a decision of another kind: its refusals, exactly its answers, and one of them sent', async () => {
    const run = await s.start('jobs/bad.md', job('Stubborn model', 'src/bad.js'));
    const { decision } = (await s.settle(run)).status;
    await visit({}, async (page) => {
      await open(page, /Stubborn model/);
      await page.getByRole('heading', { name: 'Refused answers' }).waitFor();
      const answers = await page
        .getByRole('radio')
        .evaluateAll((all) => all.map((each) => (each as unknown as { value: string }).value));
      expect([...answers, 'abort'].sort()).toEqual([...decision!.accepts].sort());
      await page.getByRole('radio', { name: /^retry/ }).check();
      await picture(page, 'decision-light');
      expect(await violations(page)).toEqual([]);
      await page.getByRole('radio', { name: /^skip/ }).check();
      await page.getByRole('button', { name: 'Send the answer' }).click();
      await page.getByText('skipped', { exact: true }).first().waitFor();
    });
    expect((await s.end(run)).outcome).toBe('skipped');
  });

  test('a plan: waves, scores, markers, a replan, its limits, all live, and the run of a phase', async () => {
    await visit({ colorScheme: 'dark' }, async (page) => {
      const plan = await startDemo(s, { approval: 'auto', drift: 'a migration is needed first' });
      await open(page, /Demo plan/);
      const phase = page.getByRole('row', { name: /2\. Core logic/ });
      await phase.getByText('completed', { exact: true }).waitFor({ timeout: 120_000 });
      const before = await page.getByRole('row').allInnerTexts();
      expect(before.map((text) => text.split(/[\t\n]/)[0])).toEqual([
        'Phase',
        'Wave 1',
        '1. Foundation',
        'Wave 2',
        '2. Core logic',
      ]);
      const replans = page.getByRole('region', { name: 'Replans' });
      await replans
        .getByText('Phase 1: scope_drift: replan: someone reported work missing from the plan')
        .waitFor();
      await replans.getByText(/^Phase 1: update_tasks: .+ complexity [\d.]+ -> [\d.]+$/).waitFor();
      await page
        .getByRole('row', { name: /1\. Foundation/ })
        .getByText('[COMPLETED]')
        .waitFor();
      await page
        .getByRole('row', { name: /1\. Foundation/ })
        .locator('summary')
        .click();
      await page.getByText(/^by its text: [\d.]+ = .*tasks 0\.4/).waitFor();
      const budget = page.getByRole('region', { name: 'Budget' });
      expect(await budget.innerText()).toMatch(/Tokens\s+[\d,]+ tokens of 1,000,000,000 tokens/);
      // One of tokens, and one of the money that a run may spend by default.
      expect(await budget.getByRole('meter').count()).toBe(2);
      await page.getByText(/^completed 2 of 2 phases, last commit [0-9a-f]{12}$/).waitFor();
      await picture(page, 'plan-dark');
      expect(await violations(page)).toEqual([]);
      // 200 % of 1280 x 900 and 400 % of 1280 x 1024.
      for (const [width, height] of [
        [640, 450],
        [320, 256],
      ] as const) {
        await page.setViewportSize({ width, height });
        await picture(page, `plan-dark-${width}`);
        expect({ width, clipped: await clipped(page), unseen: await unseenFocus(page) }).toEqual({
          width,
          clipped: [],
          unseen: [],
        });
      }
      await page.setViewportSize({ width: 1280, height: 900 });
      await phase.getByRole('link').click();
      await page.getByText('committed', { exact: true }).first().waitFor();
      expect((await s.end(plan)).outcome).toBe('completed');
    });
  });

  test('stays true while the worker is killed and another one comes, and says when its own server is gone', async () => {
    const first = await s.worker();
    const asked = s.rehearsal.requests().length;
    await visit(
      {},
      async (page) => {
        const run = await s.start('jobs/held.md', job('Held answer', 'src/held.js'));
        // It was started after the list was opened.
        await open(page, /Held answer/);
        await page.getByText(/file 1\/1/).waitFor();
        await s.until(() => s.rehearsal.requests().length > asked, 60);
        await Promise.all(s.workers().map((worker) => worker.kill()));
        expect(first.child.signalCode).toBe('SIGKILL');
        await s.worker();
        expect((await s.settle(run, 120)).status.decision?.reason).toBe('approval');
        await page.getByRole('link', { name: 'Review the changes' }).waitFor();
        const { port } = served;
        await served.close();
        await page.getByText(/connection to the page's server is lost/).waitFor();
        await picture(page, 'lost-light');
        served = await servePage(s.emend, { port });
        await page.getByText(/Open the address/).waitFor();
        // The browser itself tells of the server that went away.
      },
      /ERR_CONNECTION|ERR_INCOMPLETE|status of 401/,
    );
  });
});
