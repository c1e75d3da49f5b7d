/** Where control groups are made. The kernel's part is in limits.test.ts; a machine has one version only, so here is a tree of plain files. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { findPlaces } from '../../../src/workspace/commands/cgroup.js';

let tree: string;
beforeEach(() => {
  tree = mkdtempSync('/tmp/emend-cgroup-');
});
afterEach(() => {
  rmSync(tree, { recursive: true, force: true });
});

const put = (path: string, text: string): void => {
  mkdirSync(join(tree, path, '..'), { recursive: true });
  writeFileSync(join(tree, path), text);
};
const source = (own: string, root = '/') => ({
  groups: `0::${own}\n`,
  mounts: `35 24 0:30 ${root} ${tree} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n`,
});

test('version 2: in the group above the own one, with its controllers enabled', async () => {
  put('user.slice/worker.service/main/cgroup.procs', '1\n');
  put('user.slice/worker.service/cgroup.controllers', 'cpu memory pids\n');
  put('user.slice/worker.service/cgroup.subtree_control', '\n');
  expect(await findPlaces(source('/user.slice/worker.service/main'))).toEqual([
    {
      version: 2,
      parent: join(tree, 'user.slice/worker.service'),
      controllers: ['memory', 'pids'],
    },
  ]);
  expect(readFileSync(join(tree, 'user.slice/worker.service/cgroup.subtree_control'), 'utf8')).toBe(
    '+memory +pids',
  );
});

test('version 2: enabled controllers are left as they are, and a mount below the root is followed', async () => {
  put('worker/cgroup.controllers', 'memory pids');
  put('worker/cgroup.subtree_control', 'cpu memory pids');
  expect(await findPlaces(source('/docker/worker/main', '/docker'))).toMatchObject([
    { parent: join(tree, 'worker') },
  ]);
  expect(readFileSync(join(tree, 'worker/cgroup.subtree_control'), 'utf8')).toBe('cpu memory pids');
});

test('the groups of killed workers are removed, those of live ones are not', async () => {
  put('cgroup.controllers', 'memory pids');
  put('cgroup.subtree_control', 'memory pids');
  for (const name of ['emend-999999999-a', `emend-${process.ppid}-b`]) mkdirSync(join(tree, name));
  await findPlaces(source('/main'));
  expect(readdirSync(tree)).not.toContain('emend-999999999-a');
  expect(readdirSync(tree)).toContain(`emend-${process.ppid}-b`);
});

test('without both controllers there is none, and the reason is given', async () => {
  put('cgroup.controllers', 'hugetlb');
  expect(await findPlaces(source('/'))).toMatch(/no hierarchy of control groups has/);
  expect(await findPlaces({ groups: '', mounts: '' })).toMatch(/no hierarchy/);
});

test('a group that is gone is none', async () => {
  put('cgroup.controllers', 'memory pids');
  put('cgroup.subtree_control', 'memory pids');
  const gone = { ...source('/a/b/c'), mounts: source('/').mounts };
  put('a/b/cgroup.controllers', 'memory pids');
  writeFileSync(join(tree, 'a/b/cgroup.subtree_control'), 'memory pids');
  rmSync(join(tree, 'a'), { recursive: true });
  expect(await findPlaces(gone)).toMatch(/no hierarchy/);
});
