/** What you type into Temporal's own command line: each line of docs/temporal-ui.md counts, and queries print JSON. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { BOUNDS } from '../../src/shared/limits.js';
import type { ResolvedRun } from '../../src/client/runs/resolve.js';
import { MESSAGES } from '../../src/shared/messages.js';
import { QUERIES } from '../../src/shared/names.js';
import type { StepStatus } from '../../src/shared/run.js';
import { connectClient } from '../../src/temporal/connection.js';
import * as messages from '../../src/workflows/index.js';
import { eventually } from './ends.js';
import { answerFor, phaseRun, planText, startDemo, TWO_WAVES } from './plan-support.js';
import { OWN_STORE } from './homes.js';
import { scene, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const MANY = 150;
const names = Array.from({ length: MANY }, (_, index) => `src/a-file-with-a-long-name-${index}.js`);
const RULES = [
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) },
];

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const job = (files: readonly string[]): string =>
  `---\ntarget_files: [${files.join(', ')}]\n---\n# Grow\n\nRaise the number.\n`;
/** `temporal workflow …` on a run; its standard output. */
const temporal = async (workflowId: string, ...args: readonly string[]): Promise<string> => {
  const where = ['--address', process.env.EMEND_TEST_ADDRESS ?? '', '--workflow-id', workflowId];
  const { stdout } = await promisify(execFile)(process.env.EMEND_TEST_CLI ?? '', [
    'workflow',
    ...args,
    ...where,
  ]);
  return stdout;
};
const DOC_RUN = 'emend/job/greet/e049afb04d33';
const DOC_DECISION = '1-69b1d504-639076ba';
const DOC_LINES = [
  ...readFileSync('docs/temporal-ui.md', 'utf8').matchAll(/^temporal workflow (?:.+\\\n)*.+$/gm),
].map(([line]) => line);
const START = 'temporal workflow start ';
const STARTS = DOC_LINES.filter((line) => line.startsWith(START));
/** The lines of docs/temporal-ui.md on a run, by kind and name: `update approve`, `signal skip`, `query status`, `batch retry`. */
const LINES = new Map(
  DOC_LINES.filter((line) => !line.startsWith(START)).map((line) => {
    const [, kind = '', name = ''] = /^temporal workflow (\w+) .*--name (\w+)/.exec(line) ?? [];
    return [`${line.includes(' --query ') ? 'batch' : kind} ${name}`, line];
  }),
);
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Types lines of the page, and remembers which. */
const typist = (s: Scene) => {
  const ran = new Set<string>();
  const type = async (key: string, run: ResolvedRun, ...more: string[]): Promise<string> => {
    ran.add(key);
    const { status, workflowId } = await s.show(run);
    const line = (LINES.get(key) ?? '')
      .replace(/^temporal/, quoted(process.env.EMEND_TEST_CLI ?? ''))
      .replaceAll(DOC_RUN, workflowId ?? '')
      .replaceAll(DOC_DECISION, status.decision?.id ?? '')
      // The tests share a server: the runs of others must not be resumed.
      .replace('EmendReason="model_unavailable"', `$& AND EmendWorkspace="${s.repo}"`);
    const address = ['--address', process.env.EMEND_TEST_ADDRESS ?? ''];
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      [line, ...address, ...more].join(' '),
    ]);
    return stdout;
  };
  /** Types a line that leads to another decision, and returns its reason. */
  const typeOn = async (key: string, run: ResolvedRun): Promise<string | undefined> => {
    const before = (await s.show(run)).status.decision?.id;
    await type(key, run);
    const { decision } = await eventually('another decision', async () => {
      const { status } = await s.settle(run);
      return status.decision?.id === before ? null : status;
    });
    return decision?.reason;
  };
  return { ran, type, typeOn };
};

test('each line of docs/temporal-ui.md that starts a run is one that the first activity takes', async () => {
  const files = {
    'a.js': 'const a = 1;\n',
    'jobs/x.md': job(['a.js']),
    'plans/010_greet.md': planText(TWO_WAVES),
  };
  const s = (open = await scene(files, RULES));
  await s.worker();
  const { connection, client } = await connectClient({
    env: s.env,
    home: s.home,
    connect_ms: 5000,
  });
  try {
    const taken = [];
    for (const [index, line] of STARTS.entries()) {
      const workflowId = `${s.emend.queues.workflow}-typed-${index}`;
      const typed = line
        .replace(/^temporal/, quoted(process.env.EMEND_TEST_CLI ?? ''))
        .replace('--task-queue emend', `--task-queue ${s.emend.queues.workflow}`)
        .replaceAll('"/repo"', JSON.stringify(s.repo));
      const address = ['--address', process.env.EMEND_TEST_ADDRESS ?? ''];
      await promisify(execFile)('sh', [
        '-c',
        [typed, ...address, '--workflow-id', workflowId].join(' '),
      ]);
      const handle = client.workflow.getHandle(workflowId);
      const status = await eventually('the first activity has returned', async () => {
        const current = await handle.query<StepStatus>('status');
        return current.stage === 'begin' ? null : current;
      });
      taken.push(status.jobPath);
      await handle.signal('abort');
      await handle.result();
    }
    expect(taken).toEqual(['rename-greet-to-hello', 'jobs/x.md', 'plans/010_greet']);
  } finally {
    await connection.close();
  }
});

