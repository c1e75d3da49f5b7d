/** A named pipe, a socket, a device, a directory or too many bytes are in the place of a file. Nothing waits for them. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { projectConfig } from '../../src/activities/step/snapshot.js';
import { readConfig } from '../../src/workspace/documents/index.js';
import { jobOfSentence } from '../../src/cli/sentence.js';
import { fakeIo } from '../cli/io.js';
import { readPolicy, notifyCommand } from '../../src/cli/headless/approve.js';
import { readJobFile } from '../../src/workspace/documents/read-job.js';
import { readScript } from '../../src/model/rehearsal/script.js';
import { readPlan } from '../../src/workspace/documents/read-plan.js';
import { ProblemError } from '../../src/shared/problems.js';
import { look } from '../../src/workspace/apply/sides.js';
import { discoverTests } from '../../src/workspace/commands/discover.js';
import {
  eolsForNewFiles,
  inspectTarget,
  listWorkspaceFiles,
} from '../../src/workspace/files/index.js';
import { readGiven, readGivenSync } from '../../src/system/given-file.js';
import { realSys } from '../../src/system/sys.js';

let dir: string;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend given-')));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const pathOf = (path: string): string => {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  return join(dir, path);
};
const pipe = (path: string): string => {
  execFileSync('mkfifo', [pathOf(path)]);
  return join(dir, path);
};

/** Returns the result or the error of `work`, or that it waits. It opens the pipes at the end, so that no reader waits after the test. */
const outcomeOf = async (work: () => unknown, pipes: readonly string[]): Promise<string> => {
  const waited = new Promise<string>((resolve) =>
    setTimeout(() => resolve('it waits'), 3_000).unref(),
  );
  const done = (async () => JSON.stringify(await work()))().catch((error: unknown) =>
    error instanceof ProblemError
      ? `${error.problem.code}: ${error.problem.message}`
      : String(error),
  );
  const first = await Promise.race([done, waited]);
  for (const pipe of pipes) closeSync(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK));
  return first;
};

const readByWorker = () =>
  projectConfig({ workspace: { root: () => Promise.resolve(dir) } } as never, dir);

describe('a named pipe in place of', () => {
  const JOB = '---\ntarget_files: [a.txt]\n---\n# Do it\n';
  const cases: Record<string, readonly [path: string, read: (path: string) => unknown]> = {
    'a job': ['job.md', (path) => readJobFile({ jobPath: path, cwd: dir, workspace: dir })],
    'a plan': ['plan.md', () => readPlan(dir, 'plan.md')],
    'emend.yaml, read by the client': [
      'emend.yaml',
      () => {
        writeFileSync(join(dir, 'job.md'), JOB);
        writeFileSync(join(dir, 'a.txt'), 'a\n');
        return readJobFile({ jobPath: 'job.md', cwd: dir, workspace: dir });
      },
    ],
    'emend.yaml, read by the worker': ['emend.yaml', () => readByWorker()],
    'emend.yaml, read by emend patch': ['emend.yaml', () => readConfig(dir)],
    'package.json': ['package.json', () => discoverTests(dir)],
    'CLAUDE.md beside a plan': [
      'CLAUDE.md',
      () => {
        writeFileSync(join(dir, 'plan.md'), '# Plan\n');
        return readPlan(dir, 'plan.md');
      },
    ],
    '.editorconfig': ['.editorconfig', () => eolsForNewFiles(dir, ['new.txt'], [])],
    '.gitignore': ['.gitignore', () => listWorkspaceFiles(dir)],
    'a policy': ['policy.yaml', (path) => readPolicy(path, dir)],
    'the settings of a person': [
      'emend/config.yaml',
      () => notifyCommand({ env: { XDG_CONFIG_HOME: dir } }),
    ],
    'a rehearsal script': ['script.yaml', (path) => readScript(path)],
    'a target': ['a.txt', () => inspectTarget(dir, 'a.txt', null)],
  };
  test.each(Object.entries(cases))('%s is refused by name', async (_, [path, read]) => {
    const pipePath = pipe(path);
    const what = await outcomeOf(() => read(pipePath), [pipePath]);
    expect(what).toContain(path);
    expect(what).toMatch(/is a named pipe/);
  });

  test('a file beside a new one: it is left out', async () => {
    const pipePath = pipe('beside.txt');
    expect(
      await outcomeOf(
        async () => (await eolsForNewFiles(dir, ['new.txt'], ['beside.txt'])).get('new.txt'),
        [pipePath],
      ),
    ).toBe('"\\n"');
  });
});

