/** The frame on a real server, with the workflows as they are bundled; of activities only what each test needs. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ApplicationFailure, Context } from '@temporalio/activity';
import {
  WorkflowFailedError,
  type WorkflowHandle,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { createTemporalGateway } from '../../../src/client/gateway.js';
import { SEARCH_ATTRIBUTES } from '../../../src/shared/names.js';
import type { Carried, StepSetup, StepStatus } from '../../../src/shared/run.js';
import { versioned } from '../../../src/shared/problems.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { ensureSearchAttributes } from '../../../src/temporal/search-attributes.js';
import { connectClient, type ClientConnection } from '../../../src/temporal/connection.js';
import type { DevServer } from '../../../src/temporal/dev-server.js';
import type { PlanState } from '../../../src/workflows/plan/state.js';
import { initialState } from '../../../src/workflows/step/state.js';
import { connectWorker, type WorkerConnection } from '../../../src/worker/run-workers.js';
import { Driven, planInput } from '../../shared/plan-driven.js';
import { blob, World } from '../step/world.js';
import { bareEnvironment, newHome, startServer } from '../../temporal/support/server.js';
import { BUNDLE } from '../../support/replay.js';

let place: { home: string; remove: () => Promise<void> };
let server: DevServer;
let client: ClientConnection;
let forWorkers: WorkerConnection;
beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  place = await newHome();
  server = await startServer(place.home, 'memory');
  const options = { env: bareEnvironment(place.home), home: place.home, connect_ms: 10_000 };
  client = await connectClient(options);
  await ensureSearchAttributes(client.connection, client.namespace);
  forWorkers = await connectWorker(options);
});
afterAll(async () => {
  await client.close();
  await forWorkers.close();
  await server.stop();
  await place.remove();
});

type Input = Record<string, unknown>;
type Work = Readonly<Record<string, (input: Input) => Promise<object>>>;
const never = (): Promise<never> => Context.current().cancelled;
const start = (
  ...[workflow, taskQueue, input, more = {}]: [
    'plan' | 'editStep',
    string,
    object,
    Partial<WorkflowStartOptions>?,
  ]
): Promise<WorkflowHandle> =>
  client.client.workflow.start(workflow, {
    ...more,
    taskQueue,
    workflowId: taskQueue,
    args: [input],
  });
/** A worker of workflows and of these activities for as long as `until` takes; the archive hears of events by the sink, and by their inputs. */
async function working<T>(
  taskQueue: string,
  work: Work,
  until: (heard: Set<number>) => Promise<T>,
): Promise<T> {
  const heard = new Set<number>();
  const hear = (log: unknown): void =>
    (log as readonly { seq: number }[]).forEach(({ seq }) => heard.add(seq));
  const activities = Object.fromEntries(
    Object.entries(work).map(([name, of]) => [
      name,
      async (input: Input) => {
        hear(input.log);
        return { v: 2, ...(await of(input)) };
      },
    ]),
  );
  const fn = (_info: unknown, _key: unknown, log: unknown): void => hear(log);
  const worker = await Worker.create({
    ...forWorkers,
    taskQueue,
    activities,
    workflowBundle: { codePath: BUNDLE },
    sinks: { archive: { append: { fn, callDuringReplay: false } } },
  });
  return worker.runUntil(() => until(heard));
}
/** Tries again until it is there. */
async function seen<T>(look: () => Promise<T | null | undefined | false>): Promise<T> {
  for (let tries = 0; tries < 100; tries += 1) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('it did not come');
}
const statusOf = (handle: WorkflowHandle): Promise<StepStatus> => handle.query('status');
const eventsOf = async (handle: WorkflowHandle) => (await handle.fetchHistory()).events ?? [];
const keyOf = (queue: string): string => queue.replaceAll('-', '');
/** As a plan hands it to its phase. */
const handedOver = (setup: unknown): object => versioned({ setup });
/** A plan of one phase that goes on in a new run before that phase runs, or as `change` says. */
const carriedPlan = (
  queue: string,
  change: Partial<PlanState> = {},
): { carried: Carried & { state: PlanState } } => {
  const plan = new Driven(['p1']);
  plan.until('run');
  const phases = plan.state.phases.map((phase) => ({
    ...phase,
    status: 'pending' as const,
    runs: 0,
  }));
  const state: PlanState = { ...plan.state, stage: { at: 'jobs' }, phases, ...change };
  const queues = { workflow: queue, model: queue, host: queue };
  const input = { ...planInput, stepKey: keyOf(queue), queues };
  return {
    carried: {
      v: 2,
      state: { ...state, input },
      reportedSeq: 0,
      count: { owed: 'no', counted: false },
    },
  };
};
const saved: Work = { saveCheckpoint: async () => ({ path: 'c' }) };

