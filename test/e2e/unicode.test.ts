/** Characters that hide or turn what is read: new ones ask under `approval: auto`, and every face shows them as escapes. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { visible } from '../../src/shared/text.js';
import type { ResolvedRun } from '../../src/client/index.js';
import { main } from '../../src/cli/main.js';
import { fakeIo } from '../cli/io.js';
import { inBrowser, openPage, violations, inPages } from './page-support.js';
import { scene, whole, type Scene } from './support.js';

jest.setTimeout(120_000);

const NAMED = 'src/a\u202esj.exe';
const job = (title: string, ...paths: readonly string[]): string =>
  `---\ntarget_files: ${JSON.stringify(paths)}\napproval: auto\nlimits: { maxFilesBeforeSplit: 3 }\n---\n# ${title}\n\nChange it.\n`;
const HIDDEN = /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u;

let s: Scene;
beforeAll(async () => {
  s = await scene(
    {
      'bidi.js': 'one\n',
      'mixed.js': 'one\n',
      'emoji.md': 'one\n',
      'no.js': 'one\n',
      [NAMED]: 'one\n',
    },
    [
      {
        name: 'emoji',
        match: { contains: '- emoji.md' },
        answer: whole({ 'emoji.md': '\u26a0\ufe0f \u{1F469}\u200d\u{1F4BB}\n' }),
      },
      {
        name: 'mixed',
        match: { contains: '- mixed.js' },
        answer: whole({ 'mixed.js': 'one\nlet p\u0430ss;\n' }),
      },
      {
        name: 'no',
        match: { contains: '- no.js' },
        answer: 'I would\u202e rather\u200b not \u{E0041}.',
      },
      {
        name: 'bidi',
        match: { contains: '- bidi.js' },
        answer: whole({
          'bidi.js': 'one\n/* \u202e } \u2066if (admin)\u2069 */\n',
          [NAMED]: 'one\ntwo\u200b\n',
        }),
      },
    ],
  );
  await s.worker();
}, 60_000);
afterAll(() => s.close());

const asked = async (name: string, text: string): Promise<ResolvedRun> => {
  const run = await s.start(`${name}.md`, text);
  await s.settle(run);
  return run;
};
let bidi: ResolvedRun;
let declined: ResolvedRun;

test('new ones ask under auto, mixed words too; emoji do not', async () => {
  const emoji = await s.start('emoji.md', job('Warn', 'emoji.md'));
  expect(await s.end(emoji)).toMatchObject({ outcome: 'applied' });
  const mixed = await asked('mixed', job('Mix', 'mixed.js'));
  expect((await s.show(mixed)).proposal).toMatchObject({ mustAsk: ['unicode in mixed.js'] });
  await s.answer(mixed, 'skip');

  bidi = await asked('bidi', job('Grow \u202eworg\u200b', 'bidi.js', NAMED));
  const { status, proposal } = await s.show(bidi);
  expect(status.decision).toMatchObject({
    reason: 'approval',
    message: expect.stringContaining('unicode in bidi.js'),
  });
  expect(proposal?.findings).toMatchObject([
    {
      guard: 'unicode',
      severity: 'ask',
      path: 'bidi.js',
      lines: [2, 2],
      message: expect.stringContaining('\\u{202E}'),
    },
    {
      guard: 'unicode',
      severity: 'ask',
      path: NAMED,
      lines: [2, 2],
      message: expect.stringContaining('\\u{200B}'),
    },
  ]);
  expect(s.read('bidi.js')).toBe('one\n');
  declined = await asked('no', job('Refuse \u2067it', 'no.js'));
});

test.each<[string, readonly string[]]>([
  ['show', ['\\u{202E}', '\\u{200B}']],
  [
    'diff',
    ['+/* \\u{202E} } \\u{2066}if (admin)\\u{2069} */', '+two\\u{200B}', 'a\\u{202E}sj.exe'],
  ],
  ['review', ['+/* \\u{202E} } \\u{2066}if (admin)\\u{2069} */']],
  ['report', ['\\u{202E} } \\u{2066}if (admin)\\u{2069}', 'check: unicode in bidi']],
  ['report --html', ['\\u{202E} } \\u{2066}if (admin)\\u{2069}']],
  ['events', []],
  ['list', []],
])('emend %s shows escapes', async (command, expected) => {
  for (const run of [bidi, declined]) {
    const [name = '', ...flags] = command.split(' ');
    const about = name === 'list' ? [] : [run.stepKey];
    const io = fakeIo({ env: s.env, cwd: s.repo, isTty: true, typed: ['q', 'q', 'q'] });
    await main([name, ...about, ...flags], io);
    const shown = [
      io.printed.out,
      io.printed.err,
      ...io.asked,
      ...io.tools.map(({ text }) => text ?? ''),
    ].join('\n');
    expect(HIDDEN.exec(shown)).toBeNull();
    // eslint-disable-next-line no-control-regex -- git's colours
    const uncoloured = shown.replaceAll(/\x1b\[\d*m/g, '');
    expect(visible(uncoloured)).toBe(uncoloured);
    if (run === bidi) for (const text of expected) expect(uncoloured).toContain(text);
  }
});

inBrowser()('the review page', () => {
  test('shows escapes in titles, names, lines and attributes', async () => {
    await inPages({ emend: s.emend }, async (browser, served) => {
      const { page, faults } = await openPage(await browser.newContext(), served);
      const read = async (): Promise<string> => {
        const parts = await page.evaluate(() => [
          document.title,
          document.documentElement.textContent,
          ...[...document.querySelectorAll('*')].flatMap((each) =>
            ['title', 'aria-label', 'alt', 'placeholder'].map(
              (name) => each.getAttribute(name) ?? '',
            ),
          ),
        ]);
        return parts.join('\n');
      };
      await page.getByRole('link', { name: /Grow/ }).waitFor();
      const list = await read();
      expect(list).toContain('Grow \\u{202E}worg\\u{200B}');
      expect(HIDDEN.exec(list)).toBeNull();
      await page.getByRole('link', { name: /Grow/ }).click();
      await page.locator('.hidden-char').first().waitFor();
      const review = await read();
      for (const text of [
        '/* \\u{202E} } \\u{2066}if (admin)\\u{2069} */',
        'two\\u{200B}',
        'a\\u{202E}sj.exe',
        'check: ',
      ])
        expect(review).toContain(text);
      expect(HIDDEN.exec(review)).toBeNull();
      expect(await page.locator('.hidden-char').first().innerText()).toBe('\\u{202E}');
      expect(await violations(page)).toEqual([]);
      await page.goto(`${served.url}#/run/${declined.stepKey}`);
      await page.getByText('Refuse').first().waitFor();
      expect(HIDDEN.exec(await read())).toBeNull();
      expect(faults).toEqual([]);
    });
  });
});
