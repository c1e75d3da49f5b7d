/** A home on a file system that another machine or a program serves: a real mount, and the real commands. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { runOnFuse, whyNoFuse } from '../support/fuse.js';
import { testIf } from '../support/skipped.js';

const obstacle = whyNoFuse();
const onFuse = testIf(obstacle === null, obstacle ?? '');
let home: string;
beforeAll(() => {
  home = join(realpathSync(mkdtempSync(join(tmpdir(), 'emend-mount-'))), 'home');
  mkdirSync(home, { mode: 0o700 });
});
afterAll(() => rmSync(join(home, '..'), { recursive: true }));

const emend = (type: string, source: string, ...args: readonly string[]) => {
  const env = { ...process.env, EMEND_HOME: home, NODE_OPTIONS: '', EMEND_CONNECT_MS: '2000' };
  const command = [process.execPath, join(process.cwd(), 'dist/client.js'), ...args];
  return runOnFuse({ type, source, point: home }, command, env);
};

onFuse('a command refuses a home on a network, and names type, server and mount', async () => {
  for (const args of [['gc'], ['worker']]) {
    const { code, out, err } = await emend('fuse.sshfs', 'nas:/emend', ...args);
    expect({ args, code }).toEqual({ args, code: 1 });
    expect(`${out}${err}`).toContain(
      `${home} cannot be Emend's home: it is on a network file system: fuse.sshfs (nas:/emend), mounted at ${home}.`,
    );
    expect(`${out}${err}`).toContain('Set EMEND_HOME to a directory on a local disk.');
  }
});

onFuse(
  'emend doctor refuses it also, and only warns of a program that may serve a disk',
  async () => {
    const homeLine = async (type: string) => {
      const { out } = await emend(type, 'share', 'doctor', '--json');
      return (
        JSON.parse(out) as readonly { name: string; ok: boolean; found: string; fix: string }[]
      ).find(({ name }) => name === 'EMEND_HOME');
    };
    expect(await homeLine('fuse.s3fs')).toMatchObject({
      ok: false,
      found: expect.stringContaining(`fuse.s3fs (share), mounted at ${home}`),
    });
    expect(await homeLine('fuse.grpcfuse')).toEqual({
      name: 'EMEND_HOME',
      ok: true,
      found: expect.stringContaining(`(on fuse.grpcfuse (share), mounted at ${home})`),
      fix: 'If that file system is reached over a network, set EMEND_HOME to a directory on a local disk.',
    });
  },
);
