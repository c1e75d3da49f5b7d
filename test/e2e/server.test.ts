/** The server dies and comes back: what was paused is where it was. A server of its own, on a database file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { startDevServer, type DevServer } from '../../src/temporal/dev-server.js';
import { findTemporalCli } from '../../src/temporal/cli-binary.js';
import { alive } from '../support/alive.js';
import { portsOf, scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
let server: DevServer | null = null;
const dir = mkdtempSync(join(tmpdir(), 'emend-server-'));
afterEach(async () => {
  await open?.close();
  await server?.stop();
  rmSync(dir, { recursive: true, force: true });
});

test('the server is killed and restarted while a step is paused: the approval afterwards counts', async () => {
  const cli = await findTemporalCli({
    env: { ...process.env, EMEND_TEMPORAL_CLI: process.env.EMEND_TEST_CLI },
    log: () => undefined,
  });
  const options = {
    home: dir,
    cli,
    port: 0,
    dbFile: join(dir, 'temporal.db'),
    logFile: join(dir, 'server.log'),
  };
  const first = (server = await startDevServer(options));
  const s = (open = await scene(
    { 'a.js': 'const a = 1;\n' },
    [{ name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) }],
    { address: server.address },
  ));
  await s.worker();
  const run = await s.start(
    'job.md',
    '---\ntarget_files: [a.js]\n---\n# Raise it\n\nTwo, please.\n',
  );
  const paused = await s.settle(run);

  process.kill(server.pid, 'SIGKILL');
  await s.until(() => !alive(server!.pid));
  server = await startDevServer({ ...options, ...portsOf(first) });
  const still = await s.settle(run, 60);
  expect(still.status.decision?.id).toBe(paused.status.decision?.id);
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['a.js'] });
  expect(s.read('a.js')).toBe('const a = 2;\n');
  expect(s.rehearsal.requests()).toHaveLength(1);
});
