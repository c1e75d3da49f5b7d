import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { endHold, staleHolds } from '../../src/client/leases.js';
import { createApplyEngine } from '../../src/workspace/apply.js';
import { queueNames } from '../../src/shared/protocol.js';
import { proposalIdOf } from '../../src/workspace/hash.js';
import type { Proposal } from '../../src/workspace/types.js';
import { fakeEmend, FakeServer, problemOf, tempDir } from './fake.js';

const KEY = 'abcd1234'.padEnd(32, '0');
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A step that has applied `a.txt` and `b.txt` and holds the workspace, as its activities leave it. */
const applied = async ({ inGit = false } = {}) => {
  const server = new FakeServer();
  const emend = await fakeEmend(server);
  const workspace = await tempDir();
  // Then the lease lies in the git directory, where every home sees it.
  if (inGit) execFileSync('git', ['init', '-q', workspace]);
  const files = [];
  for (const path of ['a.txt', 'b.txt']) {
    await writeFile(join(workspace, path), 'old\n', { mode: 0o644 });
    const base = { ref: await emend.blobs.put(bytes('old\n')), mode: 0o644 };
    const result = { ref: await emend.blobs.put(bytes('new\n')), mode: 0o644 };
    files.push({ path, base, result, by: 'model' as const });
  }
  const proposal: Proposal = { v: 1, stepKey: KEY, files, moves: [] };
  const id = proposalIdOf(proposal);
  // Kept with other white space than the hash is made of: the archive says where.
  const ref = await emend.blobs.put(bytes(JSON.stringify(proposal, null, 1)));
  const at = '2026-01-01T00:00:00.000Z';
  await emend.archive.append(KEY, [
    {
      v: 1,
      id: 's',
      at,
      kind: 'started',
      data: { v: 1, workflowId: 'emend-1', runId: 'run-1', namespace: 'default', workspace, queues: emend.queues },
    },
    {
      v: 1,
      id: 'a',
      at,
      kind: 'activity',
      data: {
        name: 'seal',
        result: { proposal: { id, ref, diff: ref, files: [], findings: [], rungs: [], mustAsk: [] } },
      },
    },
  ]);
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

describe('a workspace held by a run', () => {
  test('that is open is left alone; that was terminated is found', async () => {
    const { emend, workspace, terminate } = await applied();
    expect(await staleHolds(emend)).toEqual([]);
    terminate();
    expect(await staleHolds(emend)).toMatchObject([{ stepKey: KEY, workspace, ended: 'terminated' }]);
    expect(await staleHolds({ ...emend, runs: null })).toEqual([]);
  });

  test('undo puts back what nobody changed since, and frees it', async () => {
    const { emend, engine, workspace, terminate, text } = await applied();
    await writeFile(join(workspace, 'b.txt'), 'a person was here\n');
    terminate();
    const [hold] = await staleHolds(emend);
    const done = await endHold(emend, hold!, 'undo');
    expect(done.files).toEqual(['a.txt']);
    expect(done.kept.map(({ path }) => path)).toEqual(['b.txt']);
    expect([await text('a.txt'), await text('b.txt')]).toEqual(['old\n', 'a person was here\n']);
    expect(await engine.readLease(workspace)).toBeNull();
    expect(await staleHolds(emend)).toEqual([]);
  });

  test('keep leaves the files and frees it', async () => {
    const { emend, engine, workspace, terminate, text } = await applied();
    terminate();
    const [hold] = await staleHolds(emend);
    expect(await endHold(emend, hold!, 'keep')).toEqual({ files: [], kept: [] });
    expect(await text('a.txt')).toBe('new\n');
    expect(await engine.readLease(workspace)).toBeNull();
  });

  test('of another home is told as such: undone only there, freed here where that home is lost', async () => {
    const { emend, engine, workspace, terminate, text } = await applied({ inGit: true });
    terminate();
    // A second home on this host, on the same store.
    const second = { ...emend, home: await tempDir(), queues: queueNames('emend', 'def') };
    const [hold] = await staleHolds(second);
    expect(hold).toMatchObject({ stepKey: KEY, elsewhere: true, files: [] });
    expect(await problemOf(() => endHold(second, hold!, 'undo'))).toMatchObject({ code: 'conflict' });
    expect([await text('a.txt'), (await engine.readLease(workspace))?.stepKey]).toEqual(['new\n', KEY]);
    const [own] = await staleHolds({ ...emend, queues: queueNames('renamed', 'abc') });
    expect(own).toMatchObject({ elsewhere: false, files: ['a.txt', 'b.txt'] });
    expect(await endHold(second, hold!, 'keep')).toEqual({ files: [], kept: [] });
    expect(await engine.readLease(workspace)).toBeNull();
  });
});
