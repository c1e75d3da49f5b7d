/** What a phase's commit leaves undone, on a real repository: by its message and by the files that are there. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { unfinishedOf } from '../../src/activities/plan/mark-phase.js';
import { workspacePorts } from '../support/workspace-ports.js';
import { Blobs, isolateGit, Repo } from '../workspace/git-fixture.js';

isolateGit();
let repo: Repo;
beforeEach(async () => {
  repo = await Repo.make();
});
afterEach(() => repo.remove());

test('tasks that the message names, and those whose file is nowhere', async () => {
  await repo.write('src/deep/there.js', 'x\n');
  const commit = await repo.commitAll('Phase 1: One\n\nNot done: task 4: no room\n');
  const names = ['Create `src/deep/there.js`', 'Add `there.js`', 'Create `src/gone.js`', 'Tests', 'Read `else.js`'];
  const tasks = names.map((text) => ({ text, done: false, depth: 0 }));
  const blobs = new Blobs();
  const ports = workspacePorts(join(repo.dir, '.home'), blobs);
  const phase = { objective: null, prerequisites: [], tasks, text: '', files: [] };
  const texts = await blobs.put(new TextEncoder().encode(JSON.stringify({ v: 2, phases: { p1: phase } })));
  const input = {
    workspace: repo.dir,
    phase: { id: 'p1', number: 1, name: 'One' },
    commit,
    texts,
    skipped: [],
    verification: null,
  };
  expect(await unfinishedOf(ports, input)).toEqual([
    { text: 'Create `src/gone.js`', why: 'src/gone.js is not there' },
    { text: 'Tests', why: 'no room' },
  ]);
  // Done by hand, there is no commit that could say otherwise.
  expect(await unfinishedOf(ports, { ...input, commit: null })).toEqual([]);
});
