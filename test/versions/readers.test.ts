/**
 * ◆ Readers of the stores meet another `v` (planted in real stores on disk) and say `version_unknown` with what to do; unknown extra
 * fields are no matter. docs/versions.md has the table; what goes through a server is in test/e2e/versions.test.ts.
 */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { archivedRun, isEvent, isPart } from '../../src/client/archive/run.js';
import { readJson } from '../../src/system/durable.js';
import { jsonOf } from '../../src/system/json.js';
import { unsealed } from '../../src/system/sealed.js';
import { readRefusal } from '../../src/activities/step/refusals.js';
import { getSnapshot } from '../../src/activities/step/snapshot.js';
import { createCallJournal } from '../../src/model/journal/index.js';
import { callKey } from '../../src/model/journal/records.js';
import type { CallKeyParts } from '../../src/model/ports.js';
import { startedData } from '../client/fake.js';
import { ProblemError } from '../../src/shared/problems.js';
import { readMessage } from '../../src/shared/messages.js';
import { claimRecord, liveDevServer, recordPath } from '../../src/temporal/dev-record.js';
import { checkDatabase } from '../../src/temporal/dev-server.js';
import { createApplyEngine } from '../../src/workspace/apply/engine.js';
import { ownProcess } from '../../src/system/process.js';
import { putJson } from '../../src/stores/ports.js';
import { createCallLog } from '../../src/stores/directory/records.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { homePaths } from '../../src/stores/home.js';
import { storePaths } from '../../src/stores/location.js';
import { createLocks } from '../../src/workspace/apply/lock.js';
import { realSys } from '../../src/system/sys.js';
import { noLinks } from '../support/store-faults.js';

const STEP = 'a'.repeat(32);
const ZERO = `sha256:${'0'.repeat(64)}` as const;
let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'emend versions ')));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

/** A stored value, without its checksum. */
const contentOf = (path: string): object => unsealed(readFileSync(path, 'utf8').trim()) as object;

