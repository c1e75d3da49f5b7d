/** `emend run -m`: from a sentence to a commit on a real server; its text is shown where it is answered for, and a second start joins it. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { resolveRun } from '../../src/client/index.js';
import { fakeIo, type FakeIo } from '../cli/io.js';
import { printedFaults } from '../support/json-schema.js';
import { longOnly } from '../support/skipped.js';
import { inBrowser, onPage } from './page-support.js';
import { requestsOf, scene, whole, type Scene } from './support.js';

const MARKER = 'EMEND-COMPLETE {{nonce}} 0 0\n';
const LIST = 'Files of the project';
const picks = (...files: readonly (readonly [path: string, why: string])[]) =>
  `${JSON.stringify({ files: files.map(([path, why]) => ({ path, why })) })}\n${MARKER}`;
const KETTLE = 'export const boilWater = () => 1;\n';
const POT = "import { boilWater } from './kettle.js';\nexport const pour = () => boilWater();\n";

const SMALL = Object.fromEntries(
  ['lid.js', 'cup.js', 'src/spout.js'].map((path) => [path, 'export const wide = 1;\n']),
);

const long = longOnly('the two ways to a commit are tested in the short run');
let s: Scene;
beforeAll(async () => {
  s = await scene({ 'src/kettle.js': KETTLE, 'src/teapot.js': POT, ...SMALL }, [
    { name: 'cup', match: { contains: [LIST, 'The cup'] }, answer: picks(['cup.js', 'holds tea']) },
    {
      name: 'found',
      match: { contains: [LIST, 'pour shall'] },
      answer: picks(['src/teapot.js', 'defines pour']),
    },
    {
      name: 'two',
      match: { contains: [LIST, 'both in src/kettle.js'] },
      answer: picks(['src/kettle.js', 'boils'], ['src/spout.js', 'pours']),
    },
    {
      name: 'kettle',
      match: { contains: '- src/kettle.js' },
      answer: whole({ 'src/kettle.js': KETTLE.replace('1', '2') }),
    },
    ...['src/spout.js', 'cup.js'].map((path) => ({
      name: path,
      match: { contains: `- ${path}` },
      answer: whole({ [path]: 'export const wide = 2;\n' }),
    })),
    {
      name: 'pot',
      match: { contains: '- src/teapot.js' },
      answer: whole({ 'src/teapot.js': `${POT}// poured\n` }),
    },
  ]);
  await s.worker();
}, 120_000);
afterAll(() => s.close());

const typed = async (
  exit: number,
  args: readonly string[],
  cwd = s.repo,
): Promise<FakeIo['printed']> => {
  const io = fakeIo({ env: { ...s.env, NO_COLOR: '1' }, cwd });
  const found = await main(args, io);
  if (found !== exit)
    throw new Error(`${args.join(' ')}: ${found}, not ${exit}\n${io.printed.out}${io.printed.err}`);
  if (args.includes('--json')) expect(printedFaults(args, io.printed.out)).toEqual([]);
  return io.printed;
};
const keyOf = ({ out }: FakeIo['printed']): string => /^([0-9a-f]{8}) {2}/.exec(out)?.[1] ?? '';

const ASKED = "Boil the water twice, it's <b>cold</b> today";
const NAMED = ['run', '-m', ASKED, 'kettle.js', '--test', 'node --check src/kettle.js', '--commit'];

longOnly('cli.test.ts joins a run, shows it, approves it and commits')(
  'named files: a second start joins the run, the words are shown where they are answered for, and it is committed',
  async () => {
    const cwd = join(s.repo, 'src');
    const run = keyOf(await typed(3, NAMED, cwd));
    expect(run).toMatch(/./);
    const { stepKey } = await resolveRun(s.emend, run);
    const workflowId = expect.stringMatching(
      /^emend\/job\/boil-the-water-twice-it-s\/[0-9a-f]{12}$/,
    );
    const joined = JSON.parse((await typed(3, [...NAMED, '--json'], cwd)).out) as object;
    expect(joined).toMatchObject({
      stepKey,
      workflowId,
      started: 'already_running',
      state: 'waiting',
    });
    expect((await typed(3, NAMED, cwd)).out).toContain('This job is already running; showing it.');
    expect((await typed(3, ['review', run])).err).toMatch(
      /^asked for:\n {2}Boil the water twice, it's <b>cold<\/b> today/,
    );
    expect((await typed(0, ['show', run])).out).toMatch(
      /^[0-9a-f]{8} {2}Boil the water[^]* job +boil-the-water-twice-it-s\n/,
    );
    expect((await typed(0, ['list'])).out).toContain('boil-the-water-twice-it-s');
    const command =
      /emend (approve \S+ --decision \S+)/.exec((await typed(0, ['show', run])).out)?.[1] ?? '';
    await typed(0, command.split(' '));
    expect(await s.end(await resolveRun(s.emend, run))).toMatchObject({
      outcome: 'committed',
      files: ['src/kettle.js'],
    });
    expect(s.git('log', '-1', '--format=%s').trim()).toBe(ASKED);
    for (const flag of ['--markdown', '--json'])
      expect((await typed(0, ['report', run, flag])).out).toContain(ASKED);
    const asked = (await requestsOf(s)).filter((request) =>
      JSON.stringify(request).includes('Boil the water'),
    );
    expect(asked).toHaveLength(1);
  },
);

test('no file named: found, picked and told before anything is edited; then a commit', async () => {
  const line = ['run', '-m', 'pour shall take a cup', '--approval', 'auto', '--commit'];
  expect((await typed(0, [...line, '--estimate'])).out).toMatch(
    /^pour-shall-take-a-cup: .*about \d model call/,
  );
  const { out } = await typed(0, line);
  expect(out).toMatch(
    /picked to edit: src\/teapot\.js \(defines pour\)\n[^]*proposal \w+: 1 file[^]*committed 1 file/,
  );
  expect(s.git('show', '--format=%s', '--name-only').trim().split(/\n+/)).toEqual([
    'pour shall take a cup',
    'src/teapot.js',
  ]);
  expect((await typed(0, ['show', keyOf({ out, err: '' })])).out).toMatch(
    /src\/teapot\.js .* defines pour\n/,
  );
});

long(
  '--pick asks before anything is paid for editing, though the words name a file and the policy is auto',
  async () => {
    const line = ['run', '-m', 'Change both in src/kettle.js', '--approval', 'auto', '--pick'];
    const waiting = await typed(3, line);
    const run = keyOf(waiting);
    expect(waiting.out).toContain(
      'the model wants to edit 2 files; --pick asks before any is edited',
    );
    expect(waiting.out).toMatch(/src\/kettle\.js: boils\n +src\/spout\.js: pours\n/);
    const [, decision = ''] = /emend decide \S+ take --decision (\S+)/.exec(waiting.out) ?? [];
    await typed(0, ['decide', run, 'take', '--decision', decision, '--file', 'src/spout.js']);
    await typed(0, ['skip', run, '--decision', decision]);
    const resolved = await resolveRun(s.emend, run);
    expect(await s.end(resolved)).toMatchObject({
      outcome: 'applied',
      files: ['src/spout.js'],
      usage: { calls: 2 },
    });
    const { ledger } = await s.show(resolved);
    expect(ledger).toMatchObject([{ path: 'src/spout.js', why: 'pours' }]);
  },
);

inBrowser()('on the page', () => {
  long(
    'stand the words, and why a file was picked',
    async () => {
      const run = keyOf(await typed(3, ['run', '-m', 'The cup shall be <i>slow</i>']));
      const { stepKey } = await resolveRun(s.emend, run);
      await onPage(
        s.emend,
        { at: `#/run/${stepKey}`, colorScheme: 'light', width: 1024 },
        async (page) => {
          await page.getByLabel('Instructions').getByText('The cup shall be <i>slow</i>').waitFor();
          await page.getByLabel('Table of files').getByText('holds tea', { exact: true }).waitFor();
          await page.getByText('picked to edit: cup.js (holds tea)').waitFor();
        },
      );
      await typed(0, ['abort', run]);
    },
    60_000,
  );
});

test('what the run refuses names the job by its words, with what to type', async () => {
  s.write('lid.js', 'export const lid = 2;\n');
  const token = `ghp_${'aB3'.repeat(12)}`;
  const { out } = await typed(4, ['run', '-m', `Close ${token} lid`, 'lid.js', '--commit']);
  expect(out).toContain(
    'close-secret-lid: commit is set, but these targets have uncommitted changes: lid.js',
  );
  // Nor is a secret in the name of a run, or in its history.
  const { live } = await resolveRun(s.emend, keyOf({ out, err: '' }));
  const history = await s.emend.runs!.historyText({ workflowId: live!.workflowId, runId: null });
  expect(history).toContain('close-secret-lid');
  expect(`${history}${JSON.stringify(live)}${out}`.toLowerCase()).not.toContain(
    token.slice(4, 20).toLowerCase(),
  );
});
