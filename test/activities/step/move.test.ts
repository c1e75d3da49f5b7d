/** What a host says of a directory to which a run is to be moved, on real repositories. */
import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { checkMove } from '../../../src/activities/step/move.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import type { MoveInput } from '../../../src/shared/activities.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { putJson } from '../../../src/stores/ports.js';
import { workspacePorts } from '../../support/workspace-ports.js';
import { isolateGit, Repo } from '../../workspace/git-fixture.js';

isolateGit();

let dir: string;
let repo: Repo;
let commit: string;
let ask: (more?: Partial<MoveInput>) => Promise<string | null>;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-move-')));
  repo = await Repo.make({ dir: await mkdtemp(join(dir, 'work')) });
  await repo.write('a.txt', 'a\n');
  await repo.write('b.txt', 'b\n');
  commit = await repo.commitAll();
  const home = join(dir, 'home');
  const blobs = createBlobStore({ dir: join(home, 'blobs') });
  const base = async (text: string) => ({
    ref: await blobs.put(new TextEncoder().encode(text)),
    mode: 0o644,
  });
  const targets = [
    { path: 'a.txt', base: await base('a\n') },
    { path: 'b.txt', base: await base('b\n') },
    { path: 'new.txt', base: null },
  ];
  const ports = workspacePorts(home, blobs) as unknown as ActivityPorts;
  const snapshot = await putJson(blobs, { targets });
  const whole = {
    stepKey: 'a'.repeat(32),
    log: [],
    workspace: repo.dir,
    snapshot,
    proposal: null,
    commit,
    unreadJob: null,
  };
  ask = async (more = {}) => (await checkMove(ports, { ...whole, ...more }, {} as never)).why;
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test('the same files on the same commit, or on a later one: it fits', async () => {
  expect(await ask()).toBeNull();
  await repo.write('c.txt', 'c\n');
  await repo.commitAll('later');
  expect([await ask(), await ask({ snapshot: null })]).toEqual([null, null]);
});

test('files that differ are named, with what restores them', async () => {
  await repo.write('b.txt', 'mine\n');
  await repo.write('new.txt', 'there already\n');
  expect(await ask()).toBe(
    `2 of 3 files in ${repo.dir} are not as the run read them: b.txt, new.txt. Restore them first: git -C '${repo.dir}' checkout ${commit} -- 'b.txt'`,
  );
});

test('another history, no repository, a link, nothing: refused', async () => {
  const other = '1'.repeat(40);
  expect(await ask({ commit: other })).toMatch(
    `does not hold ${other}, the base of the run. Type: git -C`,
  );
  expect(await ask({ workspace: dir })).toMatch(`The branch of ${dir} does not hold ${commit}`);
  await symlink(repo.dir, join(dir, 'link'));
  for (const name of ['link', 'none'])
    expect(await ask({ workspace: join(dir, name) })).toMatch(
      'is not the real path of a directory of this host',
    );
});

test('a job that the run has not read must be there', async () => {
  const unreadJob = 'jobs/raise.md';
  expect(await ask({ snapshot: null, unreadJob })).toMatch(
    /^The run has not read its job yet, and cannot read it in .*jobs\/raise\.md.* Copy the file there first\.$/s,
  );
  await repo.write(unreadJob, '# Raise\n\nRaise it.\n');
  expect(await ask({ snapshot: null, unreadJob })).toBeNull();
});
