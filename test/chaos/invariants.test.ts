/** Each invariant passes sound findings and catches what is planted in them: a chaos run that cannot fail proves nothing. */
import { describe, expect, test } from '@jest/globals';
import { NO_USAGE } from '../../src/shared/usage.js';
import type {
  Evidence,
  FoundAttempt,
  FoundPlan,
  FoundPlanRun,
  FoundRecord,
  FoundStep,
  FoundWorkspace,
  Pause,
} from './evidence.js';
import { INVARIANTS } from './invariants/index.js';
import { sha256, unexplained } from './invariants/files.js';
import { carrierOf, savedBy } from './jobs.js';
import { planCarrierOf } from './plans.js';

const WORKSPACE = '/w';
const KEY = 'a'.repeat(32);
const carrier = carrierOf('c01', WORKSPACE, {
  plan: 'none',
  files: 2,
  named: true,
  tests: 'none',
  sandbox: 'default',
  approval: 'ask',
  format: 'whole-file',
  fault: null,
});
const [A, B] = carrier.paths as [string, string];
const at = (record: Readonly<Record<string, string>>, path: string): string => record[path] ?? '';
const NONCE = 'feed'.repeat(2);
/** Also with an older answer in it, which has a marker of its own. */
const asked = (nonce: string): string =>
  JSON.stringify({ text: `${'c'.repeat(8)} and then ${nonce}` });
const cutOff: FoundAttempt = { state: 'unknown', begunAt: 450, givenUpAt: 600, endedAt: 600 };
const heard: FoundAttempt = { state: 'answered', begunAt: 850, givenUpAt: null, endedAt: 1_999 };
/** Its owner slept, and heard the answer to its end when the run had long gone on. */
const heardLate: FoundAttempt = { state: 'answered', begunAt: 450, givenUpAt: 700, endedAt: 6_000 };
const open: FoundAttempt = { state: 'open', begunAt: 450, givenUpAt: null, endedAt: null };
const usage = { ...NO_USAGE, calls: 2, unknownCalls: 1 };
const by = 'person-1 (cli)';

const record: FoundRecord = {
  name: 'p1-1',
  kind: 'apply',
  proposalId: 'p1',
  decision: 1,
  open: false,
  outcome: 'applied',
  done: [A, B],
  files: [A, B].map((path) => ({
    path,
    base: sha256(at(carrier.base, path)),
    result: sha256(at(carrier.wanted, path)),
  })),
  saved: [],
};
const paused = (...reasons: readonly Pause['reason'][]): readonly Pause[] =>
  reasons.map((reason) => ({ reason, message: '' }));
const result = {
  v: 2 as const,
  stepKey: KEY,
  outcome: 'committed' as const,
  files: [A, B],
  skipped: [],
  pausedFor_ms: 0,
  wasSplit: true,
  usage,
  commit: 'f00',
  proposalId: 'p1',
  verification: null,
  problem: null,
};
const row = (path: string) => ({
  path,
  status: 'done' as const,
  attempts: 0,
  format: 'whole-file' as const,
  bucket: 'A' as const,
  lines: 40,
  isNew: false,
  outputBudget_tokens: 1,
  reason: null,
  verdict: 'approve' as const,
});
const step: FoundStep = {
  carrier: 'c01',
  kind: 'SIGKILL in apply',
  ends: ['committed'],
  workspace: WORKSPACE,
  paths: [A, B],
  base: carrier.base,
  wanted: carrier.wanted,
  stepKey: KEY,
  status: 'COMPLETED',
  rounds: 1,
  pauses: paused('approval'),
  reset: false,
  dropped: false,
  result,
  ledger: [row(A), row(B)],
  events: [
    {
      type: 'decided',
      decision: '1-aaaaaaaa-p1',
      answer: 'approve',
      files: 2,
      skipped: [],
      by,
      seq: 1,
      at: 1,
    },
  ],
  usage,
  talliedAt: null,
  archived: {
    status: 'COMPLETED',
    outcome: 'committed',
    commit: 'f00',
    files: [A, B],
    deciders: ['person-1'],
  },
  records: [record],
  calls: [{ nonce: NONCE, answeredAt: 2_000, attempts: [cutOff, heard] }],
  taskFailures: [],
};
const workspace: FoundWorkspace = {
  path: WORKSPACE,
  files: { [A]: at(carrier.wanted, A), [B]: at(carrier.wanted, B) },
  commits: [
    {
      id: 'f00',
      steps: [KEY],
      changed: { [A]: at(carrier.wanted, A), [B]: at(carrier.wanted, B) },
    },
  ],
  status: [],
  fsck: [],
  locks: [],
  lock: null,
};
const sound: Evidence = {
  steps: [step],
  plans: [],
  workspaces: [workspace],
  requests: [
    { n: 1, at: 500, body: asked(NONCE), refused: false },
    { n: 2, at: 900, body: asked(NONCE), refused: false },
  ],
  saves: [],
  given: [
    {
      carrier: 'c01',
      stepKey: KEY,
      decision: '1-aaaaaaaa-p1',
      answer: 'approve',
      by: 'person-1',
      told: 'counted',
      said: '',
    },
  ],
  strange: [],
  faults: [{ name: 'SIGKILL in apply', carrier: 'c01', fired: 'there' }],
};