test('an abort before the first move of a later run ends the plan: no phase is begun', async () => {
  const queue = randomUUID();
  const handle = await start('plan', queue, carriedPlan(queue));
  await handle.signal('abort', {});
  await working(queue, { ...saved, preflight: never }, async () => {
    await seen(async () =>
      (await eventsOf(handle)).some((event) => event.workflowTaskCompletedEventAttributes),
    );
    const begun = (await eventsOf(handle)).filter(
      (event) => event.startChildWorkflowExecutionInitiatedEventAttributes,
    );
    expect(begun).toEqual([]);
    expect(await handle.result()).toMatchObject({ outcome: 'aborted' });
  });
});

const stepSetup = (queue: string): StepSetup => {
  const { rules, timings, overrides, hints, workspace } = planInput;
  return {
    stepKey: keyOf(queue),
    workspace,
    job: blob('job'),
    jobPath: 'j.md',
    title: 't',
    queues: { workflow: queue, model: `${queue}-model`, host: queue },
    timings,
    overrides,
    hints,
    rules: { ...rules, bounds: { ...rules.bounds, countTotal_ms: 500 } },
    searchAttributes: false,
  };
};
test('events that an activity was handed that never began are told by what comes after it', async () => {
  const queue = randomUUID();
  const input = stepSetup(queue);
  const handle = await start('editStep', queue, handedOver(input));
  const work: Work = { preflight: async () => new World({}).preflight('', initialState(input, 0)) };
  await working(queue, work, async (heard) => {
    // No worker takes model calls.
    await seen(async () =>
      (await eventsOf(handle)).some(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'proposeEdit',
      ),
    );
    await handle.signal('abort', {});
    await handle.result();
    const events = await handle.query<readonly { seq: number }[]>('events');
    expect([...heard].sort((a, b) => a - b)).toEqual(events.map(({ seq }) => seq));
  });
});

test('what the run of a phase used counts where somebody terminated it', async () => {
  const queue = randomUUID();
  const input = carriedPlan(queue);
  const handle = await start('plan', queue, input);
  const child = `${keyOf(queue)}-p1-1`;
  const countUsage: Work[string] = async ({ stepKey }) => ({
    open: 0,
    usage: { ...NO_USAGE, calls: stepKey === child ? 4 : 0, usd: 4 },
  });
  await working(queue, { preflight: never, countUsage }, async () => {
    const run = client.client.workflow.getHandle(`emend-phase-${child}`);
    await seen(() => run.terminate().catch(() => null));
    const { usage } = await seen(async () => {
      const status = await statusOf(handle);
      return status.decision !== null && status;
    });
    expect(usage).toMatchObject({ calls: 4, usd: 4 });
  });
});

