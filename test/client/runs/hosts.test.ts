/** The hosts of a store as the client sees them; the server is a map, the store is real. */
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { groupProblems, hostOf, listHosts, silentNote } from '../../../src/client/runs/hosts.js';
import { listRuns } from '../../../src/client/runs/list.js';
import { resolveRun } from '../../../src/client/runs/resolve.js';
import { showRun } from '../../../src/client/runs/show.js';
import { recordStart, knownHosts, type HostStart } from '../../../src/stores/hosts.js';
import { storePaths } from '../../../src/stores/location.js';
import type { SeenWorker } from '../../../src/temporal/live-workers.js';
import type { DecisionPoint } from '../../../src/shared/decisions.js';
import { queueNames } from '../../../src/shared/names.js';
import { fakeEmend, FakeServer } from '../fake.js';

const OWN = '0a'.repeat(16);
const OTHER = '3f2a90c1'.padEnd(32, '0');
const OLD = 'ee'.repeat(16);
const KEY = 'c'.repeat(32);
const start = (name: string, at = new Date().toISOString(), boot = 'b0000001'): HostStart => ({
  name,
  machine: 'a0000001',
  boot,
  build: 'emend-1',
  at,
});
const worker = (
  host: string,
  is: SeenWorker['is'],
  boot = 'b0000001',
  build = 'emend-1',
): SeenWorker => ({
  said: `${host} ${boot}`,
  host: host.slice(0, 8),
  boot,
  store: '55555555',
  build,
  versioned: false,
  seen_ms: Date.parse('2026-11-26T20:00:00Z'),
  is,
  queue: 'emend',
});
const scene = async (others: readonly (readonly [string, HostStart])[] = []) => {
  const server = new FakeServer();
  const emend = { ...(await fakeEmend(server)), queues: queueNames('emend', OWN) };
  for (const [id, each] of [[OWN, start('here')] as const, ...others])
    await recordStart(emend.records, id, each);
  return { server, emend };
};

test('a host is named once the store knows a second one, or where it is not this home', async () => {
  const { emend } = await scene();
  expect(await hostOf(emend, OWN)).toEqual({ id: OWN, name: null });
  expect(await hostOf(emend, OTHER)).toEqual({ id: OTHER, name: 'unknown (3f2a90c1)' });
  await recordStart(emend.records, OTHER, start('build-2'));
  expect(await hostOf(emend, OWN)).toEqual({ id: OWN, name: 'here (0a0a0a0a)' });
  expect(await hostOf(emend, OTHER)).toEqual({ id: OTHER, name: 'build-2 (3f2a90c1)' });
});

test('each start is recorded unless it is like the one before; the last counts, and of two at once one is told', async () => {
  const { emend } = await scene();
  const first = (await knownHosts(emend.records)).get(OWN);
  expect(first).toMatchObject({ name: 'here', starts: 1 });
  expect(await recordStart(emend.records, OWN, start('here'), first)).toBe(true);
  expect((await knownHosts(emend.records)).get(OWN)).toMatchObject({ starts: 1 });
  expect(await recordStart(emend.records, OWN, start('here', '', 'b0000002'), first)).toBe(true);
  expect((await knownHosts(emend.records)).get(OWN)).toMatchObject({ boot: 'b0000002', starts: 2 });
  expect(await recordStart(emend.records, OWN, start('here', '', 'b0000003'), first)).toBe(false);
});

test('a damaged record of a start keeps no worker from its own, and hides no other host', async () => {
  const { emend } = await scene([[OTHER, start('build-2')]]);
  const damaged = join(storePaths(emend.store).records, 'hosts', `${OTHER}.000001.json`);
  await chmod(damaged, 0o600);
  await writeFile(damaged, '');
  const known = await knownHosts(emend.records);
  expect([known.get(OWN), known.get(OTHER)]).toMatchObject([{ name: 'here' }, { starts: 1 }]);
  expect(await recordStart(emend.records, OTHER, start('build-2'), known.get(OTHER))).toBe(true);
  expect((await knownHosts(emend.records)).get(OTHER)).toMatchObject({
    name: 'build-2',
    starts: 2,
  });
});

test('a start with a field of a wrong type counts as damaged, whichever it is', async () => {
  const other = start('build-2');
  for (const name of Object.keys(other) as (keyof HostStart)[]) {
    const { emend } = await scene([[OTHER, { ...other, [name]: 5 }]]);
    const { hosts } = await listHosts({ ...emend, queues: queueNames('emend', OTHER) });
    const [own, found, ...more] = hosts;
    expect([own?.id, own?.name, own?.seen, found?.name, more]).toEqual([
      OTHER,
      'unknown',
      '',
      'here',
      [],
    ]);
  }
});