const withStep = (change: Partial<FoundStep>, rest: Partial<Evidence> = {}): Evidence => ({
  ...sound,
  ...rest,
  steps: [{ ...step, ...change }],
});
const withWorkspace = (
  change: Partial<FoundWorkspace>,
  rest: Partial<Evidence> = {},
): Evidence => ({
  ...sound,
  ...rest,
  workspaces: [{ ...workspace, ...change }],
});
const withFile = (path: string, text: string, rest: Partial<Evidence> = {}): Evidence =>
  withWorkspace({ files: { ...workspace.files, [path]: text } }, rest);
const save = {
  carrier: 'c01',
  workspace: WORKSPACE,
  path: A,
  bytes: savedBy(A, at(carrier.base, A), 'save 1'),
  how: 'in place',
};
const whole = at(carrier.wanted, A);
const given = (change: Partial<Evidence['given'][number]>): Partial<Evidence> => ({
  given: [{ ...sound.given[0]!, ...change }],
});
const lock = {
  token: 1,
  stepKey: KEY,
  workflowId: 'w',
  namespace: 'n',
  takenAt: '',
  head: null,
  headRef: null,
} as const;

// A plan of three phases, two of them side by side, that has come to its end.
const PLAN_WORKSPACE = '/p';
const PLAN = 'b'.repeat(32);
const planCarrier = planCarrierOf('c02', PLAN_WORKSPACE, { ...carrier.traits, plan: 'waves' });
const document = planCarrier.plan!;
const phaseKeys = document.phases.map(({ number }) => `${PLAN}-p${number}-1`);
const marked = (text: string, n: number, marker = 'COMPLETED'): string =>
  document.phases
    .slice(0, n)
    .reduce(
      (now, { number, name }) =>
        now.replace(`${number}: ${name}\n`, `${number}: ${name} [${marker}]\n`),
      text,
    )
    .split('\n### ')
    .map((part, i) =>
      i > 0 && i <= n && marker === 'COMPLETED' ? part.replaceAll('[ ]', '[x]') : part,
    )
    .join('\n### ');
