/**
 * ◆ Deploys: which build serves the runs where workers are versioned, and which runs a build would not replay. On a real server of the
 * test's own, as what is current holds for the whole namespace. The other builds are today's with an id, or workflows, of their own.
 */
import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { connectClient } from '../../src/temporal/connection.js';
import { DEPLOYMENT } from '../../src/temporal/deployment.js';
import type { DevServer } from '../../src/temporal/dev-server.js';
import { partsOf } from '../../src/temporal/live-workers.js';
import { newHome, startServer } from '../temporal/support/server.js';
import { longOnly } from '../support/skipped.js';
import { commandOf, commandWorker, endBuildWorkers, endWorker, TODAY, variant } from './builds.js';
import { scene, whole, type Scene } from './support.js';

jest.setTimeout(300_000);

/** Longer than a task waits where somebody takes it. */
const HANGS_MS = 4_000;
const NAMES = ['a', 'b', 'c'];
const FILES = Object.fromEntries(NAMES.map((name) => [`${name}.js`, 'module.exports = 1;\n']));
const RULES = NAMES.map((name) => ({
  name,
  match: { contains: `- ${name}.js` },
  answer: whole({ [`${name}.js`]: 'module.exports = 2;\n' }),
}));
const job = (name: string) =>
  `---\ntarget_files: [${name}.js]\ncommit: true\n---\n# Grow ${name}\n\nGrow.\n`;

let place: Awaited<ReturnType<typeof newHome>>;
let server: DevServer;
let open: Scene | null = null;
const variants: string[] = [];
beforeAll(async () => {
  place = await newHome();
});
afterEach(async () => {
  await endBuildWorkers();
  await open?.close();
  open = null;
  await server.stop(0);
  for (const path of variants.splice(0)) rmSync(path, { recursive: true, force: true });
});
afterAll(() => place.remove());

const begin = async (): Promise<Scene> => {
  server = await startServer(place.home, 'memory');
  return (open = await scene(FILES, RULES, { address: server.address }));
};
const made = (...given: Parameters<typeof variant>): string => {
  const path = variant(...given);
  variants.push(path);
  return path;
};

/** Builds that began a workflow task of the run, in order. */
const buildsOf = async (s: Scene, workflowId: string): Promise<readonly string[]> => {
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    const { events } = await connected.client.workflow.getHandle(workflowId).fetchHistory();
    const began = (events ?? []).flatMap(
      (event) => event.workflowTaskStartedEventAttributes?.identity ?? [],
    );
    return [
      ...new Set(
        began.map((identity) => partsOf(identity).build?.replace('0.1.0+', '') ?? identity),
      ),
    ];
  } finally {
    await connected.close();
  }
};
interface Paused {
  readonly run: ResolvedRun;
  readonly workflowId: string;
  readonly decision: string;
}
const paused = async (s: Scene, name: string): Promise<Paused> => {
  const run = await s.start(`${name}.md`, job(name));
  const view = await s.settle(run, 90);
  expect(view.status.decision?.reason).toBe('approval');
  return { run, workflowId: view.workflowId!, decision: view.status.decision!.id };
};
/** As from the Temporal UI: with no worker it waits in the history. */
const approve = (s: Scene, { workflowId, decision }: Paused): Promise<boolean> =>
  s.emend.runs!.signal({ workflowId, runId: null }, 'approve', { decision });
