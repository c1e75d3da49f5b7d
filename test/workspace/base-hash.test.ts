/** The hash of the files under a proposal. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { hashOfBase } from '../../src/workspace/base-hash.js';
import { isolateGit } from './git-fixture.js';

isolateGit();

const NOBODY = 65_534;

let dir: string;
beforeEach(() => {
  // Not in TMPDIR: another user must be able to go there.
  dir = realpathSync(mkdtempSync('/tmp/emend-base-'));
  chmodSync(dir, 0o755);
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** Does the work as a user who may not read every file. */
async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  const { getuid, seteuid } = process;
  if (getuid?.() !== 0 || seteuid === undefined) return work();
  seteuid(NOBODY);
  try {
    return await work();
  } finally {
    seteuid(0);
  }
}

test('leaves out the content of a file that the worker may not read, as commands may not read it either', async () => {
  mkdirSync(join(dir, 'src'));
  writeFileSync(join(dir, 'src/a.js'), 'a\n');
  writeFileSync(join(dir, 'closed'), 'secret\n', { mode: 0 });
  const hash = () => asOrdinaryUser(() => hashOfBase(dir, () => false));
  const first = await hash();
  expect(first).toMatch(/^[0-9a-f]{64}$/);
  writeFileSync(join(dir, 'src/a.js'), 'b\n');
  expect(await hash()).not.toBe(first);
});