const PROGRESS = '\n## Implementation Progress\n\n**Date**: 2026-01-01\n';
const atTheEnd = marked(document.text, 3) + PROGRESS;
const phaseAt = (number: number, status = 'completed') => ({
  id: `p${number}`,
  number,
  status,
  runs: [`${PLAN}-p${number}-1`],
});
const planRun: FoundPlanRun = {
  stepKey: PLAN,
  status: 'COMPLETED',
  outcome: 'completed',
  reset: false,
  pauses: paused('estimate'),
  events: [1, 2].map((phase) => ({
    type: 'phase_merged',
    phase,
    commit: `9${phase}`,
    seq: phase,
    at: phase,
  })),
  archived: { status: 'COMPLETED', outcome: 'completed', deciders: [] },
  phases: [1, 2, 3].map((number) => phaseAt(number)),
  taskFailures: [],
};
const terminatedRun: FoundPlanRun = {
  ...planRun,
  stepKey: 'e'.repeat(32),
  status: 'TERMINATED',
  outcome: null,
  archived: { ...planRun.archived, status: 'TERMINATED', outcome: null },
  phases: [],
  events: [],
};
const plan: FoundPlan = {
  carrier: 'c02',
  kind: 'SIGKILL in a merge',
  ends: ['completed'],
  workspace: PLAN_WORKSPACE,
  document: document.path,
  text: document.text,
  phases: document.phases,
  cuts: ['stopped'],
  runs: [planRun],
  left: [],
};
const codeOf = (n: number) => {
  const path = planCarrier.paths[n - 1]!;
  return {
    id: `c${n}`,
    steps: [phaseKeys[n - 1]!],
    changed: { [path]: at(planCarrier.wanted, path) },
  };
};
const mergeOf = (n: number) => ({ id: `9${n}`, steps: [`${PLAN}-p${n}-g11`], changed: {} });
const markCommit = (n: number) => ({
  id: `a${n}`,
  steps: [`${PLAN}-p${n}-m1`],
  changed: { [document.path]: marked(document.text, n) + PROGRESS, 'summaries/002_partial.md': '' },
});
const planCommits = [
  codeOf(1),
  codeOf(2),
  mergeOf(1),
  mergeOf(2),
  markCommit(1),
  markCommit(2),
  codeOf(3),
  markCommit(3),
];
const planWorkspace: FoundWorkspace = {
  ...workspace,
  path: PLAN_WORKSPACE,
  files: { ...planCarrier.wanted, [document.path]: atTheEnd },
  commits: planCommits,
};
const withPlan = (change: Partial<FoundPlan>, found: Partial<FoundWorkspace> = {}): Evidence => ({
  ...sound,
  plans: [{ ...plan, ...change }],
  workspaces: [workspace, { ...planWorkspace, ...found }],
});
const withRun = (change: Partial<FoundPlanRun>, found: Partial<FoundWorkspace> = {}): Evidence =>
  withPlan({ runs: [{ ...planRun, ...change }] }, found);
const withDocument = (text: string, change: Partial<FoundPlan> = {}): Evidence =>
  withPlan(change, { files: { ...planWorkspace.files, [document.path]: text } });
const without = (id: string) => ({ commits: planCommits.filter((commit) => commit.id !== id) });