test('each line of docs/temporal-ui.md counts', async () => {
  const down = (path: string, more: object) => ({
    name: path,
    match: { contains: `- ${path}`, times: 1 },
    answer: '',
    ...more,
  });
  const unauthorized = { fault: { kind: 'status', status: 401, type: 'authentication_error' } };
  const paths = ['a.js', 'b.js', 'c.js', 'key.js', 'key2.js'];
  const s = (open = await scene(
    Object.fromEntries([...paths, 'declined.js'].map((path) => [path, 'const a = 1;\n'])),
    [
      {
        ...down('declined.js', { fault: { kind: 'refusal' } }),
        match: { contains: '- declined.js' },
      },
      down('key.js', unauthorized),
      down('key2.js', unauthorized),
      ...paths.map((path) => ({
        name: path,
        match: { contains: `- ${path}` },
        answer: whole({ [path]: 'const a = 2;\n' }),
      })),
    ] as never,
  ));
  await s.worker();
  const { ran, type, typeOn } = typist(s);
  const paused = async (path: string): Promise<ResolvedRun> => {
    const run = await s.start('job.md', job([path]), { again: true });
    await s.settle(run);
    return run;
  };
  const outcomeAfter = async (key: string, run: ResolvedRun): Promise<string> => {
    await type(key, run);
    return (await s.end(run, 40)).outcome;
  };

  const first = await paused('a.js');
  const answers = new Map<string, unknown>();
  for (const name of Object.keys(QUERIES)) {
    const printed = await type(`query ${name}`, first, '--output', 'json');
    answers.set(name, (JSON.parse(printed) as { queryResult: readonly unknown[] }).queryResult[0]);
  }
  expect(Object.fromEntries(answers)).toMatchObject({
    status: { stepKey: first.stepKey, decision: { reason: 'approval' } },
    ledger: [{ path: 'a.js' }],
    events: expect.arrayContaining([expect.objectContaining({ type: 'edit_step_paused' })]),
    proposal: { files: [{ path: 'a.js' }] },
  });
  expect(await typeOn('update revise', first)).toBe('approval');
  expect(await typeOn('signal revise', first)).toBe('approval');
  expect(await typeOn('update answer', first)).toBe('approval');
  expect(await outcomeAfter('signal answer', first)).toBe('skipped');
  for (const [key, outcome] of [
    ['update skip', 'skipped'],
    ['signal skip', 'skipped'],
    ['update abort', 'aborted'],
    ['signal abort', 'aborted'],
  ] as const)
    expect([key, await outcomeAfter(key, await paused('a.js'))]).toEqual([key, outcome]);
  expect(await outcomeAfter('update approve', await paused('b.js'))).toBe('applied');
  expect(await outcomeAfter('signal approve', await paused('c.js'))).toBe('applied');

  const declined = await paused('declined.js');
  expect(await typeOn('update retry', declined)).toBe('declined');
  expect(await typeOn('signal retry', declined)).toBe('declined');

  const waiting = [await paused('key.js'), await paused('key2.js')];
  for (const run of waiting)
    expect((await s.show(run)).status.decision?.reason).toBe('model_unavailable');
  const filter = `EmendReason="model_unavailable" AND EmendWorkspace="${s.repo}"`;
  await eventually('the list knows both', async () =>
    (await s.emend.runs!.list(filter, 10)).length === 2 ? true : null,
  );
  await type('batch retry', declined);
  for (const run of waiting)
    await eventually('the run goes on', async () =>
      (await s.settle(run)).status.decision?.reason === 'approval' ? true : null,
    );
  expect((await s.show(declined)).status.ignored).toEqual([]);

  const typed = Object.keys(MESSAGES).flatMap((name) => [`update ${name}`, `signal ${name}`]);
  const all = [...typed, 'batch retry', ...Object.keys(QUERIES).map((name) => `query ${name}`)];
  expect([...LINES.keys()].sort()).toEqual(all.sort());
  expect([...ran].sort()).toEqual(all);
});

