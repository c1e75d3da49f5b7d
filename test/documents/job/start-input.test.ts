/** The table of what may be typed as the input of a run: src/documents/job/start-input.ts. */
import { describe, expect, test } from '@jest/globals';
import { JOB_KEYS } from '../../../src/documents/job/job-keys.js';
import {
  planPathIn,
  readPlanInput,
  readStepInput,
} from '../../../src/documents/job/start-input.js';
import { LIMITS, type LimitName } from '../../../src/shared/limits.js';
import type { EditStepInput, PlanInput } from '../../../src/shared/start-input.js';

const RUN = 'a'.repeat(32);
const COMMIT = 'b'.repeat(40);
const GIVEN = `sha256:${'c'.repeat(64)}`;
const FOLLOWS = {
  run: RUN,
  commit: COMMIT,
  pullRequest: '7',
  remote: 'origin',
  branch: 'emend/x',
  notes: ['a.js:1 ada: rename it'],
};

/** Each limit, with the least value that it takes. */
const LIMIT_VALUES = Object.fromEntries(
  Object.entries(LIMITS).map(([name, { min }]) => [name, min]),
) as Record<LimitName, number>;
const PLACE = {
  workspace: '/repo',
  host: 'h',
  repository: 'https://x/y',
  base: 'main',
  branch: 'b',
};
const SETTINGS = {
  ...LIMIT_VALUES,
  requireCompleteSentinel: true,
  approval: 'ask',
  hints: ['use tabs'],
  configurationCommit: COMMIT,
};
/** Each key of the types, with a value that it takes: the compiler refuses a key too many and one too few. */
const STEP_KEYS = {
  ...PLACE,
  ...SETTINGS,
  task: 'Rename it',
  name: 'rename',
  jobFile: 'jobs/x.md',
  pick: true,
  acceptedResult: GIVEN,
  follows: FOLLOWS,
  mode: 'edit',
  targetFiles: ['a.js'],
  newFiles: ['b.js'],
  deleteFiles: ['c.js'],
  contextFiles: ['d.js'],
  outputDir: 'out',
  outputFile: 'e.js',
  outputFiles: ['f.js'],
  format: 'unified-diff',
  category: 'docs',
  complexity: 'low',
  effort: 'high',
  test: ['npm test'],
  commit: 'Rename it',
  model: 'some-model',
  finalNewline: true,
  repair: false,
  secrets: 'mask',
  audit: { model: 'other-model', when: 'before_approval' },
  sandbox: { network: false },
  baseline: 'off',
  context: { signatures: false },
  verify: 'after_approval',
  create: ['src/**'],
} satisfies Record<keyof EditStepInput, unknown>;
const PLAN_KEYS = {
  ...PLACE,
  ...SETTINGS,
  planFile: 'plans/010_greet.md',
  phase: 2,
  mode: 'waves',
  forceReplan: true,
  drift: 'the tests too',
  estimate: 'approved',
  restart: true,
} satisfies Record<keyof PlanInput, unknown>;

