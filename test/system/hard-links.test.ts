/** Attacks 53 and 150h: by a hard link, a file outside every workspace is also a file of one. */
import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sharedFault } from '../../src/system/hard-links.js';
import { learnWorkspace } from '../../src/system/programs.js';

let base: string;
let workspace: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync('/tmp/emend-hard-links-'));
  workspace = join(base, 'ws');
  for (const path of ['ws/env/bin', 'ws/.git/objects', 'bin', 'libexec/git-core', 'packages'])
    mkdirSync(join(base, path), { recursive: true });
  writeFileSync(join(base, 'bin/git'), '#!/bin/sh\n');
  learnWorkspace(workspace);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));
const link = (to: string): void => linkSync(join(base, 'bin/git'), join(base, to));
const fault = (maxEntries?: number): string | null =>
  sharedFault(join(base, 'bin/git'), maxEntries);

test('a file with one name is not shared', () => expect(fault()).toBeNull());

test('names the file in the workspace, also if the link was made after the first look', () => {
  link('packages/git');
  expect(fault()).toBeNull();
  link('ws/env/bin/git');
  expect(fault()).toBe(
    `it is also ${workspace}/env/bin/git, by a hard link, in the workspace ${workspace}. Replace it by a copy`,
  );
  rmSync(join(workspace, 'env/bin/git'));
  expect(fault()).toBeNull();
});

test('links of a package manager and of git itself are no fault', () => {
  link('packages/git');
  link('bin/git-receive-pack');
  link('libexec/git-core/git');
  expect(fault()).toBeNull();
});

test('a workspace with too many files is searched only if the names are not nearby', () => {
  for (let index = 0; index < 10; index += 1) writeFileSync(join(workspace, String(index)), '');
  link('libexec/git-core/git');
  expect(fault(5)).toBeNull();
  link('packages/git');
  expect(fault(5)).toMatch(/^it has 3 names .* too many files/);
});

test('what is in the git directory cannot be written by a command', () => {
  link('ws/.git/objects/git');
  expect(fault()).toBeNull();
});