test('what a call of the plan itself was paid for counts where the call left no result, and once', async () => {
  const queue = randomUUID();
  const { phases } = carriedPlan(queue).carried.state;
  const usage = { ...NO_USAGE, calls: 3, usd: 3 };
  const unscored = phases.map((phase) => ({ ...phase, second: true, secondAsked: false }));
  const input = carriedPlan(queue, { phases: unscored, stage: { at: 'choosing' }, usage });
  const handle = await start('plan', queue, input);
  const told = { ...NO_USAGE, calls: 1, usd: 0.5 };
  let calls = 0;
  const scorePhase: Work[string] = async () => {
    calls += 1;
    if (calls === 1) throw ApplicationFailure.nonRetryable('the activity died', 'internal');
    return { ...phases[0]?.complexity, discrepancy: null, message: null, usage: told };
  };
  // What of the first try was paid, and what the second tells.
  const countUsage: Work[string] = async ({ stepKey }) => ({
    open: 0,
    usage: { ...NO_USAGE, calls: stepKey === keyOf(queue) ? 1 + calls : 0, usd: calls },
  });
  await working(queue, { preflight: never, scorePhase, countUsage }, async () => {
    const { decision, usage: paid } = await seen(async () => {
      const status = await statusOf(handle);
      return status.decision !== null && status;
    });
    expect(paid).toMatchObject({ calls: 5, usd: 4 });
    await handle.signal('retry', { decision: decision?.id });
    await seen(async () =>
      (await eventsOf(handle)).some(
        (event) => event.startChildWorkflowExecutionInitiatedEventAttributes,
      ),
    );
    expect((await statusOf(handle)).usage).toMatchObject({ calls: 6, usd: 5 });
  });
});

test('of a plan that a person paused, resumed before the first task of a later run, nothing says that it waits', async () => {
  const queue = randomUUID();
  const controls = { pausedBy: 'ann', stopAfterPhase: null };
  const { carried } = carriedPlan(queue, { stage: { at: 'choosing' }, controls });
  const { state: plan } = carried;
  const input = {
    carried: { ...carried, state: { ...plan, input: { ...plan.input, searchAttributes: true } } },
  };
  // As the run before leaves them.
  const state = { name: SEARCH_ATTRIBUTES.state, type: 'KEYWORD' } as const;
  const typedSearchAttributes = [{ key: state, value: 'waiting' }];
  const handle = await start('plan', queue, input, { typedSearchAttributes });
  await handle.signal('resume', {});
  await handle.signal('drift', 'more work');
  // What was changed while it was paused is read first.
  await working(queue, { readPlan: never }, async () => {
    await seen(async () =>
      (await eventsOf(handle)).some((event) => event.activityTaskScheduledEventAttributes),
    );
    const marked = (await handle.describe()).typedSearchAttributes.get(state);
    const { ignored } = await statusOf(handle);
    expect({ marked, ignored }).toEqual({
      marked: undefined,
      ignored: ['drift more work: its body names no text'],
    });
  });
});

/** Starts a workflow with whatever arguments are passed, as the Temporal UI or `temporal workflow start` does. */
const startBare = (
  workflow: string,
  taskQueue: string,
  args: readonly unknown[],
): Promise<WorkflowHandle> =>
  client.client.workflow.start(workflow, { taskQueue, workflowId: randomUUID(), args: [...args] });
const without = (input: object, name: string): object =>
  Object.fromEntries(Object.entries(input).filter(([other]) => other !== name));

test('a phase that is handed something else than a setup fails at once and names the wrong field', async () => {
  const queue = randomUUID();
  const step = stepSetup(queue);
  const planOf = { ...planInput, queues: step.queues };
  const { bounds } = step.rules;
  const cases: readonly (readonly [workflow: string, setup: unknown, message: string])[] = [
    ['editStep', null, 'must be an object'],
    ['editStep', 'fix the tests', 'must be an object'],
    ['editStep', [step], 'must be an object'],
    ['editStep', without(step, 'rules'), '`rules` must be an object'],
    ['editStep', { ...step, rules: {} }, '`rules.bounds` must be an object'],
    [
      'editStep',
      { ...step, rules: { ...step.rules, bounds: { ...bounds, idleMoves: '9' } } },
      '`rules.bounds.idleMoves` must be a number',
    ],
    ['editStep', { ...step, stepKey: 7 }, '`stepKey` must be a text'],
    ['editStep', { ...step, stepKey: '' }, '`stepKey` must be a text'],
    ['editStep', { ...step, timings: {} }, '`timings` must be an object with at least one entry'],
    ['editStep', { ...step, queues: { workflow: 'w' } }, '`queues.model` must be a text'],
    ['editStep', { ...step, job: 'Do it.' }, '`job` must be a reference'],
    ['editStep', { ...step, hints: 'none' }, '`hints` must be a list'],
    ['editStep', planOf, '`job` must be a reference'],
    ['plan', without(planOf, 'planPath'), '`planPath` must be a text'],
    ['plan', without(planOf, 'options'), '`options` must be an object'],
    ['plan', { ...planOf, options: {} }, '`options.phase` must be'],
  ];
  const handles = await Promise.all(
    cases.map(([workflow, setup]) => startBare(workflow, queue, [handedOver(setup)])),
  );
  await working(queue, {}, () =>
    seen(async () => {
      const states = await Promise.all(handles.map((handle) => handle.describe()));
      return states.every(({ status }) => status.name !== 'RUNNING');
    }),
  );
  const failures = await Promise.all(
    handles.map((handle) =>
      handle.result().then(
        (result: unknown) => result,
        (error: unknown) => (error instanceof WorkflowFailedError ? error.cause : error),
      ),
    ),
  );
  expect(failures).toEqual(
    cases.map(([, , message]) =>
      expect.objectContaining({
        type: 'InvalidInput',
        nonRetryable: true,
        message: expect.stringContaining(message) as unknown,
      }),
    ),
  );
});