const stepOf = (input: unknown) => {
  const read = readStepInput(input);
  if (!read.ok) throw new Error(read.message);
  return read.value;
};
const planOf = (input: unknown) => {
  const read = readPlanInput(input);
  if (!read.ok) throw new Error(read.message);
  return read.value;
};
/** The faults of an input, one text each. Those of fields begin with the field. */
const faultsOf = (read: ReturnType<typeof readStepInput | typeof readPlanInput>): string[] => {
  if (read.ok) return [];
  const message = /^The input of the run does not fit\. (.*(?:\?|(?<!\?)\.)) Example: \{.*\}$/;
  const [, faults = `not of the form: ${read.message}.`] = message.exec(read.message) ?? [];
  return faults.replace(/\.$/, '').split(/; (?=`)/);
};
/** The keys that a reader knows: of a key that looks like no other it lists them all. */
const knownTo = (read: typeof readStepInput | typeof readPlanInput): string[] => {
  const [, keys = ''] = /`zz`: unknown key; expected one of ([\w, ]+)/.exec(
    faultsOf(read({ zz: 1 })).join('; '),
  ) ?? [''];
  return keys.split(', ').sort();
};
const camelCase = (key: string): string =>
  key.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
const TASK = { workspace: '/repo', task: 'Rename it' };
const FILE = { workspace: '/repo', jobFile: 'jobs/x.md' };
const PLAN = { workspace: '/repo', planFile: 'plans/010_greet.md' };

describe('keys', () => {
  test('the types and the readers have the same keys', () => {
    expect(knownTo(readStepInput)).toEqual(Object.keys(STEP_KEYS).sort());
    expect(knownTo(readPlanInput)).toEqual(Object.keys(PLAN_KEYS).sort());
  });

  test('of several unknown keys each names the nearest key, and one alone lists all', () => {
    const faults = faultsOf(readStepInput({ ...TASK, zz: 1, targetFile: ['a.js'], qq: 2 }));
    expect(faults.slice(0, 2)).toEqual([
      '`zz`: unknown key',
      '`targetFile`: unknown key; did you mean `targetFiles`?',
    ]);
    expect(faults[2]).toMatch(/^`qq`: unknown key; expected one of workspace, host, /);
    const text = faults.join();
    expect(text.split('configurationCommit')).toHaveLength(2);
  });

  test('each key of a job is a key of the input, in camel case; `limits` is a key for each limit', () => {
    const missing = JOB_KEYS.filter((key) => !Object.hasOwn(STEP_KEYS, camelCase(key)));
    expect(missing).toEqual(['limits']);
  });

  test.each(Object.entries(STEP_KEYS))(
    '`%s` takes its value, and null is a fault',
    (key, value) => {
      const faults = faultsOf(readStepInput({ ...TASK, [key]: value }));
      expect(faults.filter((fault) => /unknown key|, received (?!both|none)/.test(fault))).toEqual(
        [],
      );
      expect(faultsOf(readStepInput({ ...TASK, [key]: null }))[0]).toMatch(
        new RegExp(`^\`${key}\`: expected .*, received nothing$`),
      );
    },
  );

  test.each(Object.entries(PLAN_KEYS))(
    '`%s` of a plan takes its value, and null is a fault',
    (key, value) => {
      const faults = faultsOf(readPlanInput({ ...PLAN, [key]: value }));
      expect(faults.filter((fault) => /unknown key|, received (?!both|none)/.test(fault))).toEqual(
        [],
      );
      expect(faultsOf(readPlanInput({ ...PLAN, [key]: null }))[0]).toMatch(
        new RegExp(`^\`${key}\`: expected .*, received nothing$`),
      );
    },
  );

  test('each key of a job that accompanies a task becomes one of its front matter', () => {
    const { job } = stepOf({
      ...TASK,
      targetFiles: ['./a.js'],
      finalNewline: false,
      test: false,
      audit: 'other-model',
    });
    expect(job).toEqual({
      kind: 'text',
      name: 'rename-it',
      text: '---\ntarget_files:\n  - ./a.js\nfinal_newline: false\ntest: false\naudit: other-model\n---\nRename it',
    });
  });
});

describe('places', () => {
  test.each([
    [{ workspace: '/repo/' }, { kind: 'workspace', path: '/repo', host: null }],
    [
      { workspace: '/a//b/../c', host: 'h' },
      { kind: 'workspace', path: '/a/c', host: 'h' },
    ],
    [{ workspace: '/' }, { kind: 'workspace', path: '/', host: null }],
    [
      { repository: 'https://x/y', base: 'main' },
      { kind: 'repository', repository: { url: 'https://x/y', base: 'main' } },
    ],
    [
      { repository: 'https://x/y', base: 'main', branch: 'b' },
      { kind: 'repository', repository: { url: 'https://x/y', base: 'main', branch: 'b' } },
    ],
  ])('%j', (keys, place) => {
    expect(stepOf({ ...keys, task: 'x' }).place).toEqual(place);
    expect(planOf({ ...keys, planFile: 'p.md' }).place).toEqual(place);
  });

  test.each([
    [
      {},
      '`workspace`: expected an absolute path on the host that has the workspace, received nothing',
    ],
    [
      { workspace: 'repo' },
      '`workspace`: expected an absolute path on the host that has the workspace, received "repo"',
    ],
    [
      { workspace: '/re\0po' },
      '`workspace`: expected an absolute path on the host that has the workspace, received "/re\\u0000po"',
    ],
    [
      { workspace: 3 },
      '`workspace`: expected an absolute path on the host that has the workspace, received 3',
    ],
    [{ workspace: '/r', host: '' }, '`host`: expected text that is not empty, received ""'],
    [{ workspace: '/r', base: 'main' }, '`base`: expected `repository` with it, received none'],
    [{ workspace: '/r', branch: 'b' }, '`branch`: expected `repository` with it, received none'],
    [
      { workspace: '/r', repository: 'https://x/y', base: 'm' },
      '`repository`: expected either `workspace` or `repository`, received both',
    ],
    [
      { repository: 'https://x/y' },
      '`base`: expected a branch or a commit of the repository, received nothing',
    ],
    [
      { repository: 'https://x/y', base: 'm', host: 'h' },
      '`host`: expected `workspace` with it, received none',
    ],
  ])('%j is refused', (keys, fault) => {
    expect(faultsOf(readStepInput({ ...keys, task: 'x' }))).toEqual([fault]);
    expect(faultsOf(readPlanInput({ ...keys, planFile: 'p.md' }))).toEqual([fault]);
  });
});