/** By a part of the invariant's name: findings that it must not let pass. */
const PLANTED: Readonly<Record<string, readonly Evidence[]>> = {
  'no file is partial': [
    withFile(A, whole.slice(0, 900)),
    withFile(A, ''),
    withFile(A, whole.replace('edited, 1', 'edited, 2')),
    withFile(A, whole.replace('line 10: edited, 1', 'line 10: as it was')),
    withFile(A, whole.replace('line 5: as it was', 'line 5: something else')),
    withFile(A, save.bytes),
    withWorkspace({ files: { [B]: at(carrier.wanted, B) } }),
    withWorkspace({ commits: [{ id: 'f00', steps: [KEY], changed: { [A]: 'torn' } }] }),
  ],
  'all files of a step': [withFile(B, at(carrier.base, B))],
  'no byte that a person saved': [{ ...sound, saves: [save] }],
  'applied once': [
    withStep({ records: [record, { ...record, name: 'p1-2', decision: 1 }] }),
    withStep({ records: [{ ...record, decision: 4 }] }),
  ],
  'has one commit': [
    withWorkspace({ commits: [] }),
    withWorkspace({ commits: [...workspace.commits, { ...workspace.commits[0]!, id: 'f01' }] }),
    withWorkspace({ commits: [{ ...workspace.commits[0]!, id: 'f01' }] }),
    withWorkspace({ commits: [{ ...workspace.commits[0]!, changed: { other: 'x' } }] }),
    withWorkspace({
      commits: [{ ...workspace.commits[0]!, changed: { [A]: at(carrier.base, A) } }],
    }),
    withStep({ result: { ...result, outcome: 'skipped', commit: null } }),
  ],
  'each phase of a plan': [
    withPlan({}, without('c2')),
    withPlan({}, without('a3')),
    withPlan({}, without('91')),
    withPlan({}, { commits: [...planCommits, { ...codeOf(3), id: 'c4' }] }),
    withPlan(
      {},
      { commits: [...planCommits, { ...markCommit(1), id: 'a4', steps: [`${PLAN}-p1-m2`] }] },
    ),
    withPlan(
      {},
      { commits: [...planCommits, { ...mergeOf(1), id: '94', steps: [`${PLAN}-p1-g12`] }] },
    ),
    // The mark in the commit of code, and code in the commit of the mark.
    withPlan(
      {},
      {
        commits: [
          { ...codeOf(1), changed: { [document.path]: atTheEnd } },
          ...planCommits.slice(1),
        ],
      },
    ),
    withPlan(
      {},
      {
        commits: planCommits.map((c) => (c.id === 'a1' ? { ...c, changed: codeOf(1).changed } : c)),
      },
    ),
    withRun({ phases: [phaseAt(1), phaseAt(2), phaseAt(3, 'pending')] }),
    withRun({ phases: [phaseAt(1), phaseAt(2), phaseAt(3, 'skipped')] }),
    withDocument(marked(document.text, 2) + PROGRESS),
    withDocument(atTheEnd.replace('[COMPLETED]', '[COMPLETED] [COMPLETED]')),
    withDocument(atTheEnd.replace('[x]', '[ ]')),
    withDocument(marked(document.text, 3, 'SKIPPED')),
  ],
  "a plan's document": [
    withDocument(atTheEnd.replace('Look at it   ', 'Look at it')),
    withDocument(atTheEnd.replace('their own\tlist', 'their own list')),
    withDocument(atTheEnd.replace('\n\n', '\n')),
    withDocument(''),
    withDocument(atTheEnd, { text: document.text.replace('list\n', 'list\n* a note\n') }),
  ],
  'no worktree, branch': [withPlan({ left: ['branch refs/heads/emend/x/p1-1'] })],
  'every plan ends': [
    withRun({ outcome: 'incomplete' }),
    withRun({ status: null, outcome: null }),
    withRun({ pauses: paused('estimate', 'engine_failed') }),
    withRun({ pauses: paused('estimate', 'estimate') }),
    withRun({ archived: { ...planRun.archived, status: null } }),
    withRun({ archived: { ...planRun.archived, outcome: 'aborted' } }),
    withPlan({ runs: [planRun, { ...planRun, stepKey: 'd'.repeat(32) }] }),
    // Terminated, and nobody did it.
    withPlan({ runs: [terminatedRun, planRun] }),
    // Reset and terminated runs explain so much, and no more.
    withRun({ pauses: paused('estimate', 'estimate') }),
    withRun({ reset: true, pauses: paused('estimate', 'resume') }),
    withPlan({
      cuts: ['terminated'],
      runs: [terminatedRun, { ...planRun, pauses: paused('conflict') }],
    }),
    withPlan({ cuts: ['terminated'], runs: [planRun, { ...planRun, pauses: paused('resume') }] }),
    withPlan({ cuts: ['terminated'], runs: [planRun, terminatedRun] }),
  ],
  'every answer that was taken': [
    withStep({ events: [] }),
    withStep({ events: [...step.events, ...step.events] }),
    withStep({ archived: { ...step.archived, deciders: [] } }),
    { ...sound, ...given({ told: 'refused' }) },
    withStep({ archived: { ...step.archived, deciders: [] } }, given({ told: 'sent' })),
  ],
  'no recorded answer is asked': [
    {
      ...sound,
      requests: [...sound.requests, { n: 3, at: 2_001, body: asked(NONCE), refused: false }],
    },
    withStep(
      { calls: [{ ...step.calls[0]!, attempts: [cutOff, { ...heard, begunAt: 2_001 }] }] },
      {
        ...sound,
        requests: [sound.requests[0]!, { n: 2, at: 2_001, body: asked(NONCE), refused: false }],
      },
    ),
  ],
  'every request to the model': [
    withStep({ calls: [{ ...step.calls[0]!, attempts: [heard] }] }),
    {
      ...sound,
      requests: [...sound.requests, { n: 3, at: 1, body: asked('b'.repeat(8)), refused: false }],
    },
    // It was sent, and nothing came back: no failure that costs nothing.
    withStep({
      calls: [
        { ...step.calls[0]!, attempts: [{ ...cutOff, state: 'failed', givenUpAt: null }, heard] },
      ],
    }),
  ],
  'all calls are counted': [
    withStep({ usage: { ...usage, unknownCalls: 0 } }),
    withStep({ usage: { ...usage, calls: 1 } }),
    // Never given up and never counted anew: nothing can have been known otherwise.
    withStep({
      calls: [{ ...step.calls[0]!, attempts: [{ ...heardLate, givenUpAt: null }, heard] }],
    }),
    withStep({
      calls: [...step.calls, { nonce: 'b'.repeat(8), answeredAt: null, attempts: [open] }],
    }),
    // Its answer was on disk when the sums were taken: with the call's answer, or with a later count.
    withStep({ calls: [{ ...step.calls[0]!, attempts: [{ ...heardLate, endedAt: 800 }, heard] }] }),
    withStep({ calls: [{ ...step.calls[0]!, attempts: [heardLate, heard] }], talliedAt: 8_000 }),
    // Neither as it was counted nor as it is now.
    withStep({
      calls: [{ ...step.calls[0]!, attempts: [heardLate, heard] }],
      usage: { ...usage, unknownCalls: 2 },
    }),
    withStep({
      calls: [{ ...step.calls[0]!, attempts: [heardLate, heard] }],
      usage: { ...usage, calls: 1 },
    }),
  ],
  'ledger, result and archive': [
    withStep({ archived: { ...step.archived, status: null } }),
    withStep({ archived: { ...step.archived, outcome: 'applied' } }),
    withStep({ archived: { ...step.archived, commit: null } }),
    withStep({ archived: { ...step.archived, files: [A] } }),
    withStep({ ledger: [row(A), { ...row(B), status: 'skipped' }] }),
    withFile(A, at(carrier.base, A)),
  ],
  'every run ends': [
    withStep({ status: null, result: null }),
    withStep({ result: { ...result, outcome: 'failed' } }),
    withStep({ rounds: 100 }),
    withStep({ pauses: paused('conflict', 'approval') }),
    withStep({ pauses: paused('model_unavailable', 'approval') }),
    withStep({ status: 'TERMINATED', result: null, ends: ['terminated'] }),
    withFile(A, at(carrier.base, A)),
  ],
  'no run that has ended': [withWorkspace({ lock })],
  'no temporary or lock file': [
    withFile('c01/.emend-aaaaaaaa-1-0.tmp', ''),
    withWorkspace({ locks: ['index.lock'] }),
    withWorkspace({ fsck: ['broken'] }),
    withWorkspace({ status: [` M ${A}`] }),
    withWorkspace({ status: ['?? stray'] }),
    withPlan({}, { status: [` M ${document.path}`] }),
    withStep({ records: [{ ...record, open: true }] }),
  ],
  'no workflow task failed': [
    withStep({ taskFailures: ['nondeterminism'] }),
    withRun({ taskFailures: ['nondeterminism'] }),
    // Only where a worker stood still.
    withStep({ taskFailures: ['Script execution timed out after 5000ms'] }),
    // Only where the server was away.
    withStep({ taskFailures: ['Fatal error in workflow machines: History is out of order'] }),
  ],
  'no process ended': [{ ...sound, strange: ['a worker ended by itself'] }],
  'every planned fault fired': [{ ...sound, faults: [{ ...sound.faults[0]!, fired: null }] }],
};