test('a phase that a setup of another version starts fails at once and says which version it has', async () => {
  const queue = randomUUID();
  const handle = await startBare('editStep', queue, [{ v: 3, setup: {} }]);
  await working(queue, {}, async () => {
    await expect(handle.result()).rejects.toMatchObject({
      cause: {
        type: 'version_unknown',
        nonRetryable: true,
        message: expect.stringMatching(
          /The input of the run has version 3; this Emend reads version 2.*upgrade worker and client/,
        ) as unknown,
      },
    });
  });
});

test('the current details of a step and of a plan that goes on in a new run begin with the title, the review and the command that shows the run', async () => {
  const queue = randomUUID();
  const page = 'http://127.0.0.1:8260';
  const step = { ...stepSetup(queue), page };
  const planOf = carriedPlan(queue);
  const handles = await Promise.all([
    startBare('editStep', queue, [handedOver(step)]),
    startBare('plan', queue, [planOf]),
  ]);
  const preflight = async () => new World({}).preflight('', initialState(step, 0));
  await working(queue, { preflight, proposeEdit: never, writePhaseJob: never }, async () => {
    const details = await seen(async () => {
      const found = await Promise.all(
        handles.map((handle) =>
          handle.query<{ readonly currentDetails?: string }>('__temporal_workflow_metadata'),
        ),
      );
      return found.every(({ currentDetails = '' }) => currentDetails !== '') && found;
    });
    const shown = queue.slice(0, 8);
    expect(details.map(({ currentDetails = '' }) => currentDetails.split('\n')[0])).toEqual([
      `\`t\` · [Review page](<${page}/#/run/${step.stepKey}>) · \`emend review ${shown}\` · \`emend show ${shown}\``,
      `\`Demo\` · \`emend review ${shown}\` · \`emend show ${shown}\``,
    ]);
  });
});

/** Texts that the Temporal UI shows at the events of a kind. */
const summariesOf = async (
  handle: WorkflowHandle,
  kind: 'timerStartedEventAttributes' | 'startChildWorkflowExecutionInitiatedEventAttributes',
): Promise<readonly string[]> =>
  (await eventsOf(handle)).flatMap(({ userMetadata, ...event }) =>
    event[kind] ? [defaultPayloadConverter.fromPayload<string>(userMetadata?.summary ?? {})] : [],
  );