describe('settings', () => {
  test.each([
    ['a run of a job', (keys: object) => stepOf({ ...TASK, ...keys }).settings],
    ['a plan', (keys: object) => planOf({ ...PLAN, ...keys }).settings],
  ])('limits of %s become overrides, and the others are settings', (_of, read) => {
    expect(read({})).toEqual({
      overrides: {},
      approval: null,
      hints: [],
      configurationCommit: null,
    });
    const { approval, hints, configurationCommit, ...overrides } = SETTINGS;
    expect(read(SETTINGS)).toEqual({ overrides, approval, hints, configurationCommit });
  });

  test('no limit is written into the job', () => {
    const { job } = stepOf({ ...TASK, ...SETTINGS });
    expect(job).toEqual({ kind: 'text', name: 'rename-it', text: '---\n{}\n---\nRename it' });
  });

  test.each([
    [{ budget_usd: '2' }, /^`budget_usd`: expected a number from .* \(US dollars\), received "2"$/],
    [
      { concurrency: 1.5 },
      /^`concurrency`: expected a whole number from 1 to 32 \(chunks\), received 1.5$/,
    ],
    [{ concurrency: 33 }, /^`concurrency`: expected a whole number/],
    [{ requireCompleteSentinel: 'yes' }, /^`requireCompleteSentinel`: expected true or false/],
    [{ approval: 'no' }, /^`approval`: expected one of ask, auto, received "no"$/],
    [{ hints: 'x' }, /^`hints`: expected a list of texts, received "x"$/],
    [{ hints: ['x', 1] }, /^`hints.1`: expected text that is not empty, received 1$/],
    [{ configurationCommit: 'main' }, /^`configurationCommit`: expected the whole id of a commit/],
  ])('%j is refused', (keys, fault) => {
    expect(faultsOf(readStepInput({ ...TASK, ...keys }))).toEqual([expect.stringMatching(fault)]);
    expect(faultsOf(readPlanInput({ ...PLAN, ...keys }))).toEqual([expect.stringMatching(fault)]);
  });
});

describe('jobs', () => {
  test.each([
    ['jobs/x.md', 'jobs/x.md'],
    ['./jobs//x.markdown', 'jobs/x.markdown'],
    ['/other/../jobs/x.md', '/jobs/x.md'],
  ])('the job file %j', (jobFile, path) => {
    expect(stepOf({ ...FILE, jobFile }).job).toEqual({ kind: 'file', path });
  });

  test.each([
    ['# Raise the number\n\nSet a to 2 now.', 'raise-the-number-set-a'],
    ['日本語', '日本語'],
    ['---', 'job'],
  ])('a task without a name is named by its first words: %j', (task, name) => {
    expect(stepOf({ ...TASK, task }).job).toMatchObject({ name });
  });

  test('what a client alone sends', () => {
    const none = { pick: false, acceptedResult: null, follows: null };
    expect(stepOf(FILE)).toMatchObject(none);
    const all = { pick: true, acceptedResult: GIVEN, follows: FOLLOWS };
    expect(stepOf({ ...FILE, ...all })).toMatchObject(all);
  });

  test.each([
    [{ workspace: '/r' }, ['`task`: expected instructions, or `jobFile`, received nothing']],
    [{ ...TASK, task: ' ' }, ['`task`: expected text that is not empty, received " "']],
    [{ ...TASK, task: 'a\0b' }, [/^`task`: expected Markdown text in UTF-8/]],
    [{ ...TASK, ...FILE }, ['`jobFile`: expected either `task` or `jobFile`, received both']],
    [
      { ...FILE, jobFile: 'x.txt' },
      ['`jobFile`: expected the path of a Markdown file (.md or .markdown), received "x.txt"'],
    ],
    [{ ...FILE, jobFile: 3 }, ['`jobFile`: expected the path of a Markdown file, received 3']],
    [
      { ...FILE, jobFile: '../x.md' },
      ['`jobFile`: expected a path inside the workspace, received "../x.md"'],
    ],
    [{ ...FILE, name: 'x' }, ['`name`: the job file sets it; expected it with `task` alone']],
    [
      { ...FILE, test: 'npm test' },
      ['`test`: the job file sets it; expected it with `task` alone'],
    ],
    [{ ...TASK, pick: false }, ['`pick`: expected true, received false']],
    [
      { ...TASK, acceptedResult: 'x' },
      ['`acceptedResult`: expected a reference to a stored result (sha256:…), received "x"'],
    ],
    [
      { ...TASK, follows: { ...FOLLOWS, run: 'x' } },
      ['`follows.run`: expected the id of a run, received "x"'],
    ],
    [
      { ...TASK, follows: { ...FOLLOWS, notes: undefined } },
      ['`follows.notes`: expected a list of texts, received nothing'],
    ],
    [
      { ...TASK, follows: { ...FOLLOWS, notes: [1] } },
      ['`follows.notes.0`: expected a text, received 1'],
    ],
    [
      { ...TASK, target_files: ['a.js'] },
      ['`target_files`: unknown key; did you mean `targetFiles`?'],
    ],
    [
      { ...TASK, targetFiles: 'a.js' },
      ['`targetFiles`: expected a list of paths, received "a.js"'],
    ],
    [
      { ...TASK, targetFiles: ['a.js', '../b.js'] },
      ['`targetFiles.1`: expected a path inside the workspace, received "../b.js"'],
    ],
    [
      { ...TASK, context: { signatres: true } },
      ['`context.signatres`: unknown key; did you mean `signatures`?'],
    ],
    // Faults between keys: a job file would name them in its own way.
    [
      { ...TASK, mode: 'standard' },
      [
        '`mode`: `standard` requires `outputDir`, `outputFile` or `outputFiles`, received none of them',
      ],
    ],
    [
      { ...TASK, outputFile: 'a', outputFiles: ['b'] },
      ['`outputFiles`: expected either `outputFile` or `outputFiles`, received both'],
    ],
    [
      { ...TASK, targetFiles: ['a.js'], deleteFiles: ['b.js', 'a.js'] },
      [
        '`deleteFiles.1`: expected a file that the job does not use elsewhere, received a.js, also named by `targetFiles`',
      ],
    ],
    [
      { workspace: 'r', task: 3, mode: 'x' },
      [/^`workspace`: /, /^`task`: /, /^`mode`: expected one of edit, standard, sequential/],
    ],
  ])('%j is refused', (input, faults) => {
    expect(faultsOf(readStepInput(input))).toEqual(
      faults.map((fault) => (typeof fault === 'string' ? fault : expect.stringMatching(fault))),
    );
  });
});