/** `emend doctor`'s word on builds, once a worker is known by its first beat, or its last. */
const doctored = async (s: Scene, root: string, ok: boolean) => {
  for (const end = Date.now() + 20_000; ;) {
    const { out } = await commandOf(s, root, 'doctor', '--json');
    const checks = JSON.parse(out) as {
      name: string;
      ok: boolean;
      found: string;
      fix: string | null;
    }[];
    const found = checks.find(({ name }) => name === 'build');
    if (found?.ok === ok || Date.now() > end) return found;
  }
};
/** The lines of docs/operations.md that decide which build serves. */
const LINES = readFileSync('docs/operations.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('temporal worker deployment '));
const SETTLE_MS = 5_000;
const REGISTERED_MS = 30_000;

/** Types the line of the docs that has these words for a build, until the server knows it; returns when runs are given to it. */
const type = async (words: string, build = '', change = (line: string) => line): Promise<void> => {
  const line = LINES.find((text) => text.includes(words)) ?? 'no such line';
  const typed = change(line)
    .replace(/^temporal/, `'${process.env.EMEND_TEST_CLI ?? ''}'`)
    .replace('"$(emend --version)"', `0.1.0+${build}`);
  for (const end = Date.now() + REGISTERED_MS; ;) {
    const command = `${typed} --address ${server.address}`;
    const refusal = await promisify(execFile)('sh', ['-c', command]).then(() => null, String);
    if (refusal === null) break;
    if (Date.now() > end) throw new Error(refusal);
    await sleep(500);
  }
  await sleep(SETTLE_MS);
};
const promote = (build: string) =>
  type('set-current-version --deployment-name emend --build-id', build);

const described = async (s: Scene) => {
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    const { workflowService } = connected.connection;
    const { namespace } = connected;
    const request = { namespace, deploymentName: DEPLOYMENT };
    return (await workflowService.describeWorkerDeployment(request)).workerDeploymentInfo;
  } finally {
    await connected.close();
  }
};

/** The SDK is called as the bundle itself calls it: how webpack names a module is webpack's. */
const LATER = (bundle: string): string => {
  const sdk = /\(0,\s*([\w$.()]+)\.condition\)\(until\)/.exec(bundle)?.[1];
  if (sdk === undefined) throw new Error('the bundle waits in another way now');
  return bundle.replace(
    'async function runMachine(machine, args) {',
    `$&\n    (0,${sdk}.patched)('later');`,
  );
};

test('a run past a `patched` marker of a newer build: emend replay of the older one names it', async () => {
  const newer = made('newer000', LATER);
  const s = await begin();
  const worker = await commandWorker(s, newer);
  const { workflowId } = await paused(s, 'a');
  await endWorker(worker);

  const own = await commandOf(s, newer, 'replay');
  expect(own).toEqual({
    code: 0,
    out: 'All of 1 open run in namespace default replay with build 0.1.0+newer000.\n',
  });
  const older = await commandOf(s, TODAY, 'replay');
  expect(older.code).toBe(4);
  expect(older.out).toContain(workflowId);
  expect(older.out).toMatch(
    /^ {2}.*Nondeterminism error: Non-deprecated patch marker encountered for change later/m,
  );
  expect(older.out).toMatch(/1 of 1 open run in namespace default would not replay/);
  expect(JSON.parse((await commandOf(s, TODAY, 'replay', '--json')).out)).toMatchObject({
    runs: 1,
    failed: [{ workflowId }],
  });
});

test('a deployment has the queues of workflows and model calls; a host without a version does the work of the current build', async () => {
  const build = made('first000');
  const s = await begin();
  await commandWorker(s, build, '--deployment');
  await promote('first000');
  const one = await paused(s, 'a');
  await approve(s, one);
  expect(await s.end(one.run, 90)).toMatchObject({ outcome: 'committed' });
  const queue = s.env.EMEND_QUEUE ?? '';
  const deploymentVersion = { deploymentName: DEPLOYMENT, buildId: '0.1.0+first000' };
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    const { versionTaskQueues } =
      await connected.connection.workflowService.describeWorkerDeploymentVersion({
        namespace: connected.namespace,
        deploymentVersion,
      });
    expect([...new Set(versionTaskQueues.map(({ name }) => name))].sort()).toEqual([
      queue,
      `${queue}-model`,
    ]);
  } finally {
    await connected.close();
  }
  expect(await doctored(s, build, true)).toMatchObject({
    ok: true,
    found: expect.stringMatching(
      /build 0.1.0\+first000 is current for .*-model; .*-host-.* has no versions/,
    ) as unknown,
  });
});