// Each upsert is a billed action: where an answer ends the run, the outcome comes with the end of the pause.
test.each([
  ['skip', 'skipped', 3],
  ['abort', 'aborted', 2],
] as const)(
  'the list of runs shows reason and decision while a run waits, and after %s its outcome (%s); the timer of a wait says what it waits for',
  async (answer, outcome, upserts) => {
    const queue = randomUUID();
    const queues = { workflow: queue, model: queue, host: queue };
    const step = { ...stepSetup(queue), queues, searchAttributes: true };
    const handle = await start('editStep', queue, handedOver(step));
    const world = new World({});
    const words = ['down', 'declined'];
    const work: Work = {
      preflight: async () => world.preflight('', initialState(step, 0)),
      proposeEdit: async (input) => world.propose(words.shift() ?? 'declined', input as never),
      buildProposal: async () => ({ outcome: 'empty' }),
    };
    const shown = async () => {
      const { typedSearchAttributes: found } = await handle.describe();
      const names = ['state', 'reason', 'decision', 'outcome'] as const;
      return names.map((name) => found.get({ name: SEARCH_ATTRIBUTES[name], type: 'KEYWORD' }));
    };
    await working(queue, work, async () => {
      await seen(async () => (await statusOf(handle)).outage);
      await handle.signal('retry');
      const decision = await seen(async () => (await statusOf(handle)).decision);
      expect(await shown()).toEqual(['waiting', 'declined', decision.id, undefined]);
      await handle.signal(answer);
      expect(await handle.result()).toMatchObject({ outcome });
      expect(await shown()).toEqual([undefined, undefined, undefined, outcome]);
    });
    expect(await summariesOf(handle, 'timerStartedEventAttributes')).toEqual([
      'wait for a model that is down',
    ]);
    const upserted = (await eventsOf(handle)).filter(
      (event) => event.upsertWorkflowSearchAttributesEventAttributes,
    );
    expect(upserted).toHaveLength(upserts);
  },
);

test('the child of a phase shows from its second run on which run it is, and first in its input what it is about', async () => {
  const queues = [randomUUID(), randomUUID()] as const;
  const found = queues.map(async (queue, index) => {
    const { phases } = carriedPlan(queue).carried.state;
    const run = phases.map((phase) => ({ ...phase, runs: index * 2 }));
    const handle = await start('plan', queue, carriedPlan(queue, { phases: run }));
    return working(queue, { preflight: never }, () =>
      seen(async () => {
        const kind = 'startChildWorkflowExecutionInitiatedEventAttributes';
        const [summary] = await summariesOf(handle, kind);
        const [child] = (await eventsOf(handle)).flatMap((event) => event[kind] ?? []);
        const input = child?.input?.payloads?.map((payload) =>
          defaultPayloadConverter.fromPayload<{ readonly setup: object }>(payload),
        )[0];
        return summary !== undefined && input && { summary, keys: Object.keys(input.setup) };
      }),
    );
  });
  const [first, third] = await Promise.all(found);
  expect(third!.summary).toBe(`${first!.summary} (run 3)`);
  expect(first!.keys.slice(0, 3)).toEqual(['title', 'jobPath', 'workspace']);
});

/** Starts a run whose first activity returns after `decide` has been called, with an input that does not fit. */
const beforeItBegins = async (
  proof: (handle: WorkflowHandle, decide: () => void) => Promise<void>,
): Promise<void> => {
  const queue = randomUUID();
  let decide = (): void => undefined;
  const decided = new Promise<void>((resolve) => (decide = resolve));
  const beginRun = async () => {
    await decided;
    return { outcome: 'invalid', message: 'no' };
  };
  const handle = await startBare('editStep', queue, [{}]);
  await working(queue, { beginRun }, () =>
    proof(handle, decide).finally(() => {
      // A worker does not stop while its activity waits.
      decide();
    }),
  );
};
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (value) => value,
    (error: unknown) => (error as Error).cause ?? error,
  );

test.each(['the input does not fit', 'it is cancelled'])(
  'an update that waits for the rules of a run is answered if the run ends without them: %s',
  async (end) => {
    await beforeItBegins(async (handle, decide) => {
      const update = await handle.startUpdate('approve', {
        args: ['1-abc'],
        waitForStage: 'ACCEPTED',
      });
      if (end === 'it is cancelled') await handle.cancel();
      else decide();
      expect(await failureOf(update.result())).toMatchObject({
        outcome: 'already_resolved',
        message: 'the run ended before it began',
      });
      await expect(handle.result()).rejects.toBeInstanceOf(WorkflowFailedError);
    });
  },
);

