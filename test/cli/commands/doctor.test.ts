/** What `emend doctor` says of the sandbox: it is tried for real, and what is missing is named. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { examine } from '../../../src/cli/commands/doctor.js';
import { found as bubblewrap, whyNone } from '../../support/box-users.js';
import { testIf } from '../../support/skipped.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'emend-doctor-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});
const sandboxBy = async (bwrap: string) => {
  const env = { ...process.env, EMEND_BWRAP: bwrap, EMEND_HOME: join(dir, 'home') };
  const checks = await examine({
    ...env,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    EMEND_CONNECT_MS: '100',
  });
  return checks.find(({ name }) => name === 'sandbox');
};
const ADVICE =
  'Install bubblewrap 0.11 or newer, and allow unprivileged user namespaces (docs/sandbox.md).';

testIf(bubblewrap.works, whyNone)('a sandbox that works', async () => {
  const told = await sandboxBy(bubblewrap.works ? bubblewrap.path : '');
  expect(told).toMatchObject({ ok: true });
  expect(told?.found).toMatch(/^bubblewrap \d+\.\d+\S* at \//);
  expect(told?.found.includes('as root')).toBe(process.getuid?.() === 0);
});

test.each([
  ['that is not there', null, 'does not exist'],
  ['that is too old', 'echo "bubblewrap 0.8.0"', 'is version 0.8.0; at least 0.11 is needed'],
  [
    'that may make no namespace',
    '[ "$1" = --version ] && echo "bubblewrap 0.11.0" || { echo "bwrap: setting up uid map: Permission denied" >&2; exit 1; }',
    'does not work here: bwrap: setting up uid map: Permission denied',
  ],
])('bubblewrap %s', async (_, script, says) => {
  const path = join(dir, 'bwrap');
  if (script !== null) writeFileSync(path, `#!/bin/sh\n${script}\n`);
  if (script !== null) chmodSync(path, 0o755);
  expect(await sandboxBy(path)).toMatchObject({ ok: false, found: `${path} ${says}`, fix: ADVICE });
});
