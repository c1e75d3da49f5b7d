/** What a call is told of the files round its own: in the request, in `emend show RUN --context`, and the same after a crash. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { shownKey } from '../../src/shared/ids.js';
import { faultsOf } from '../support/json-schema.js';
import { fakeIo } from '../cli/io.js';
import { OWN_STORE } from './homes.js';
import { requestsOf, scene, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const long = longOnly('each starts a run of its own; the tests that stay show the promise');

const TEAPOT = "import { boil } from './kettle.js';\nexport const pour = () => boil(90);\n";
const FILES = {
  'src/kettle.js':
    'export function boil(degrees) {\n  return degrees;\n}\nexport const unused = 1;\n',
  'src/teapot.js': TEAPOT,
  'src/table.js':
    "import { pour } from './teapot.js';\nexport function serve() {\n  return pour();\n}\n",
  'test/teapot.test.js': "test('pours', () => {});\n",
  'README.md': 'Tea.\n',
  'CLAUDE.md': 'Be brief.\n',
};
const RULES = [
  {
    name: 'pot',
    match: { contains: '- src/teapot.js' },
    answer: whole({ 'src/teapot.js': TEAPOT.replace('90', '80') }),
  },
];
const HEADING = 'Beside the files to edit (for reference, not to be edited)';
const job = (front = ''): string =>
  `---\ntarget_files: [src/teapot.js]\ncontext_files: [README.md]\napproval: auto\n${front}---\n# Let \`pour\` boil at 80 degrees\n`;
const textsOf = async (s: Scene): Promise<readonly string[]> =>
  (await requestsOf(s)).map(({ messages }) =>
    messages.flatMap(({ content }) => content.map(({ text }) => text)).join('\n'),
  );
const typed = async (s: Scene, ...args: string[]): Promise<string> => {
  const io = fakeIo({ env: s.env, cwd: s.repo });
  expect(await main(args, io)).toBe(0);
  return io.printed.out;
};

describe('a job that names its file', () => {
  let s: Scene;
  let shown = '';
  beforeAll(async () => {
    s = await scene(FILES, RULES, { env: OWN_STORE });
    await s.worker();
    const run = await s.start('job.md', job());
    expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
    shown = shownKey(run.stepKey);
  });
  afterAll(() => s.close());

  test('the request holds signatures of what it imports, its caller and its test, before the file and behind what is cached', async () => {
    const [text = ''] = await textsOf(s);
    const at = [
      '# Project rules',
      '# Files for reference',
      `# ${HEADING}`,
      '# Files to edit',
      '# Task',
    ].map((words) => text.indexOf(words));
    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(at[0]).toBeGreaterThanOrEqual(0);
    expect(text).toContain(
      '## src/kettle.js (imported)\n```\nexport function boil(degrees)\n```\n',
    );
    expect(text).toContain(
      '## src/table.js (uses pour)\n```\nexport function serve()\n    return pour();\n```\n',
    );
    expect(text).toContain(
      "## test/teapot.test.js (its test)\n```\ntest('pours', () => {});\n```\n",
    );
    expect(text).not.toContain('unused');
    expect(await typed(s, 'calls', shown, '1', '--prompt')).toContain(
      text.slice(text.indexOf(HEADING), at[3]),
    );
  });

  test('emend show --context: one line a file, why and how many tokens; the same as JSON', async () => {
    const lines = (await typed(s, 'show', shown, '--context')).trimEnd().split('\n');
    expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['call', 'file', 'why', 'tokens'],
      ['1', 'CLAUDE.md', 'rules', expect.stringMatching(/^\d+$/)],
      ['1', 'README.md', 'context_files', expect.stringMatching(/^\d+$/)],
      ['1', 'src/kettle.js', 'imported', expect.stringMatching(/^\d+$/)],
      ['1', 'src/table.js', 'uses pour', expect.stringMatching(/^\d+$/)],
      ['1', 'test/teapot.test.js', 'its test', expect.stringMatching(/^\d+$/)],
    ]);
    const sent: unknown = JSON.parse(await typed(s, 'show', shown, '--context', '--json'));
    expect(faultsOf('show --context', sent)).toEqual([]);
    expect(sent).toMatchObject([
      { n: 1, file: 'src/teapot.js', omitted: [], files: { length: 5 } },
    ]);
  });

  test('off by the job: nothing is told', async () => {
    s.write('src/teapot.js', TEAPOT);
    const run = await s.start('off.md', job('context: { signatures: false }\n'));
    await s.end(run);
    expect((await textsOf(s)).filter((text) => text.includes(HEADING))).toHaveLength(1);
    expect(await typed(s, 'show', shownKey(run.stepKey), '--context')).not.toContain('kettle');
  });

  test('a call whose record of it is missing: that is said', async () => {
    const records = join(s.store, 'records/steps');
    for (const path of readdirSync(records, { recursive: true, encoding: 'utf8' }))
      if (path.includes('/shown-')) rmSync(join(records, path));
    expect(await typed(s, 'show', shown, '--context')).toMatch(/its record is missing/);
  });
});

long(
  'a worker that dies between preflight and call: the prompt is that of the snapshot, whatever the files say by then',
  async () => {
    const s = await scene(FILES, RULES);
    try {
      const dying = await s.worker('preflight:after:1');
      const run = await s.start('job.md', job());
      await dying.exited;
      expect(dying.fired()).toBe(true);
      s.write('src/kettle.js', 'export function boil(fahrenheit) {}\n');
      s.write('src/table.js', '');
      await s.worker();
      expect(await s.end(run, 90)).toMatchObject({ outcome: 'applied' });
      const [text = '', ...others] = await textsOf(s);
      expect(others).toEqual([]);
      expect(text).toContain('export function boil(degrees)');
      expect(text).toContain('return pour();');
      expect(text).not.toContain('fahrenheit');
    } finally {
      await s.close();
    }
  },
);
