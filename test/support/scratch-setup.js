/**
 * Puts what the tests of one run write to the temporary directory into one directory, and removes it when jest ends. Under `npm test`
 * scripts/test.js has done so already. Sets TMPDIR and EMEND_TEST_RUN, which jest's workers inherit.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default function setUp() {
  if (process.env.EMEND_TEST_RUN !== undefined) return;
  const scratch = mkdtempSync(join(tmpdir(), 'emend-test-'));
  chmodSync(scratch, 0o1777); // Like /tmp, because some tests run programs as another user.
  process.env.TMPDIR = scratch;
  process.env.EMEND_TEST_RUN = scratch;
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 }));
}
