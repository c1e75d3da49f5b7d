/** Files beneath a root, which commands fill with links, pipes and what else they like, also while it is read. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  listBeneath,
  readBeneath,
  refusalText,
  removeBeneath,
  replaceBeneath,
  statBeneath,
  withPinned,
  type Found,
  type Way,
} from '../../src/system/beneath.js';
import { writeAll } from '../../src/system/fs.js';
import { testIf } from '../support/skipped.js';
import { whileSwapped } from '../support/swapping.js';

const READ_BYTES = 1_000;
const WAYS: readonly Way[] = process.platform === 'linux' ? ['descriptors', 'paths'] : ['paths'];

let base: string;
let root: string;
let outside: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'emend-beneath-'));
  root = join(base, 'root');
  outside = join(base, 'outside');
  mkdirSync(join(root, 'a', 'b'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(root, 'a', 'b', 'file'), 'inside', { mode: 0o640 });
  writeFileSync(join(outside, 'file'), 'OUTSIDE');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const openFiles = (): number => readdirSync('/proc/self/fd').length;
const reason = (result: Found<unknown>): string =>
  result.ok ? 'ok' : `${result.reason} ${result.path}`;
const put = (text: string) => (fd: number) => writeAll(fd, Buffer.from(text));

describe.each(WAYS)('by %s', (way) => {
  const read = (path: string, max_bytes = READ_BYTES) => readBeneath(root, path, max_bytes, way);

  test('reads a regular file with its mode', async () => {
    const result = await read('a/b/file');
    expect(result.ok && [String(result.value.bytes), result.value.mode]).toEqual(['inside', 0o640]);
  });

  test('reads a hard link and an empty file', async () => {
    linkSync(join(root, 'a/b/file'), join(root, 'hard'));
    writeFileSync(join(root, 'empty'), '');
    expect(reason(await read('hard'))).toBe('ok');
    expect(reason(await read('empty'))).toBe('ok');
  });

  test('refuses a link in any part of the path, and names the part', async () => {
    symlinkSync(join(outside, 'file'), join(root, 'link'));
    symlinkSync(outside, join(root, 'a', 'dir'));
    symlinkSync('b', join(root, 'a', 'near'));
    expect(reason(await read('link'))).toBe('link link');
    expect(reason(await read('a/dir/file'))).toBe('link a/dir');
    expect(reason(await read('a/near/file'))).toBe('link a/near');
    expect(reason(await listBeneath(root, 'a/dir', way))).toBe('link a/dir');
    expect(reason(await statBeneath(root, 'a/dir/file', way))).toBe('link a/dir');
    expect(reason(await removeBeneath(root, 'a/dir/file', way))).toBe('link a/dir');
    expect(
      reason(await replaceBeneath(root, 'a/dir/file', { mode: 0o600, write: put('x') }, way)),
    ).toBe('link a/dir');
    expect(reason(await replaceBeneath(root, 'link', { mode: 0o600, write: put('x') }, way))).toBe(
      'link link',
    );
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('OUTSIDE');
  });

  test('refuses a root that is a link', async () => {
    symlinkSync(root, join(base, 'other'));
    expect(reason(await readBeneath(join(base, 'other'), 'a/b/file', READ_BYTES, way))).toBe(
      'link ',
    );
  });

  test('refuses a pipe without waiting for its writer, a socket, a device and a directory', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    const server = createServer().listen(join(root, 'socket'));
    await once(server, 'listening');
    expect(reason(await read('pipe'))).toBe('not_a_file pipe');
    expect(reason(await read('socket'))).toBe('not_a_file socket');
    expect(reason(await read('a/b'))).toBe('not_a_file a/b');
    expect(reason(await readBeneath('/dev', 'null', READ_BYTES, way))).toBe('not_a_file null');
    expect(reason(await replaceBeneath(root, 'pipe', { mode: 0o600, write: put('x') }, way))).toBe(
      'not_a_file pipe',
    );
    server.close();
  });

  test('refuses paths that lead out of the root, and what is not there', async () => {
    for (const path of ['../outside/file', 'a/../../outside/file', '/etc/passwd', 'a//b', 'a/.'])
      expect(reason(await read(path))).toBe(`outside ${path}`);
    expect(reason(await read(''))).toBe('outside ');
    expect(reason(await read('a/none/file'))).toBe('absent a/none');
    expect(reason(await read('a/b/file/below'))).toBe('not_a_directory a/b/file');
    expect(reason(await read('n'.repeat(300)))).toMatch(/^absent n/);
  });

  test('refuses more bytes than the bound', async () => {
    expect(reason(await read('a/b/file', 6))).toBe('ok');
    expect(reason(await read('a/b/file', 5))).toBe('too_large a/b/file');
    expect(reason(await readBeneath(`/proc/${process.pid}`, 'status', 50, way))).toBe(
      'too_large status',
    );
  });

  test('lists, describes and removes', async () => {
    symlinkSync(outside, join(root, 'a', 'z'));
    const listed = await listBeneath(root, 'a', way);
    expect(listed.ok && listed.value).toEqual(['b', 'z']);
    const stat = await statBeneath(root, 'a/z', way);
    expect(stat.ok && stat.value.isSymbolicLink()).toBe(true);
    for (const path of ['a/z', 'a/b/file', 'a/b'])
      expect(await removeBeneath(root, path, way)).toEqual({ ok: true, value: true });
    expect(await removeBeneath(root, 'a/b', way)).toEqual({ ok: true, value: false });
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('OUTSIDE');
  });

  test('writes a file with its mode, makes its directories, and leaves nothing of a failed write', async () => {
    expect(
      await replaceBeneath(root, 'new/deep/file', { mode: 0o754, write: put('new') }, way),
    ).toMatchObject({
      ok: true,
    });
    expect(statSync(join(root, 'new/deep/file')).mode & 0o777).toBe(0o754);
    expect(
      await replaceBeneath(root, 'a/b/file', { mode: 0o600, write: put('other') }, way),
    ).toMatchObject({
      ok: true,
    });
    expect(readFileSync(join(root, 'a/b/file'), 'utf8')).toBe('other');
    const failing = replaceBeneath(
      root,
      'a/b/file',
      { mode: 0o600, write: () => Promise.reject(new Error('full')) },
      way,
    );
    await expect(failing).rejects.toThrow('full');
    expect(readdirSync(join(root, 'a/b'))).toEqual(['file']);
  });

  testIf(process.platform === 'linux', 'counts descriptors by /proc')(
    'leaves no file open, whatever was refused',
    async () => {
      symlinkSync(outside, join(root, 'a', 'dir'));
      execFileSync('mkfifo', [join(root, 'pipe')]);
      const before = openFiles();
      for (const path of ['a/b/file', 'a/dir/file', 'pipe', 'a/none', '../x', 'a/b'])
        await read(path, 5);
      await replaceBeneath(root, 'a/dir/file', { mode: 0o600, write: put('x') }, way);
      expect(openFiles()).toBe(before);
    },
  );
});

describe('while another process swaps a directory for a link and back', () => {
  testIf(process.platform === 'linux', 'needs /proc')(
    'reads only what is beneath the root',
    async () => {
      const outcomes = await whileSwapped(join(root, 'a', 'b'), outside, async () => {
        const result = await readBeneath(root, 'a/b/file', READ_BYTES);
        return result.ok ? String(result.value.bytes) : result.reason;
      });
      expect([...outcomes.keys()].sort()).toEqual(['absent', 'inside', 'link']);
    },
  );

  testIf(process.platform === 'linux', 'needs /proc')(
    'writes and removes only beneath the root',
    async () => {
      writeFileSync(join(outside, 'kept'), '');
      const outcomes = await whileSwapped(join(root, 'a', 'b'), outside, async () => {
        const written = await replaceBeneath(root, 'a/b/made', { mode: 0o600, write: put('made') });
        const removed = await removeBeneath(root, 'a/b/kept');
        return `${reason(written)}, ${reason(removed)}`;
      });
      expect(readdirSync(outside).sort()).toEqual(['file', 'kept']);
      expect(outcomes.get('ok, ok')).toBeGreaterThan(0);
      expect([...outcomes.keys()].join()).toMatch('link');
    },
  );
});

testIf(process.platform === 'linux', 'needs O_PATH')(
  'pins what is at a path without a right to read it',
  async () => {
    symlinkSync(outside, join(root, 'link'));
    chmodSync(join(root, 'a'), 0o711);
    const pin = (path: string) =>
      withPinned(root, path, ({ fd, stat }) =>
        Promise.resolve({
          ok: true,
          value: [stat.isDirectory(), readdirSync(`/proc/self/fd/${fd}`)],
        } as const),
      );
    expect(await pin('a')).toEqual({ ok: true, value: [true, ['b']] });
    expect(reason(await pin('link'))).toBe('link link');
  },
);

test('gives each refusal in words', () => {
  expect(refusalText({ ok: false, reason: 'link', path: 'a/b' })).toBe('a/b is a symbolic link');
  expect(refusalText({ ok: false, reason: 'absent', path: '' })).toBe('the root does not exist');
});
