import { execFileSync } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { lockAgain, releaseLock } from '../../../src/client/ended/release-lock.js';
import { releaseStaleLocks } from '../../../src/client/ended/stale-locks.js';
import { resolveRun } from '../../../src/client/runs/resolve.js';
import { showRun } from '../../../src/client/runs/show.js';
import type { Emend } from '../../../src/client/types.js';
import { problem, ProblemError } from '../../../src/shared/problems.js';
import { storePaths } from '../../../src/stores/location.js';
import { createApplyEngine } from '../../../src/workspace/apply/engine.js';
import { queueNames } from '../../../src/shared/names.js';
import { proposalIdOf, type Proposal } from '../../../src/workspace/proposal.js';
import { createLocks } from '../../../src/workspace/apply/lock.js';
import { fakeEmend, FakeServer, startedData, problemOf, tempDir } from '../fake.js';

const KEY = 'abcd1234'.padEnd(32, '0');
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A step that has applied `a.txt` and `b.txt` and holds the workspace, as its activities leave it. */
const applied = async ({ inGit = false } = {}) => {
  const server = new FakeServer();
  const emend = await fakeEmend(server);
  const workspace = await tempDir();
  // Then the lock lies in the git directory, where every home sees it.
  if (inGit) execFileSync('git', ['init', '-q', workspace]);
  const files = [];
  for (const path of ['a.txt', 'b.txt']) {
    await writeFile(join(workspace, path), 'old\n', { mode: 0o644 });
    const base = { ref: await emend.blobs.put(bytes('old\n')), mode: 0o644 };
    const result = { ref: await emend.blobs.put(bytes('new\n')), mode: 0o644 };
    files.push({ path, base, result, by: 'model' as const });
  }
  const proposal: Proposal = { stepKey: KEY, files, renames: [] };
  const id = proposalIdOf(proposal);
  const at = '2026-01-01T00:00:00.000Z';
  // Of the proposal the archive says nothing: the records of the home say all that undoing needs.
  const data = startedData({ workspace, queues: emend.queues });
  await emend.archive.append(KEY, [{ id: 's', at, kind: 'started', data }]);
  const engine = createApplyEngine({ home: emend.home, blobs: emend.blobs });
  const holder = { workflowId: 'emend-1', namespace: 'default' };
  const outcome = await engine.apply({
    stepKey: KEY,
    workspace,
    proposalId: id,
    proposal,
    decision: 1,
    files: ['a.txt', 'b.txt'],
    holder,
  });
  expect(outcome.outcome).toBe('applied');
  const run = server.add(KEY, 'emend-1');
  const terminate = (): void => {
    server.close(run, { status: 'TERMINATED', result: null, message: null });
  };
  const text = (path: string): Promise<string> => readFile(join(workspace, path), 'utf8');
  return { emend, engine, workspace, terminate, text };
};

const note = (emend: Emend, name: string, result: unknown): Promise<void> => {
  const entry = {
    id: name,
    at: '2026-01-01T00:00:01.000Z',
    kind: 'activity',
    data: { name, result },
  } as const;
  return emend.archive.append(KEY, [entry]);
};