test('a message that does not count is refused as an update and recorded as a signal, with the body that counts', async () => {
  const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, RULES));
  await s.worker();
  const run = await s.start('job.md', job(['a.js']));
  const { status, workflowId } = await s.settle(run);
  const id = workflowId ?? '';
  const decision = status.decision?.id ?? '';
  const send = (kind: readonly string[], name: string, body?: unknown): Promise<string> => {
    const input = body === undefined ? [] : ['--input', JSON.stringify(body)];
    return temporal(id, ...kind, '--name', name, ...input);
  };
  const counts = `send {"decision": "${decision}"}`;
  const wrong: readonly [string, unknown, string][] = [
    ['approve', undefined, `it must name the decision you saw: ${counts}`],
    ['approve', { decison: decision }, '"decison" is not a field of `approve`'],
    ['approve', `${decision}0`, counts],
    ['retry', undefined, 'retry is not an answer to approval; answers are: approve, skip, revise'],
    ['revise', { decision }, `send {"decision": "${decision}", "note": "…"}`],
    ['skip', { v: 3, decision }, 'has version 3; this Emend reads version 2'],
    ['answer', { answer: 'explode', decision }, 'explode is not an answer to approval'],
  ];
  for (const [name, body, words] of wrong) {
    await expect(send(['update', 'execute'], name, body)).rejects.toThrow(words);
    await send(['signal'], name, body);
  }
  await send(['signal'], 'decide', { decision, answer: 'approve' });
  const view = await eventually('all are recorded', async () => {
    const { status } = await s.show(run);
    return status.ignored.length > wrong.length ? status : null;
  });
  expect(view.decision?.id).toBe(decision);
  expect(view.ignored).toEqual([
    ...wrong.map(([, , words]) => expect.stringContaining(words)),
    expect.stringMatching(/^decide: not a signal of this run; messages are: approve, skip/),
  ]);
  const ignored = (await s.events(run)).filter(({ type }) => type === 'decision_ignored');
  expect(ignored).toHaveLength(wrong.length + 1);
  expect(await send(['update', 'execute'], 'approve', decision)).toContain('outcome:resolved');
  expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
  const decided = (await s.events(run)).filter(({ type }) => type === 'decided');
  expect(decided).toMatchObject([{ answer: 'approve', by: 'someone (update)' }]);
});

test('the typed messages of `emend/workflows`, on a plan and on the run of its phase', async () => {
  const phases = TWO_WAVES.slice(0, 1);
  const s = (open = await scene(
    {
      'plans/010_demo.md': planText(phases),
      'package.json': '{ "name": "demo", "scripts": { "test": "exit 1" } }\n',
    },
    phases.map((phase) => answerFor(phase)),
  ));
  await s.worker();
  const run = await startDemo(s);
  await s.settle(run);
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    const { workflow } = connected.client;
    const plan = workflow.getHandle(run.live!.workflowId);
    const { decision } = await plan.query(messages.status, undefined);
    const found = { decision: decision?.id ?? '', answer: 'no_tests', by: 'ada' } as const;
    await expect(
      plan.executeUpdate(messages.approve, { args: [found.decision] }),
    ).rejects.toThrow();
    expect(await plan.executeUpdate(messages.answer, { args: [found] })).toMatchObject({
      outcome: 'resolved',
    });

    const child = await phaseRun(s, run, 'p1-1');
    await s.settle(child);
    const phase = workflow.getHandle(child.live!.workflowId);
    const proposed = await phase.query(messages.status, undefined);
    await phase.signal(messages.reviseSignal, {
      decision: proposed.decision?.id ?? '',
      note: 'shorter',
    });
    const revised = await eventually('another proposal', async () => {
      const { decision: next } = (await s.settle(child)).status;
      return next?.id === proposed.decision?.id ? null : (next?.id ?? '');
    });
    await phase.signal(messages.approveSignal, revised);
    expect(await s.end(run)).toMatchObject({ outcome: 'completed' });
    const [first] = await plan.query(messages.events, { limit: 1 });
    expect(first).toMatchObject({ seq: 1 });
  } finally {
    await connected.close();
  }
});

longOnly('payloads.test.ts shows what is large')(
  'an answer to a query that is larger than a payload may be is read by the client and leaves nothing in the store',
  async () => {
    const s = (open = await scene(
      Object.fromEntries(names.map((name) => [name, 'const a = 1;\n'])),
      [],
      { env: OWN_STORE },
    ));
    await s.worker();
    const run = await s.start('job.md', job(names));
    const blobs = () => readdirSync(join(s.store, 'blobs'), { recursive: true }).length;
    await s.settle(run);
    const before = blobs();
    const view = await s.show(run);
    expect(view.ledger).toHaveLength(MANY);
    expect(JSON.stringify(view.ledger).length).toBeGreaterThan(BOUNDS.inlinePayload_bytes);
    expect(blobs()).toBe(before);
  },
);