describe('plans', () => {
  test('without options and with all', () => {
    const { planPath, options } = planOf(PLAN);
    expect(planPath).toBe('plans/010_greet');
    expect(options).toEqual({
      phase: null,
      mode: 'auto',
      forceReplan: false,
      drift: null,
      estimate: 'ask',
      restart: false,
    });
    const { phase, mode, forceReplan, drift, estimate, restart } = PLAN_KEYS;
    const all = { phase, mode, forceReplan, drift, estimate, restart };
    expect(planOf({ ...PLAN, ...all }).options).toEqual(all);
  });

  test.each(['plans/x.md', 'plans/x/x.md', 'plans/x/', 'plans/x', './plans//x.MD'])(
    '%s is the plan plans/x',
    (planFile) => {
      expect(planOf({ ...PLAN, planFile }).planPath).toBe('plans/x');
      expect(planPathIn(planFile)).toBe('plans/x');
    },
  );

  test.each([
    [
      { workspace: '/r' },
      '`planFile`: expected the path of the document of a plan, received nothing',
    ],
    [{ ...PLAN, planFile: '' }, '`planFile`: expected text that is not empty, received ""'],
    [
      { ...PLAN, planFile: '../x.md' },
      '`planFile`: expected a path inside the workspace, received "../x.md"',
    ],
    [
      { ...PLAN, planFile: '/x.md' },
      '`planFile`: expected a path relative to the workspace, not absolute, received "/x.md"',
    ],
    [{ ...PLAN, phase: 0 }, '`phase`: expected a whole number from 1 to 1000000, received 0'],
    [
      { ...PLAN, mode: 'parallel' },
      '`mode`: expected one of auto, sequential, waves, received "parallel"',
    ],
    [{ ...PLAN, estimate: 'no' }, '`estimate`: expected one of ask, approved, received "no"'],
    [{ ...PLAN, drift: '' }, '`drift`: expected text that is not empty, received ""'],
    [{ ...PLAN, forceReplan: 1 }, '`forceReplan`: expected true or false, received 1'],
    [{ ...PLAN, restart: 'yes' }, '`restart`: expected true or false, received "yes"'],
  ])('%j is refused', (input, fault) => {
    expect(faultsOf(readPlanInput(input))).toEqual([fault]);
  });
});

test.each([undefined, null, 'a task', 3, [], ['/repo']])('%j is no input', (input) => {
  for (const read of [readStepInput, readPlanInput])
    expect(faultsOf(read(input))).toEqual([
      expect.stringMatching(/^expected an object, received /),
    ]);
});