const READERS: readonly [string, () => Promise<unknown>][] = [
  ['a job', () => readJobFile({ jobPath: 'job.md', cwd: dir, workspace: null })],
  ['a job in words', () => jobOfSentence(fakeIo({ cwd: dir }), 'Do it', [], {})],
  ['a plan', () => readPlan(dir, 'plan.md')],
  ['emend patch', () => readConfig(dir)],
  ['a worker', () => readByWorker()],
];
test.each(READERS)(
  'emend.yaml in another encoding is refused, not read with other characters: %s',
  async (_, read) => {
    writeFileSync(pathOf('job.md'), '# Words\n\nDo it.\n');
    writeFileSync(pathOf('plan.md'), '# Plan\n');
    writeFileSync(pathOf('emend.yaml'), Buffer.from('test: ./pr\u00fcfe.sh\n', 'latin1'));
    expect(await outcomeOf(read, [])).toMatch(/config_invalid.*emend.yaml is not UTF-8 text/);
  },
);

test.each(READERS)(
  'emend.yaml that is a broken link is config_invalid, not absent: %s',
  async (_, read) => {
    writeFileSync(pathOf('job.md'), '# Words\n\nDo it.\n');
    writeFileSync(pathOf('plan.md'), '# Plan\n');
    symlinkSync('nowhere', pathOf('emend.yaml'));
    expect(await outcomeOf(read, [])).toMatch(/config_invalid.*emend.yaml.*broken symbolic link/);
  },
);

test('the settings of a person that are a broken link are refused too', async () => {
  symlinkSync('nowhere', pathOf('emend/config.yaml'));
  expect(await outcomeOf(() => notifyCommand({ env: { XDG_CONFIG_HOME: dir } }), [])).toContain(
    'broken symbolic link',
  );
});

test('sockets, devices and directories are named too, by both readers', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(dir, 'socket'), resolve));
  symlinkSync('/dev/zero', join(dir, 'zero'));
  mkdirSync(join(dir, 'folder'));
  pipe('pipe');
  const kinds = {
    socket: 'a socket',
    zero: 'a device',
    folder: 'a directory',
    pipe: 'a named pipe',
  };
  for (const [name, kind] of Object.entries(kinds)) {
    const refusal = `target_not_a_file: ${join(dir, name)} is ${kind}, expected a file`;
    expect(await outcomeOf(() => readGiven(join(dir, name)), [])).toBe(refusal);
    expect(await outcomeOf(() => readGivenSync(join(dir, name), 10), [])).toBe(refusal);
  }
  await new Promise((resolve) => server.close(resolve));
});

test('no more is read than is asked for, of a file that says how long it is and of one that does not', async () => {
  writeFileSync(pathOf('ten'), '0123456789');
  expect(String(await readGiven(join(dir, 'ten'), 10))).toBe('0123456789');
  expect(String(readGivenSync(join(dir, 'ten'), 10))).toBe('0123456789');
  expect(String(await readGiven(join(dir, 'ten'), 4, 'cut'))).toBe('0123');
  for (const read of [readGiven, readGivenSync])
    expect(await outcomeOf(() => read(join(dir, 'ten'), 9), [])).toMatch(
      /^target_too_large: .*ten has more than 9 bytes/,
    );
  // A file of the kernel has the size 0.
  expect((await readGiven('/proc/self/status')).length).toBeGreaterThan(100);
  expect(await outcomeOf(() => readGiven('/proc/self/status', 100), [])).toMatch(
    /^target_too_large/,
  );
});

test('a target that has grown beyond every limit is not read into memory', async () => {
  writeFileSync(pathOf('huge'), '');
  truncateSync(join(dir, 'huge'), 600 * 1024 * 1024);
  expect(await look(realSys, join(dir, 'huge'))).toMatchObject({ kind: 'other' });
  rmSync(join(dir, 'huge'));
});
