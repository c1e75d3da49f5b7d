/** A frontend that speaks TLS and asks for certificates (mTLS), reached through Temporal's own client configuration. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openEmend } from '../../src/client/index.js';
import { examine } from '../../src/cli/commands/doctor.js';
import { scene, whole } from '../e2e/support.js';
import { certificates, control, type Certificates } from './support.js';

const LIMIT_MS = 240_000;
let tls: Certificates;
const dir = mkdtempSync(join(tmpdir(), 'emend-tls-'));
beforeAll(async () => {
  await control('stop-temporal');
  await control('start-temporal-tls');
  tls = certificates();
}, LIMIT_MS);
afterAll(async () => {
  rmSync(dir, { recursive: true, force: true });
  await control('stop-temporal');
  await control('start-temporal');
}, LIMIT_MS);

/** As docs/operations.md shows it. */
const profile = (lines: readonly string[]): Record<string, string> => {
  const file = join(dir, 'temporal.toml');
  const head = [
    '[profile.production]',
    `address = "${process.env.EMEND_TEST_ADDRESS!}"`,
    'namespace = "default"',
  ];
  writeFileSync(file, [...head, '[profile.production.tls]', ...lines, ''].join('\n'));
  return { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'production' };
};
const ca = () => [`server_ca_cert_path = "${tls.ca}"`, `server_name = "${tls.serverName}"`];
const pair = () => [`client_cert_path = "${tls.cert}"`, `client_key_path = "${tls.key}"`];
const EDIT = {
  name: 'a',
  match: { contains: '- a.js' },
  answer: whole({ 'a.js': 'module.exports = 2;\n' }),
};
const JOB = '---\ntarget_files: [a.js]\n---\n# Raise it\n\nTwo, please.\n';

test(
  'a run from start to end, client and workers by a profile with CA and certificate; doctor is content',
  async () => {
    const env = profile([...ca(), ...pair()]);
    const s = await scene({ 'a.js': 'module.exports = 1;\n' }, [EDIT], { env });
    try {
      expect(s.emend.runs).not.toBeNull();
      await s.worker();
      const run = await s.start('job.md', JOB);
      expect((await s.settle(run, 90)).status.decision?.reason).toBe('approval');
      await s.answer(run, 'approve');
      expect((await s.end(run, 90)).outcome).toBe('applied');
      const checks = await examine(s.env);
      expect(
        checks.filter(({ name, ok }) => !ok && ['Temporal server', 'worker'].includes(name)),
      ).toEqual([]);
    } finally {
      await s.close();
    }
  },
  LIMIT_MS,
);

test('the same by TEMPORAL_TLS variables', async () => {
  const env = {
    ...process.env,
    EMEND_HOME: join(dir, 'home'),
    TEMPORAL_ADDRESS: process.env.EMEND_TEST_ADDRESS,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: tls.ca,
    TEMPORAL_TLS_SERVER_NAME: tls.serverName,
    TEMPORAL_TLS_CLIENT_CERT_PATH: tls.cert,
    TEMPORAL_TLS_CLIENT_KEY_PATH: tls.key,
  };
  const emend = await openEmend({ env });
  expect(emend.runs).not.toBeNull();
  await emend.close();
});

test.each([
  ['without TLS', () => ({})],
  ['without a certificate of our own', () => profile(ca())],
  ['without the CA', () => profile([`server_name = "${tls.serverName}"`, ...pair()])],
  ['by another name', () => profile([`server_ca_cert_path = "${tls.ca}"`, ...pair()])],
])(
  '%s: no server, with a sentence, in time',
  async (_name, more) => {
    const env = {
      ...process.env,
      EMEND_HOME: join(dir, 'home'),
      TEMPORAL_ADDRESS: process.env.EMEND_TEST_ADDRESS,
    };
    const emend = await openEmend({ env: { ...env, EMEND_CONNECT_MS: '4000', ...more() } });
    expect(emend.runs).toBeNull();
    expect(emend.unreachable).toMatchObject({
      code: 'no_server',
      message: expect.stringMatching(/^No Temporal server at 127/),
    });
    await emend.close();
  },
  60_000,
);