describe('invariants', () => {
  test('sound findings pass them all', () => {
    expect(INVARIANTS.flatMap(({ violations }) => violations(sound))).toEqual([]);
  });

  test('a task that stood still with its worker is no failure', () => {
    const told = withStep({ taskFailures: ['Script execution timed out after 5000ms'] });
    const faults = [{ name: 'SIGSTOP a worker', carrier: 'c01', fired: 'worker 7' }];
    expect(INVARIANTS.flatMap(({ violations }) => violations({ ...told, faults }))).toEqual([]);
  });

  test('a task that the server forgot is no failure', () => {
    const told = withStep({
      taskFailures: ['Fatal error in workflow machines: History is out of order'],
    });
    const faults = [{ name: 'SIGSTOP the server', carrier: 'c01', fired: 'server' }];
    expect(INVARIANTS.flatMap(({ violations }) => violations({ ...told, faults }))).toEqual([]);
  });

  test.each(INVARIANTS.map(({ name, violations }) => [name, violations] as const))(
    '%s',
    (name, violations) => {
      const [key, ...more] = Object.keys(PLANTED).filter((part) => name.includes(part));
      expect({ key: typeof key, more }).toEqual({ key: 'string', more: [] });
      const missed = (PLANTED[key!] ?? []).map((evidence) => violations(evidence).length > 0);
      expect(missed).toEqual(missed.map(() => true));
      expect(missed.length).toBeGreaterThan(0);
    },
  );

  test('a plan that came to its end passes them all, and so does one that was cut short', () => {
    const aborted = { outcome: 'aborted', archived: { ...planRun.archived, outcome: 'aborted' } };
    const cut = withPlan(
      {
        ends: ['aborted'],
        // The second was merged and not marked any more, the third never begun.
        runs: [
          {
            ...planRun,
            ...aborted,
            phases: [phaseAt(1), phaseAt(2), { ...phaseAt(3, 'pending'), runs: [] }],
          },
        ],
      },
      {
        commits: planCommits.slice(0, 5),
        files: { ...planWorkspace.files, [document.path]: marked(document.text, 1) + PROGRESS },
      },
    );
    const saved = {
      kind: 'saves a note into the plan',
      text: document.text.replace('list\n', 'list\n* a note\n'),
    };
    const noted = withPlan(saved, {
      status: [` M ${document.path}`],
      files: {
        ...planWorkspace.files,
        [document.path]: atTheEnd.replace('list\n', 'list\n* a note\n'),
      },
    });
    const again = withPlan({
      cuts: ['terminated'],
      runs: [terminatedRun, { ...planRun, pauses: paused('resume', 'estimate') }],
    });
    const reset = withRun({ reset: true, pauses: paused('estimate', 'estimate') });
    for (const evidence of [withPlan({}), cut, noted, again, reset])
      expect(INVARIANTS.flatMap(({ violations }) => violations(evidence))).toEqual([]);
  });

  test('a call that came to its end after the sums were taken counts as it stood then', () => {
    const shown = INVARIANTS.find(({ name }) => name.includes('all calls are counted'))!;
    const late = { ...step.calls[0]!, attempts: [heardLate, heard] };
    const failedLate: FoundAttempt = {
      state: 'failed',
      begunAt: 850,
      givenUpAt: null,
      endedAt: 6_000,
    };
    for (const evidence of [
      withStep({ calls: [late] }),
      withStep({ calls: [late], usage: { ...usage, unknownCalls: 0 } }),
      // Open when an aborted run counted its calls.
      withStep({ calls: [{ ...late, answeredAt: null }], talliedAt: 5_000 }),
      withStep({ calls: [{ ...late, attempts: [failedLate, heard] }], talliedAt: 5_000 }),
      // Given up for lost as often as it may be, and asked no more.
      withStep({
        calls: [{ ...late, answeredAt: null, attempts: [heardLate, { ...heard, endedAt: 900 }] }],
      }),
    ])
      expect(shown.violations(evidence)).toEqual([]);
  });

  test('a request on its way when the owner that was given up woke and ended is none of a recorded answer', () => {
    const paid = INVARIANTS.find(({ name }) => name.includes('no recorded answer is asked'))!;
    const requests = [sound.requests[0]!, { n: 2, at: 2_021, body: asked(NONCE), refused: false }];
    expect(paid.violations({ ...sound, requests })).toEqual([]);
  });

  test('a call that the model refused counts nowhere', () => {
    const journaled = INVARIANTS.find(({ name }) => name.includes('every request to the model'))!;
    const failed: FoundAttempt = { state: 'failed', begunAt: 850, givenUpAt: null, endedAt: 600 };
    const refused = withStep({ calls: [{ ...step.calls[0]!, attempts: [failed, heard] }] });
    const requests = sound.requests.map((request, i) => ({ ...request, refused: i === 0 }));
    expect(journaled.violations({ ...refused, requests })).toEqual([]);
    expect(journaled.violations(refused)).toHaveLength(1);
  });

  test("a person's save counts as kept where it is found, and only there", () => {
    const kept = INVARIANTS.find(({ name }) => name.includes('no byte'))!;
    const saves = { saves: [save] };
    const builtOn = { ...record, files: [{ path: A, base: sha256(save.bytes), result: null }] };
    const both = savedBy(A, whole, 'save 1');
    for (const evidence of [
      withFile(A, save.bytes, saves),
      withWorkspace({ commits: [{ id: 'f02', steps: [], changed: { [A]: save.bytes } }] }, saves),
      withStep({ records: [{ ...record, saved: [sha256(save.bytes)] }] }, saves),
      { ...withFile(A, both, saves), steps: [{ ...step, records: [builtOn] }] },
    ])
      expect(kept.violations(evidence)).toEqual([]);
    // Built upon, and then their line is gone.
    expect(kept.violations(withStep({ records: [builtOn] }, saves))).toHaveLength(1);
  });

  test('the lines of a file are explained one by one', () => {
    expect(unexplained(A, at(carrier.base, A), [])).toBeNull();
    expect(unexplained(A, whole, [])).toBeNull();
    expect(unexplained(A, savedBy(A, whole, 'save 1'), [save])).toBeNull();
    expect(unexplained(A, savedBy(A, whole, 'save 2'), [save])).not.toBeNull();
    expect(unexplained(A, whole.trimEnd(), [])).not.toBeNull();
  });
});
