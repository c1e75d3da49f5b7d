/** `emend show RUN --blob`: bytes that a warning names, byte for byte, without a server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../../src/cli/main.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { hostId } from '../../../src/stores/home.js';
import { storePaths } from '../../../src/stores/location.js';
import type { BlobRef } from '../../../src/shared/ids.js';
import { fakeIo } from '../io.js';

let dir: string;
let ref: BlobRef;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'emend blob '));
  await hostId(join(dir, 'home'));
  const { blobs } = storePaths(join(dir, 'home'));
  ref = await createBlobStore({ dir: blobs }).put(Buffer.from('caf\xe9\r\n\u001b[31m', 'latin1'));
});
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

const typed = async (args: readonly string[], isTty = false) => {
  const env = {
    EMEND_HOME: join(dir, 'home'),
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    EMEND_CONNECT_MS: '300',
    HOME: dir,
  };
  const io = fakeIo({ cwd: dir, env, isTty });
  return { exit: await main(['show', 'abcd', '--blob', ...args], io), ...io.printed };
};

test('a file gets every byte, a terminal nothing that moves its cursor', async () => {
  expect(await typed([ref])).toEqual({ exit: 0, out: 'caf\xe9\r\n\u001b[31m', err: '' });
  expect((await typed([ref], true)).out).toContain('\\x1b[31m');
});

test('what is no hash is a mistake of the command line, one that is not there is named', async () => {
  expect(await typed(['sha256:12'])).toMatchObject({
    exit: 2,
    err: expect.stringContaining('64 hex digits'),
  });
  const absent = `sha256:${'0'.repeat(64)}`;
  expect(await typed([absent])).toMatchObject({
    exit: 1,
    err: expect.stringMatching(`${absent} is not at .*\n  .*if a run waits because of it`),
  });
  expect(await typed([ref, '--tests'])).toMatchObject({ exit: 2 });
});
