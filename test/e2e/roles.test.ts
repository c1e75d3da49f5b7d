/** Workers by role, as the command starts them: who does what, and what one that gets SIGTERM leaves to the others. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, jest, test } from '@jest/globals';
import { connectClient } from '../../src/temporal/connection.js';
import { longOnly, testIf } from '../support/skipped.js';
import { commandOf, commandWorker, endBuildWorkers, endWorker, TODAY } from './builds.js';
import { pidsIn } from './ends.js';
import { scene, whole, type Scene } from './support.js';

jest.setTimeout(200_000);

let open: Scene | null = null;
afterEach(async () => {
  await endBuildWorkers();
  await open?.close();
  open = null;
});

const RULES = [
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'module.exports = 2;\n' }) },
];
const FILES = { 'a.js': 'module.exports = 1;\n' };
const job = (test: string, sandbox: 'on' | 'off' = 'on'): string =>
  `---\ntarget_files: [a.js]\ncommit: true\napproval: auto\nsandbox: ${sandbox}\nbaseline: off\ntest: ${JSON.stringify(test)}\n---\n# Grow\n\nGrow.\n`;

/** By the pid of the worker: the activities that it began, and `task` for workflow tasks. */
const shares = async (
  s: Scene,
  workflowId: string,
): Promise<ReadonlyMap<number, ReadonlySet<string>>> => {
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    const { events } = await connected.client.workflow.getHandle(workflowId).fetchHistory();
    const found = new Map<number, Set<string>>();
    const names = new Map(
      (events ?? []).map((event) => [
        String(event.eventId),
        event.activityTaskScheduledEventAttributes,
      ]),
    );
    for (const event of events ?? []) {
      const activity = event.activityTaskStartedEventAttributes;
      const identity = (activity ?? event.workflowTaskStartedEventAttributes)?.identity;
      if (identity == null) continue;
      const pid = Number.parseInt(identity, 10);
      const what =
        activity == null
          ? 'task'
          : (names.get(String(activity.scheduledEventId))?.activityType?.name ?? '');
      found.set(pid, (found.get(pid) ?? new Set()).add(what));
    }
    return found;
  } finally {
    await connected.close();
  }
};

test('each role has a worker of its own: it does its part and no other; roles that are none are refused', async () => {
  const s = (open = await scene(FILES, RULES));
  const roles = ['workflows', 'model', 'hosts'] as const;
  const workers = await Promise.all(roles.map((role) => commandWorker(s, TODAY, '--roles', role)));
  const run = await s.start('job.md', job('exit 0'));
  expect(await s.end(run, 120)).toMatchObject({ outcome: 'committed' });
  const by = await shares(s, (await s.show(run)).workflowId!);
  const [flows, model, hosts] = workers.map(({ pid }) => [...(by.get(pid!) ?? [])].sort());
  expect(flows).toEqual(['beginRun', 'task']);
  expect(model).toEqual(['proposeEdit']);
  expect(hosts).toEqual(
    expect.arrayContaining(['preflight', 'runTests', 'applyProposal', 'commit']),
  );
  expect(by.size).toBe(3);
  expect(hosts).not.toContain('proposeEdit');
  await Promise.all(workers.map((worker) => endWorker(worker)));
  expect((await commandOf(s, TODAY, 'worker', '--roles', 'model,hots')).code).toBe(2);
});

longOnly('stops workers in the middle')(
  'SIGTERM in the middle of tests: the other host worker takes them over, and with one attempt nobody is asked',
  async () => {
    const env = {
      EMEND_SHUTDOWNGRACE_MS: '300',
      EMEND_HOSTACTIVITYATTEMPTS: '1',
      EMEND_MODELCALLATTEMPTS: '1',
    };
    const s = (open = await scene(FILES, RULES, { env }));
    await commandWorker(s, TODAY, '--roles', 'workflows,model');
    const first = await commandWorker(s, TODAY, '--roles', 'hosts');
    const pids = join(s.home, '..', 'pids');
    const run = await s.start(
      'job.md',
      job(`echo $$ >> '${pids}'; while [ ! -e '${pids}-go' ]; do sleep 0.1; done`, 'off'),
    );
    await s.until(() => pidsIn(pids).length === 1, 60);
    const next = await commandWorker(s, TODAY, '--roles', 'hosts');
    await endWorker(first);
    expect(first.exitCode).toBe(0);
    await s.until(() => pidsIn(pids).length === 2, 60);
    writeFileSync(`${pids}-go`, '');
    expect(await s.end(run, 120)).toMatchObject({
      outcome: 'committed',
      usage: { calls: 1, unknownCalls: 0 },
    });
    const by = await shares(s, (await s.show(run)).workflowId!);
    expect([...(by.get(next.pid!) ?? [])]).toEqual(expect.arrayContaining(['runTests', 'commit']));
    expect((await s.events(run)).map(({ type }) => type)).not.toContain('edit_step_paused');
  },
);

testIf(process.env.EMEND_TEST_SERVER_HOME !== undefined, 'a cluster is no dev server of a home')(
  'where all roles share the queue of the dev server some of them are refused, with what to set',
  async () => {
    const s = (open = await scene(FILES, RULES, { own: true }));
    expect((await commandOf(s, TODAY, 'worker', '--roles', 'model')).code).toBe(2);
  },
);
