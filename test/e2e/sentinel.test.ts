/** `requireCompleteSentinel` counts from the command line, else from the job or the plan, else from `emend.yaml`. */
import { afterEach, expect, test } from '@jest/globals';
import {
  planOfPath,
  readJobFile,
  resolveRun,
  startPlan,
  startStep,
} from '../../src/client/index.js';
import { planText } from './plan-support.js';
import { scene, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

/** An answer that is whole, and does not say so. */
const unmarked = (path: string) => ({
  name: path,
  match: { contains: `- ${path}` },
  answer: `FILE ${path} {{nonce}}\n1\nEND FILE {{nonce}}\n`,
});
const given = (value: boolean) => `requireCompleteSentinel: ${value}\n`;
const NONE = '';

test('a step: emend.yaml, the job over it, the command line over both', async () => {
  const rows = [
    [given(false), NONE, {}, 'applied'],
    [given(false), given(true), {}, 'unmarked'],
    [NONE, given(false), {}, 'applied'],
    [given(true), given(true), { requireCompleteSentinel: false }, 'applied'],
    [NONE, given(false), { requireCompleteSentinel: true }, 'unmarked'],
  ] as const;
  const s = (open = await scene(
    { 'README.md': 'A.\n' },
    rows.map((_, n) => unmarked(`${n}.txt`)),
  ));
  await s.worker();
  for (const [n, [yaml, front, overrides, ends]] of rows.entries()) {
    s.write('emend.yaml', `approval: auto\n${yaml}`);
    s.write(`${n}.md`, `---\nnew_files: [${n}.txt]\n${front}---\n# One\n\nWrite 1.\n`);
    const job = await readJobFile({ jobPath: `${s.repo}/${n}.md`, workspace: s.repo, cwd: s.repo });
    const run = await resolveRun(s.emend, (await startStep(s.emend, { job, overrides })).stepKey);
    const { decision, result } = (await s.settle(run)).status;
    expect([n, decision?.reason ?? result?.outcome]).toEqual([n, ends]);
    const warnings = (await s.events(run)).filter(({ type }) => type === 'warning');
    expect(warnings).toHaveLength(ends === 'applied' ? 1 : 0);
  }
});

test('a plan: its front matter, and the command line over it', async () => {
  const phases = ['a', 'b'].map((name) => [{ name, file: `src/${name}.js` }] as const);
  const s = (open = await scene(
    {
      ...Object.fromEntries(
        phases.map((phase, n) => [
          `plans/00${n}_x.md`,
          `---\n${given(false)}---\n${planText(phase)}`,
        ]),
      ),
      'emend.yaml': 'test: false\n',
    },
    phases.map(([{ file }]) => unmarked(file)),
  ));
  await s.worker();
  const start = async (path: string, overrides: object) => {
    const plan = await planOfPath(s.repo, path);
    const options = { estimate: 'approved' as const };
    const { stepKey } = await startPlan(s.emend, { plan, approval: 'auto', overrides, options });
    return resolveRun(s.emend, stepKey);
  };
  expect(await s.end(await start('plans/000_x.md', {}))).toMatchObject({ outcome: 'completed' });
  const strict = await start('plans/001_x.md', { requireCompleteSentinel: true });
  await s.until(() => s.rehearsal.requests().length === 3);
  const child = await resolveRun(s.emend, `${strict.stepKey.slice(0, 8)}-p1-1`);
  expect((await s.settle(child)).status.decision).toMatchObject({ reason: 'unmarked' });
});
