/**
 * A ledger of `maxFilesPerStep` files through a real server: 1,000 with EMEND_WHOLE=1, 100 with EMEND_LONG=1 (LEDGER_FILES=<n> for another number), else 30.
 * History per file, the workflow's tasks, what people see of it, approval, commit, rollback; one file more is refused before anything is
 * paid for.
 */
import { afterEach, expect, test } from '@jest/globals';
import { LIMITS } from '../../src/shared/limits.js';
import { connectClient } from '../../src/temporal/connection.js';
import { commandOf, TODAY } from './builds.js';
import { scene, whole, type Scene } from './support.js';
import { DETAILS_CHARS } from '../../src/workflows/frame/details.js';

const MOST: number = LIMITS.maxFilesPerStep.max;
const FILES = Number(
  process.env.LEDGER_FILES ??
    (process.env.EMEND_WHOLE === '1' ? MOST : process.env.EMEND_LONG === '1' ? 100 : 30),
);
const FEW = 10;
const CONCURRENCY = 16;
const LIMIT_S = 120 + 2 * FILES;
/** The goals of docs/measures.md, and what each further chunk at once adds: a reference to its result in each input. */
const BYTES_A_FILE = 2048 + (CONCURRENCY - 1) * 80;
const EVENTS_A_FILE = 8;
/** Of an event of a workflow task. How many tasks there are depends on the moment: results that come together make one. */
const TASK_EVENT_BYTES = 140;

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `src/part-${String(n + 1).padStart(4, '0')}.txt`);
const filesOf = (count: number) =>
  Object.fromEntries(names(count).map((name) => [name, `one of ${name}\n`]));
const RULES = [
  {
    name: 'brief',
    match: { contains: 'Now write the brief' },
    answer: 'Numbers grow.\nEMEND-COMPLETE {{nonce}} 0 0\n',
  },
  ...names(FILES).map((name) => ({
    name,
    match: { contains: `- ${name}` },
    answer: whole({ [name]: `two of ${name}\n` }),
  })),
];
const job = (count: number, more: string): string =>
  `---\ntarget_files: [${names(count).join(', ')}]\nlimits: { concurrency: ${CONCURRENCY} }\ncommit: true\n${more}---\n# Grow ${count}\n\nOne becomes two.\n`;
// A loaded machine must not look like a dead worker.
const ENV = {
  EMEND_MODELCALLS_PERSECOND: '1000',
  EMEND_HOSTHEARTBEATTIMEOUT_MS: '30000',
  EMEND_COMMANDHEARTBEATTIMEOUT_MS: '30000',
  EMEND_HEARTBEATTIMEOUT_MS: '30000',
};

/** Not schedule to start: a worker that is busy takes nothing from its sticky queue for a while, and the task goes to the other queue. */
const isTooLong = (type: unknown): boolean => type === 1 || type === 'TIMEOUT_TYPE_START_TO_CLOSE';

const measured = async (s: Scene, workflowId: string) => {
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    const handle = connected.client.workflow.getHandle(workflowId);
    const { historySize, historyLength } = await handle.describe();
    const { events } = await handle.fetchHistory();
    const tasks = (events ?? []).filter((event) =>
      Object.entries(event).some(
        ([key, value]) => /^workflowTask\w+Attributes$/.test(key) && value != null,
      ),
    );
    const failed = (events ?? []).flatMap((event) => [
      ...(event.workflowTaskFailedEventAttributes == null
        ? []
        : [event.workflowTaskFailedEventAttributes.failure?.message ?? 'without a message']),
      ...(isTooLong(event.workflowTaskTimedOutEventAttributes?.timeoutType)
        ? ['it took too long']
        : []),
    ]);
    const { currentDetails } = await handle.query<{ currentDetails?: string }>(
      '__temporal_workflow_metadata',
    );
    return {
      bytes: (historySize ?? 0) - tasks.length * TASK_EVENT_BYTES,
      events: historyLength,
      failedTasks: failed,
      details_bytes: Buffer.byteLength(currentDetails ?? ''),
    };
  } finally {
    await connected.close();
  }
};

test(
  `${FILES} files: approved, verified, committed; history grows in line with them, and all can be seen`,
  async () => {
    const s = (open = await scene(filesOf(FILES), RULES, { env: ENV }));
    await s.worker();
    const toApproval = async (count: number, more: string) => {
      const run = await s.start(`job-${count}.md`, job(count, more));
      const paused = await s.settle(run, LIMIT_S);
      expect(paused.status).toMatchObject({
        decision: { reason: 'approval' },
        counts: { done: count },
      });
      expect(paused.ledger).toHaveLength(count);
      expect(paused.proposal?.files).toHaveLength(count);
      const told = await measured(s, paused.workflowId!);
      expect(told.details_bytes).toBeGreaterThan(500);
      expect(told.details_bytes).toBeLessThanOrEqual(DETAILS_CHARS);
      return { run, workflowId: paused.workflowId! };
    };

    // The tests move HEAD, so the commit conflicts; aborted there, everything applied is rolled back.
    const small = await toApproval(
      FEW,
      'sandbox: off\nbaseline: off\ntest: git commit -q --allow-empty -m elsewhere\n',
    );
    await s.answer(small.run, 'approve');
    expect((await s.settle(small.run, LIMIT_S)).status.decision?.reason).toBe('conflict');
    expect(s.git('status', '--porcelain', 'src').trim().split('\n')).toHaveLength(FEW);
    await s.answer(small.run, 'abort');
    expect(await s.end(small.run, LIMIT_S)).toMatchObject({ outcome: 'aborted' });
    expect(s.git('status', '--porcelain', 'src')).toBe('');
    const few = await measured(s, small.workflowId);

    const large = await toApproval(FILES, 'test: exit 0\n');
    const { code, out } = await commandOf(s, TODAY, 'show', large.run.stepKey.slice(0, 8));
    expect({ code, lines: out.split('\n').length < 120 }).toEqual({ code: 0, lines: true });
    expect(out).toContain(`and ${FILES - 25} more`);
    await s.answer(large.run, 'approve');
    const result = await s.end(large.run, LIMIT_S);
    expect(result).toMatchObject({ outcome: 'committed', verification: 'pass' });
    expect(result.files).toHaveLength(FILES);
    expect(s.git('show', '--name-only', '--format=', 'HEAD').trim().split('\n')).toEqual(
      names(FILES),
    );
    expect(s.git('status', '--porcelain', 'src')).toBe('');
    const all = await measured(s, large.workflowId);

    process.stdout.write(
      `${FEW} files: ${few.bytes} bytes without workflow tasks, ${few.events} events of history\n`,
    );
    process.stdout.write(
      `${FILES} files: ${all.bytes} bytes without workflow tasks, ${all.events} events of history\n`,
    );
    expect([...few.failedTasks, ...all.failedTasks]).toEqual([]);
    expect((all.bytes - few.bytes) / (FILES - FEW)).toBeLessThanOrEqual(BYTES_A_FILE);
    expect((all.events - few.events) / (FILES - FEW)).toBeLessThanOrEqual(EVENTS_A_FILE);
  },
  2 * LIMIT_S * 1000,
);

test(`${MOST + 1} files are refused before anything is paid for`, async () => {
  const s = (open = await scene(filesOf(MOST + 1), [], { env: ENV }));
  await s.worker();
  const run = await s.start('job.md', job(MOST + 1, ''));
  expect(await s.end(run, 120)).toMatchObject({
    outcome: 'refused',
    problem: { code: 'too_many_files', message: expect.stringContaining(String(MOST + 1)) },
  });
  expect(s.rehearsal.requests()).toEqual([]);
}, 200_000);
