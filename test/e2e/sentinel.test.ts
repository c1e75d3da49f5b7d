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

/** The job of the seed "Edit mode runner", and the response that it gives, word for word: no nonce, no marker, a bare `END`. */
const SEED_FILES = {
  'src/main.rs': 'struct Run {\n        no_stream: bool,\n    },\n}\n',
  'src/commands/run.rs': 'pub struct Run {\n    pub no_stream: bool,\n}\n',
};
const MAIN_BLOCK = `FILE: src/main.rs
FIND:
        no_stream: bool,
    },
REPLACE:
        no_stream: bool,
        #[arg(long)]
        verbose: bool,
    },
END
`;
const RUN_BLOCK = `FILE: src/commands/run.rs
FIND:
    pub no_stream: bool,
}
REPLACE:
    pub no_stream: bool,
    pub verbose: bool,
}
END
`;
const SEED_JOB = `---
mode: edit
target_files:
  - src/main.rs
  - src/commands/run.rs
format: search-replace
limits: { maxFilesBeforeSplit: 2 }
approval: auto
commit: false
KEYS---

# Add new CLI flag

Add a --verbose flag to the run command.
`;
const seedRun = async (keys: string, answer: string) => {
  const s = (open = await scene({ ...SEED_FILES, 'job.md': SEED_JOB.replace('KEYS', keys) }, [
    { name: 'seed', match: { contains: '--verbose' }, answer },
  ]));
  await s.worker();
  const job = await readJobFile({ jobPath: `${s.repo}/job.md`, workspace: s.repo, cwd: s.repo });
  const run = await resolveRun(s.emend, (await startStep(s.emend, { job })).stepKey);
  const { decision, result } = (await s.settle(run)).status;
  return {
    end: decision?.reason ?? result?.outcome,
    calls: s.rehearsal.requests().length,
    fallbacks: (await s.events(run)).flatMap((event) =>
      event.type === 'fallback' ? [event.to] : [],
    ),
    main: s.read('src/main.rs'),
  };
};

test.each([
  ['the marker is asked for once, then the response counts as it is', '', 2],
  [
    'with `requireCompleteSentinel: false` it counts at once',
    'requireCompleteSentinel: false\n',
    1,
  ],
])("the seed's own response, whole and without nonce and marker: %s", async (_, keys, calls) => {
  const run = await seedRun(keys, `${MAIN_BLOCK}\n${RUN_BLOCK}`);
  expect(run).toMatchObject({ end: 'applied', calls });
  expect(run.main).toContain('        verbose: bool,\n');
});

test('a response that the model ended inside a block is never applied, and gets no larger budget', async () => {
  const run = await seedRun('', `${MAIN_BLOCK}\n${RUN_BLOCK.replace(/ +pub verbose[^]*/, '')}`);
  expect(run.end).not.toBe('applied');
  expect(run.main).toBe(SEED_FILES['src/main.rs']);
  expect(run.fallbacks.filter((to) => to.includes('output budget'))).toEqual([]);
});