test('an update with a secret, or of a wrong shape, is refused also before the run has rules', async () => {
  await beforeItBegins(async (handle, decide) => {
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const send = (name: string, body: unknown): Promise<unknown> =>
      failureOf(handle.executeUpdate(name, { args: [body] }));
    expect(await send('skip', { note: token })).toMatchObject({
      message: expect.stringContaining('looks like a secret') as unknown,
    });
    expect(await send('approve', { decison: '1-abc' })).toMatchObject({
      message: expect.stringContaining('"decison" is not a field of `approve`') as unknown,
    });
    // Payloads are base64 in JSON.
    const text = JSON.stringify(await eventsOf(handle), (name, value: unknown) =>
      name === 'data' && typeof value === 'string' ? atob(value) : value,
    );
    expect(text).toContain('WORKFLOW_TASK_COMPLETED');
    expect(text).not.toContain(token);
    decide();
    await expect(handle.result()).rejects.toBeInstanceOf(WorkflowFailedError);
  });
});

test.each(['signal', 'update'] as const)(
  'an abort that comes together with the result of the first activity keeps its sender: %s',
  async (form) => {
    const queue = randomUUID();
    const handle = await startBare('editStep', queue, [{}]);
    await working(queue, {}, () =>
      seen(async () =>
        (await eventsOf(handle)).some((event) => event.activityTaskScheduledEventAttributes),
      ),
    );
    const body = { by: 'ada' };
    // No worker takes it yet.
    const sent =
      form === 'signal'
        ? handle.signal('abort', body)
        : handle.executeUpdate('abort', { args: [body] });
    if (form === 'signal') await sent;
    const activities = {
      beginRun: async () => ({ v: 2, outcome: 'begun', setup: stepSetup(queue) }),
    };
    const hands = await Worker.create({ ...forWorkers, taskQueue: queue, activities });
    await hands.runUntil(
      seen(async () =>
        (await eventsOf(handle)).some((event) => event.activityTaskCompletedEventAttributes),
      ),
    );
    await working(queue, { preflight: never }, async () => {
      await sent;
      expect(await handle.result()).toMatchObject({ outcome: 'aborted' });
      const events = await handle.query<readonly object[]>('events');
      expect(events).toContainEqual(
        expect.objectContaining({ type: 'abort_requested', by: `ada (${form})` }),
      );
    });
  },
);

test('a run of a cron workflow that goes on in a new run keeps its key; the server drops its schedule', async () => {
  const queue = randomUUID();
  const handle = await client.client.workflow.start('editStep', {
    taskQueue: queue,
    workflowId: queue,
    args: [{}],
    cronSchedule: '@every 1s',
    // Emend's client shows a run by its memo.
    memo: { jobPath: 'j.md', title: 't', workspace: '/w', host: 'h' },
  });
  const step = stepSetup(queue);
  const bounds = { ...step.rules.bounds, runSignals: 2, signalPause_ms: 1 };
  const queues = { workflow: queue, model: queue, host: queue };
  const keys = new Set<unknown>();
  const setupOf = (stepKey: unknown) => ({
    ...step,
    stepKey,
    queues,
    rules: { ...step.rules, bounds },
  });
  const work: Work = {
    beginRun: async ({ stepKey }) => {
      keys.add(stepKey);
      return { outcome: 'begun', setup: setupOf(stepKey) };
    },
    preflight: async () => new World({}).preflight('', initialState(step, 0)),
    proposeEdit: async (input) => new World({}).propose('declined', input as never),
    buildProposal: async () => ({ outcome: 'empty' }),
  };
  const gateway = createTemporalGateway(client.client, client.connection, client.namespace);
  await working(queue, work, async () => {
    const decision = await seen(async () => (await statusOf(handle)).decision);
    const first = await gateway.describe({ workflowId: queue, runId: null });
    for (const body of ['1', '2']) await handle.signal('approve', body);
    const next = await seen(async () => {
      const run = await gateway.describe({ workflowId: queue, runId: null });
      return run?.runId !== first?.runId && run;
    });
    const status = await statusOf(handle);
    expect([...keys]).toEqual([status.stepKey]);
    expect([first?.memo?.stepKey, next.memo?.stepKey]).toEqual([status.stepKey, status.stepKey]);
    expect(status.decision?.id).toBe(decision.id);
    const [start] = await eventsOf(handle);
    expect(start?.workflowExecutionStartedEventAttributes?.cronSchedule).toBe('');
    await handle.signal('skip', decision.id);
    expect(await handle.result()).toMatchObject({ outcome: 'skipped' });
  });
});
