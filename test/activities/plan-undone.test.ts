/** What a phase's commit leaves undone, on a real repository: by its message, by the files that are there, and by what its job did not ask for. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { tasksOf } from '../../src/documents/plan/index.js';
import { readPlan } from '../../src/workspace/documents/index.js';
import { unfinishedOf } from '../../src/activities/plan/mark-phase.js';
import { workspacePorts } from '../support/workspace-ports.js';
import { Blobs, isolateGit, Repo } from '../workspace/git-fixture.js';

isolateGit();
let repo: Repo;
beforeEach(async () => {
  repo = await Repo.make();
});
afterEach(() => repo.remove());

/** `names`: what was asked for; `now`: the lines of the phase in the document. */
const undone = async (
  names: readonly string[],
  now: readonly string[],
  body: string,
  byHand = false,
) => {
  await repo.write('src/deep/there.js', 'x\n');
  await repo.write('010_demo.md', `### Phase 1: One\n\n${now.join('\n')}\n`);
  await repo.write('said', String(byHand));
  const commit = await repo.commitAll(`Phase 1: One\n\n${body}`);
  const tasks = names.map((text) => ({ text, done: false, depth: 0 }));
  const blobs = new Blobs();
  const ports = workspacePorts(join(repo.dir, '.home'), blobs);
  const [node] = (await readPlan(repo.dir, '010_demo.md')).tree.phases;
  const about = {
    workspace: repo.dir,
    commit: byHand ? null : commit,
    skipped: [],
    verification: null,
  };
  return unfinishedOf(ports, about, { root: repo.dir, tasks: tasksOf(node!), asked: tasks });
};

test('tasks that the message names, and those whose file is nowhere', async () => {
  const names = [
    'Create `src/deep/there.js`',
    'Add `there.js`',
    'Create `src/gone.js`',
    'Tests',
    'Read `else.js`',
  ];
  const lines = names.map((text) => `- [ ] ${text}`);
  expect(await undone(names, lines, 'Not done: task 4: no room\n')).toEqual([
    { text: 'Create `src/gone.js`', why: 'src/gone.js is not there' },
    { text: 'Tests', why: 'no room' },
  ]);
  // Done by hand, there is no commit that could say otherwise.
  expect(await undone(names, lines, '\n', true)).toEqual([]);
});

test('tasks that a person wrote or changed while the phase ran; the others by the number that they had', async () => {
  const now = [
    '- [ ] Written since',
    '- [x] Done since',
    '- [ ] One, reworded',
    '- [ ] Two',
    '  - [ ] Under',
    '- [ ] Three',
  ];
  expect(await undone(['One', 'Two', 'Three'], now, 'Not done: task 3: no room\n')).toEqual([
    { text: 'Written since', why: 'it was written while the phase ran' },
    { text: 'One, reworded', why: 'it was written while the phase ran' },
    { text: 'Two', why: 'a task under it is not done' },
    { text: 'Under', why: 'it was written while the phase ran' },
    { text: 'Three', why: 'no room' },
  ]);
});