const plant = (path: string, value: unknown): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
};
/** What a reader said; a test fails where it said nothing. */
const problemOf = async (work: Promise<unknown>) => {
  const error: unknown = await work.then(
    (value) => new Error(`read as ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProblemError)) throw error;
  return error.problem;
};
const REFUSED = {
  code: 'version_unknown',
  next: expect.stringContaining('upgrade worker and client'),
};

describe('blobs', () => {
  test.each([3, 2.5, '2', undefined])('a snapshot with v %s', async (v) => {
    const blobs = createBlobStore({ dir: storePaths(home).blobs });
    expect(
      await problemOf(getSnapshot(blobs, await putJson(blobs, { v, targets: [] }))),
    ).toMatchObject(REFUSED);
    const extra = { targets: [], laterField: { v: 3 } };
    expect(await getSnapshot(blobs, await putJson(blobs, extra))).toEqual(extra);
  });

  test('a refusal of another version is no rejected diff', async () => {
    const blobs = createBlobStore({ dir: storePaths(home).blobs });
    const put = (v: number) =>
      putJson(blobs, { v, kind: 'refused', reasons: 'why', answer: 'text', later: true });
    expect(
      await problemOf(readRefusal(blobs, await put(3), { reasons_bytes: 1_000 })),
    ).toMatchObject(REFUSED);
    expect(await readRefusal(blobs, await put(2), { reasons_bytes: 1_000 })).toEqual({
      kind: 'refused',
      reasons: 'why',
      answer: 'text',
    });
  });
});

describe('the call journal', () => {
  const key: CallKeyParts = {
    stepKey: STEP,
    role: 'edit',
    file: 'a.js',
    region: '*',
    regeneration: 1,
    bases: ['absent'],
    format: 'whole-file',
    model: 'm',
    outputBudget_tokens: 100,
    instructions: ZERO,
    notes: null,
    refusal: null,
  };
  const dir = () => join(storePaths(home).calls, STEP, callKey(key));
  const at = new Date(0).toISOString();
  const usage = { input_tokens: 1, output_tokens: 1, cacheRead_tokens: 0, cacheWrite_tokens: 0 };
  const request = { model: 'm', max_tokens: 100, system: [], messages: [] };
  const prices = { input_usd: null, output_usd: null, cacheRead_usd: null, cacheWrite_usd: null };
  const FILES: Record<string, object> = {
    'call.json': { v: 2, at, key, request, nonce: 'n', prices },
    'attempt-1.json': {
      v: 2,
      at,
      owner: { id: 'x', process: { boot: '-', pid: 1, started: '0' }, pidNamespace: null },
    },
    'attempt-1.events.jsonl': { v: 2, attempt: 1, at },
    'attempt-1.end.json': { v: 2, at, state: 'unknown', why: 'owner_lost' },
    'answer.json': {
      v: 2,
      at,
      attempt: 1,
      answer: { text: 't', stopReason: 'end_turn', model: 'm', usage },
      usage: { calls: 1, unknownCalls: 0, ...usage, usd: null, seconds: 1 },
    },
  };
  const journal = () =>
    createCallJournal({
      calls: createCallLog({ dir: storePaths(home).calls }),
      model: { stream: () => Promise.reject(new Error('asked again')) },
      callOwner_ms: 200,
    });
  const ask = () =>
    journal().ask({
      key,
      makeRequest: () => Promise.reject(new Error('made again')),
      maxUnknownCalls: 2,
      prices,
      signal: new AbortController().signal,
    });

  test.each(Object.keys(FILES))(
    '%s with v 3: nothing is asked, nothing is changed',
    async (name) => {
      // An answer on disk is all that is read of a recorded call: without it the attempts are looked at.
      const names = Object.keys(FILES).filter((each) => each !== 'answer.json' || name === each);
      for (const each of names)
        plant(
          join(dir(), each),
          `${JSON.stringify({ ...FILES[each], ...(each === name ? { v: 3 } : {}) })}\n`,
        );
      const before = readdirSync(dir());
      expect(await problemOf(ask())).toMatchObject(REFUSED);
      expect(readdirSync(dir())).toEqual(before);
    },
  );

  test('unknown extra fields', async () => {
    for (const [name, value] of Object.entries(FILES))
      plant(join(dir(), name), { ...value, laterField: { v: 3 } });
    expect(await ask()).toMatchObject({
      outcome: 'answered',
      answer: { text: 't' },
      recorded: true,
    });
  });
});

describe('transactions and locks', () => {
  const workspace = () => {
    const path = join(home, '..', `${home.split('/').at(-1) ?? ''}-ws`);
    mkdirSync(path, { recursive: true });
    return path;
  };
  afterEach(() => {
    rmSync(workspace(), { recursive: true, force: true });
  });

  test('a plan with v 3: recovery reports it, leaves it alone and goes on with the others', async () => {
    const name = `${'b'.repeat(64)}-1`;
    const path = join(homePaths(home).transactions, STEP, name, 'plan-1.json');
    plant(path, { v: 3, kind: 'apply', workspace: workspace() });
    plant(join(homePaths(home).transactions, STEP, `${'c'.repeat(64)}-2`, 'plan-1.json'), { v: 3 });
    const engine = createApplyEngine({
      home,
      blobs: createBlobStore({ dir: storePaths(home).blobs }),
    });
    const recovered = await engine.recover();
    expect(recovered.map(({ did }) => did)).toEqual(['failed', 'failed']);
    expect(recovered[0]?.conflicts[0]?.why).toContain('has version 3; this Emend reads version 2');
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ v: 3 });
  });

  test('a lock with v 3 is held by somebody unknown: nobody takes it', async () => {
    const locks = createLocks({ home });
    const { taken } = await locks.take(workspace(), STEP, { workflowId: 'w', namespace: 'n' });
    expect(taken).toBe(true);
    const file = readdirSync(homePaths(home).locks, { recursive: true })
      .map(String)
      .find((each) => each.endsWith('/1.json'))!;
    const path = join(homePaths(home).locks, file);
    const held = contentOf(path);
    rmSync(path);
    plant(path, { ...held, v: 3 });
    expect(
      await problemOf(locks.take(workspace(), 'c'.repeat(32), { workflowId: 'w', namespace: 'n' })),
    ).toMatchObject(REFUSED);
    rmSync(path);
    plant(path, { ...held, laterField: { v: 3 } });
    expect((await locks.read(workspace()))?.stepKey).toBe(STEP);
  });
});

test('archive entries with v 3 are left out, and that is said', async () => {
  const archive = createArchive({ dir: storePaths(home).archive });
  const started = startedData({ title: 't', later: 1 });
  const entry = {
    v: 2,
    id: 'started',
    at: new Date(0).toISOString(),
    kind: 'started',
    data: started,
    later: true,
  };
  const lines = [entry, { ...entry, v: 3, id: 'x' }, { v: 3, wholly: 'new' }].map(
    (each) => `${JSON.stringify(each)}\n`,
  );
  plant(join(storePaths(home).archive, STEP, 'log.jsonl'), lines.join(''));
  const run = archivedRun(STEP, await archive.read(STEP));
  expect(run).toMatchObject({
    omitted: expect.stringMatching(/^2 entries .* another version of Emend/),
    started: { title: 't' },
    closed: null,
  });
});

test('events and results of all kept histories have the fields that an archive is read by', () => {
  const found = { events: 0, results: 0, odd: [] as unknown[] };
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('metadata' in value && 'data' in value && typeof value.data === 'string')
      return look(jsonOf(Buffer.from(value.data, 'base64').toString()));
    if ('seq' in value && 'type' in value && 'at' in value) {
      found.events += 1;
      if (!isEvent(value)) found.odd.push(value);
    }
    if ('stepKey' in value && 'outcome' in value && 'usage' in value && 'commit' in value) {
      found.results += 1;
      if (!isPart('closed', { status: 'COMPLETED', message: null, result: value }))
        found.odd.push(value);
    }
    for (const each of Object.values(value)) look(each);
  };
  for (const name of readdirSync('test/histories'))
    look(jsonOf(readFileSync(join('test/histories', name), 'utf8')));
  expect(found.odd).toEqual([]);
  expect(Math.min(found.events / 10, found.results)).toBeGreaterThan(50);
});

test('a JSON file of ours that is damaged is named, with what to do', async () => {
  const path = join(home, 'damaged.json');
  for (const text of ['', 'x', '{"v":2,', '7'])
    expect([text, await problemOf((plant(path, text), readJson(realSys, path)))]).toMatchObject([
      text,
      {
        code: 'disk',
        message: `${path} is damaged: it is no JSON.`,
        next: expect.stringContaining('Restore it from a backup'),
      },
    ]);
});

test('a decision with v 3 does not count, in words that say what to do; extra fields are no matter', () => {
  const request = {
    v: 2,
    decision: '1-aaaaaaaa',
    answer: 'approve',
    requestId: 'r',
    by: { name: 'n', from: 'cli' },
  };
  expect(readMessage('answer', { ...request, v: 3 })).toMatchObject({
    kind: 'faulty',
    fault: expect.stringMatching(/version 3; this Emend reads version 2/),
  });
  expect(readMessage('answer', { ...request, laterField: [] })).toMatchObject({
    kind: 'message',
    message: { decision: request.decision, requestId: 'r' },
  });
});

describe('the dev server', () => {
  test('a record with v 3 is a server of another Emend: not taken over, not connected to', async () => {
    const process = await ownProcess(realSys);
    const record = {
      v: 2,
      state: 'serving',
      process,
      address: 'a:1',
      clusterId: null,
      hiddenUi: null,
      dbFile: null,
      logFile: 'l',
      cliVersion: '1',
    } as const;
    plant(recordPath(home), { ...record, v: 3 });
    expect(await problemOf(claimRecord(home, record))).toMatchObject(REFUSED);
    expect(await problemOf(liveDevServer(home))).toMatchObject(REFUSED);
    expect(JSON.parse(readFileSync(recordPath(home), 'utf8'))).toMatchObject({ v: 3 });
    plant(recordPath(home), { ...record, laterField: 1 });
    expect(await liveDevServer(home)).toMatchObject({
      state: 'serving',
      process,
      address: 'a:1',
    });
  });

  test('a database without its note is not taken for our own', async () => {
    const db = join(home, 'server', 'db', 'temporal.sqlite');
    const cli = { path: '/t', version: '1.9.1', from: 'PATH' } as Parameters<
      typeof checkDatabase
    >[1];
    await checkDatabase(db, cli);
    expect(readFileSync(`${db}.cli-version`, 'utf8')).toBe('1.9.1\n');
    plant(db, 'bytes');
    await checkDatabase(db, cli);
    for (const noted of ['', '1.8.0\n', 'v2 {"later": true}\n']) {
      plant(`${db}.cli-version`, noted);
      expect(await problemOf(checkDatabase(db, cli))).toMatchObject({
        code: 'cli_version',
        next: expect.stringContaining('mv '),
      });
      expect(readFileSync(`${db}.cli-version`, 'utf8')).toBe(noted);
    }
  });

  test('a new database gets a note of its own, also where there are no hard links', async () => {
    const db = join(home, 'server', 'db', 'temporal.sqlite');
    for (const version of ['1.9.1', '1.9.2']) {
      await checkDatabase(db, { path: '/t', version, from: 'PATH' }, noLinks);
      expect(readFileSync(`${db}.cli-version`, 'utf8')).toBe(`${version}\n`);
    }
  });
});