test('a part of the runs goes to a ramping build', async () => {
  const [first, second] = [made('first000'), made('second00')];
  const s = await begin();
  await commandWorker(s, first, '--deployment');
  await promote('first000');
  await commandWorker(s, second, '--deployment');
  await type('set-ramping-version', 'second00');
  expect(await described(s)).toMatchObject({
    routingConfig: {
      currentDeploymentVersion: { buildId: '0.1.0+first000' },
      rampingDeploymentVersion: { buildId: '0.1.0+second00' },
      rampingVersionPercentage: 10,
    },
  });
  expect(await doctored(s, first, true)).toMatchObject({ ok: true });
  // A part that leaves nothing to chance.
  await type('set-ramping-version', 'second00', (line) => line.replace('10', '100'));
  const { workflowId } = await paused(s, 'a');
  expect(await buildsOf(s, workflowId)).toEqual(['second00']);
});

longOnly('three promotions and waits for what does not happen')(
  'five cases: nothing before a build is current, runs hang without, paused runs move, after 5 s, and back to unversioned workers',
  async () => {
    const [first, second] = [made('first000'), made('second00')];
    const s = await begin();
    // Unversioned workers are the default.
    const plain = await commandWorker(s, TODAY);
    const one = await paused(s, 'a');

    // 1. A versioned worker is given nothing while its build is not current.
    const worker = await commandWorker(s, first, '--deployment');
    expect(await doctored(s, first, false)).toMatchObject({
      ok: false,
      found: expect.stringMatching(/first000 versioned.*no build is current/) as unknown,
    });
    await endWorker(plain);
    // 2. Paused and new runs hang.
    await approve(s, one);
    const hanging = await s.start('b.md', job('b'));
    await sleep(HANGS_MS);
    const [today] = await buildsOf(s, one.workflowId);
    expect(await buildsOf(s, one.workflowId)).toEqual([today]);
    const other = (await s.show(hanging)).workflowId!;
    expect(await buildsOf(s, other)).toEqual([]);

    // 3. Once it is current they go on there.
    await promote('first000');
    expect(await s.end(one.run, 90)).toMatchObject({ outcome: 'committed' });
    expect(await buildsOf(s, one.workflowId)).toEqual([today, 'first000']);
    const { decision } = (await s.settle(hanging, 90)).status;
    const two = { run: hanging, workflowId: other, decision: decision!.id };
    expect(await doctored(s, first, true)).toMatchObject({ ok: true, fix: null });

    // 4. A run that is signalled after 5 s goes on with the new build, though the old one still polls.
    await commandWorker(s, second, '--deployment');
    expect(await doctored(s, first, false)).toMatchObject({
      ok: false,
      found: expect.stringMatching(/second00 versioned.*first000 is current/) as unknown,
    });
    await promote('second00');
    await approve(s, two);
    expect(await s.end(two.run, 90)).toMatchObject({ outcome: 'committed' });
    expect(await buildsOf(s, other)).toEqual(['first000', 'second00']);
    // Going back is making the old build current.
    await promote('first000');

    // 5. With the current build's worker gone an unversioned worker is given nothing, until no build is current.
    await endWorker(worker);
    const unversioned = await commandWorker(s, TODAY);
    const three = await s.start('c.md', job('c'));
    await sleep(HANGS_MS);
    const last = (await s.show(three)).workflowId!;
    expect(await buildsOf(s, last)).toEqual([]);
    expect(await doctored(s, TODAY, false)).toMatchObject({
      ok: false,
      found: expect.stringMatching(/is given no runs: build 0.1.0\+first000 is current/) as unknown,
    });
    await type('--unversioned');
    await s.settle(three, 90);
    expect(await buildsOf(s, last)).toEqual([today]);
    await endWorker(unversioned);
  },
);