test('roles and builds of the live, the last sign of the silent, and the runs of each', async () => {
  const { server, emend } = await scene([
    [OTHER, start('build-2', '2026-11-26T10:00:00.000Z')],
    [OLD, start('old', '2025-01-01T00:00:00.000Z')],
  ]);
  const memo = { stepKey: KEY, jobPath: 'job.md', title: 'A job', workspace: '/w', host: OTHER };
  server.add(KEY, 'w', { memo });
  const { workflow, model, host } = emend.queues;
  server.seen = {
    [workflow]: [worker(OWN, 'live'), worker(OTHER, 'silent')],
    [model]: [worker(OWN, 'live')],
  };
  expect((await listHosts(emend)).hosts).toEqual([
    {
      id: OWN,
      name: 'here',
      here: true,
      roles: ['workflows', 'model'],
      checked: true,
      versions: ['emend-1'],
      doubles: [],
      seen: expect.any(String),
      runs: [],
    },
    {
      id: OTHER,
      name: 'build-2',
      here: false,
      roles: [],
      checked: true,
      versions: ['emend-1'],
      doubles: [],
      seen: '2026-11-26T20:00:00.000Z',
      runs: [KEY],
    },
  ]);
  const [silent, ...more] = groupProblems((await listHosts(emend)).hosts);
  expect(more).toEqual([]);
  expect(silent).toMatchObject({
    code: 'no_worker',
    message:
      'No worker serves host build-2 (3f2a90c1), last seen 2026-11-26T20:00:00.000Z; open runs that need it: 1.',
    next: expect.stringContaining('emend hosts adopt 3f2a90c1'),
  });

  // Two live workers of the other on two boots; an old start of this home's that is silent is none.
  const doubled = [worker(OTHER, 'live'), worker(OTHER, 'live', 'b0000002', 'emend-2')];
  server.seen = {
    [host.replace(OWN, OTHER)]: doubled,
    [host]: [worker(OWN, 'live'), worker(OWN, 'silent', 'b9')],
  };
  const [own, other] = (await listHosts(emend)).hosts;
  expect([own?.doubles, other?.doubles, other?.versions, other?.roles]).toEqual([
    ...[[], doubled.map(({ said }) => said), ['emend-1', 'emend-2'], ['hosts']],
  ]);
  expect(groupProblems([own!, other!])).toMatchObject([{ code: 'conflict' }]);
});

test('a run of another host: list, show and its decision name it, and both say that nobody serves it', async () => {
  const { server, emend } = await scene([[OTHER, start('build-2')]]);
  const memo = { stepKey: KEY, jobPath: 'job.md', title: 'A job', workspace: '/w', host: OTHER };
  const decision = {
    reason: 'workspace_unreachable',
    subject: null,
    message: 'gone',
    accepts: ['wait', 'move'],
  } as unknown as DecisionPoint;
  const waits = { reason: 'workspace_unreachable', decision: '1-x' };
  server.add(KEY, 'w', { memo, waits }, { state: 'waiting', decision });
  const silent = emend.queues.host.replace(OWN, OTHER);
  server.polled = async (queue?: string) => queue !== silent;
  server.seen = { [emend.queues.workflow]: [worker(OWN, 'live')] };
  const host = { id: OTHER, name: 'build-2 (3f2a90c1)' };
  const note = `No worker serves the task queue ${silent} (host build-2 (3f2a90c1)). Start one: \`emend worker\` on build-2 (3f2a90c1); if it is lost, in a new home: emend hosts adopt 3f2a90c1.`;
  expect(await listRuns(emend)).toMatchObject({
    runs: [{ stepKey: KEY, state: 'waiting', host }],
    note,
  });
  const subject =
    'host build-2 (3f2a90c1); if it is lost, in a new home: emend hosts adopt 3f2a90c1; with a copy of its files: emend move';
  expect(await showRun(emend, await resolveRun(emend, KEY))).toMatchObject({
    host,
    note,
    source: 'run',
    status: { decision: { message: 'gone', subject } },
  });
});

test('what is silent of one home alone names no host', async () => {
  const { emend } = await scene();
  const { workflow, host } = emend.queues;
  expect(silentNote(emend, [workflow, host], [{ id: OWN, name: null }])).toBe(
    `No worker serves the task queues ${workflow}, ${host}. Start one: \`emend worker\`.`,
  );
});