describe('a workspace held by a run', () => {
  test('that is open is left alone; that was terminated is found', async () => {
    const { emend, workspace, terminate } = await applied();
    expect(await releaseStaleLocks(emend)).toEqual({ held: [], released: [], note: null });
    terminate();
    // An archive that cannot be read hides none of the others.
    await mkdir(join(storePaths(emend.store).archive, 'ef'.repeat(16), 'log.jsonl'), {
      recursive: true,
    });
    // Nor does a workspace that fails when it is looked at, as on a network's filesystem that is gone (ENOTCONN, ESTALE, EIO).
    const away = join(await tempDir(), 'away');
    await symlink(away, away);
    const data = startedData({ workspace: away, queues: emend.queues });
    const at = '2026-01-01T00:00:00.000Z';
    await emend.archive.append('ab'.repeat(16), [{ id: 's', at, kind: 'started', data }]);
    const held = [{ stepKey: KEY, workspace, ended: 'terminated', files: ['a.txt', 'b.txt'] }];
    expect(await releaseStaleLocks(emend)).toMatchObject({
      held,
      released: [],
      note: `${away} (ELOOP).`,
    });
    expect(await releaseStaleLocks({ ...emend, runs: null })).toMatchObject({
      held: [],
      note: expect.any(String),
    });
  });

  test('undo puts back what nobody changed since, and frees it', async () => {
    const { emend, engine, workspace, terminate, text } = await applied();
    await writeFile(join(workspace, 'b.txt'), 'a person was here\n');
    terminate();
    const [hold] = (await releaseStaleLocks(emend)).held;
    const done = await releaseLock(emend, hold!, 'undo');
    expect(done.files).toEqual(['a.txt']);
    expect(done.leftAlone.map(({ path }) => path)).toEqual(['b.txt']);
    expect([await text('a.txt'), await text('b.txt')]).toEqual(['old\n', 'a person was here\n']);
    expect(await engine.readLock(workspace)).toBeNull();
    expect((await releaseStaleLocks(emend)).held).toEqual([]);
  });

  test('keep leaves the files and frees it', async () => {
    const { emend, engine, workspace, terminate, text } = await applied();
    terminate();
    const [hold] = (await releaseStaleLocks(emend)).held;
    expect(await releaseLock(emend, hold!, 'keep')).toEqual({ files: [], leftAlone: [] });
    expect(await text('a.txt')).toBe('new\n');
    expect(await engine.readLock(workspace)).toBeNull();
  });

  test('of another home is told as such: undone only there, freed here where that home is lost', async () => {
    const { emend, engine, workspace, terminate, text } = await applied({ inGit: true });
    terminate();
    // A second home on this host, on the same store.
    const second = { ...emend, home: await tempDir(), queues: queueNames('emend', 'def') };
    const [hold] = (await releaseStaleLocks(second)).held;
    expect(hold).toMatchObject({ stepKey: KEY, elsewhere: true, files: [] });
    expect(await problemOf(() => releaseLock(second, hold!, 'undo'))).toMatchObject({
      code: 'conflict',
    });
    expect([await text('a.txt'), (await engine.readLock(workspace))?.stepKey]).toEqual([
      'new\n',
      KEY,
    ]);
    const [own] = (await releaseStaleLocks({ ...emend, queues: queueNames('renamed', 'abc') }))
      .held;
    expect(own).toMatchObject({ elsewhere: false, files: ['a.txt', 'b.txt'] });
    expect(await releaseLock(second, hold!, 'keep')).toEqual({ files: [], leftAlone: [] });
    expect(await engine.readLock(workspace)).toBeNull();
  });

  test('that ended with nothing applied is released; one that nobody knows is shown and left alone', async () => {
    const { emend, engine, workspace, terminate } = await applied();
    const unknown = await releaseStaleLocks({ ...emend, runs: new FakeServer() });
    expect(unknown).toMatchObject({
      held: [{ ended: 'not known to the server', files: ['a.txt', 'b.txt'] }],
    });
    terminate();
    const [hold] = (await releaseStaleLocks(emend)).held;
    await releaseLock(emend, hold!, 'undo');

    const keeper = createLocks({ home: emend.home });
    await keeper.take(workspace, KEY, { workflowId: 'emend-1', namespace: 'default' });
    expect(await releaseStaleLocks({ ...emend, namespace: 'elsewhere' })).toEqual({
      held: [],
      released: [],
      note: null,
    });
    expect(await engine.readLock(workspace)).not.toBeNull();
    expect(await releaseStaleLocks(emend)).toMatchObject({
      held: [],
      released: [{ stepKey: KEY, workspace, ended: 'terminated', because: 'nothing_applied' }],
    });
    expect(await engine.readLock(workspace)).toBeNull();
    // How it ended is in the archive by now, so a server that has forgotten the run is not needed for it.
    await keeper.take(workspace, KEY, { workflowId: 'emend-1', namespace: 'default' });
    expect(await releaseStaleLocks({ ...emend, runs: new FakeServer() })).toMatchObject({
      released: [{ stepKey: KEY }],
    });
  });

  test('a server that stops answering is said, not thrown; nothing is released', async () => {
    const { emend, engine, workspace } = await applied();
    const away = new FakeServer();
    away.describe = () => Promise.reject(new ProblemError(problem('no_server', 'gone')));
    expect(await releaseStaleLocks({ ...emend, runs: away })).toMatchObject({
      held: [],
      released: [],
      note: 'gone',
    });
    const next = 'Check TEMPORAL_API_KEY.';
    away.describe = () =>
      Promise.reject(new ProblemError(problem('no_server', 'It refuses calls.', next)));
    expect(await releaseStaleLocks({ ...emend, runs: away })).toMatchObject({
      note: `It refuses calls. ${next}`,
    });
    expect(await engine.readLock(workspace)).not.toBeNull();
  });

  test('a cut-off run that holds its workspace no longer can still be undone, unless another step has it', async () => {
    const { emend, engine, workspace, terminate, text } = await applied();
    await engine.releaseLock(workspace, KEY);
    await note(emend, 'applyProposal', { outcome: 'applied', files: ['a.txt', 'b.txt'] });
    const resolved = () => resolveRun(emend, KEY);
    expect(await lockAgain(emend, await resolved())).toBeNull();
    terminate();
    await showRun(emend, await resolved());
    const keeper = createLocks({ home: emend.home });
    const other = 'ffff1234'.padEnd(32, '0');
    await keeper.take(workspace, other, { workflowId: 'emend-2', namespace: 'default' });
    expect(await problemOf(async () => lockAgain(emend, await resolved()))).toMatchObject({
      code: 'busy',
    });
    await keeper.release(workspace, other);
    const hold = await lockAgain(emend, await resolved());
    expect(hold).toMatchObject({ ended: 'terminated', files: ['a.txt', 'b.txt'] });
    expect((await releaseLock(emend, hold!, 'undo')).files).toEqual(['a.txt', 'b.txt']);
    expect([await text('a.txt'), await engine.readLock(workspace)]).toEqual(['old\n', null]);
    expect(await lockAgain(emend, await resolved())).toBeNull();
  });
});
