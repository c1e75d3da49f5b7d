/** The formatter on an overlay, and on a scratch copy where there is none: what it makes of the proposal's files, and of anything else. */
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ActivityScope } from '../../../src/activities/frame/activity.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import type { FileChange } from '../../../src/activities/step/accepted.js';
import { formatted } from '../../../src/activities/step/format.js';
import type { Snapshot } from '../../../src/activities/step/snapshot.js';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { describeIf } from '../../support/skipped.js';
import { found, whyNone } from '../../support/box-users.js';
import { workspacePorts } from '../../support/workspace-ports.js';
import { Blobs } from '../../workspace/git-fixture.js';

let base: string;
let blobs: Blobs;
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'emend-format-test-')));
  blobs = new Blobs();
  for (const dir of ['home', 'ws/src']) await mkdir(join(base, dir), { recursive: true });
  await writeFile(join(base, 'ws/src/a.js'), 'base\n');
  await writeFile(join(base, 'ws/end'), ';');
  // A workspace may be reached by a link.
  await symlink('ws', join(base, 'link'));
});
afterEach(() => rm(base, { recursive: true, force: true }));

type Place = 'overlay' | 'no overlay' | 'no sandbox';

const change = (path: string, text: string | null, mode = 0o644): FileChange =>
  ({
    ...blobs.file(path, null, text, [0o644, mode]),
    by: 'model',
  }) as unknown as FileChange;

/** Returns the texts and modes of the files after the formatter. */
const format = async (place: Place, command: string, changes: readonly FileChange[]) => {
  const ports = workspacePorts(join(base, 'home'), blobs);
  const problem = () => Promise.resolve('there is none in this test');
  const layers = place === 'overlay' ? ports.layers : { ...ports.layers, problem };
  const sandbox = place === 'no sandbox' ? 'off' : SANDBOX_ON;
  const config = { formatCommand: command, env: [], sandbox, protected: [] };
  const snapshot = {
    targets: [],
    stepKey: 'step',
    workspace: join(base, 'link'),
    config,
  } as unknown as Snapshot;
  const result = await formatted(
    { ...ports, layers } as unknown as ActivityPorts,
    { snapshot, changes, sandbox: undefined },
    { signal: new AbortController().signal } as ActivityScope,
  );
  if ('outcome' in result) throw new Error(result.why);
  return Promise.all(
    result.changes.map(async ({ path, result: file }) =>
      file === null
        ? [path, null]
        : [path, Buffer.from(await blobs.get(file.ref)).toString(), file.mode & 0o777],
    ),
  );
};

const inWorkspace = async () => ({
  entries: (await readdir(join(base, 'ws'), { recursive: true })).sort(),
  text: await readFile(join(base, 'ws/src/a.js'), 'utf8'),
  mode: (await lstat(join(base, 'ws/src/a.js'))).mode & 0o777,
});

const suite = (place: Place): void => {
  test('formats new and changed files in one call and in several, and keeps their modes', async () => {
    const changes = [
      change('src/a.js', 'a\n', 0o755),
      change('new/b c.js', 'b\n'),
      change('src/gone.js', null),
    ];
    const before = await inWorkspace();
    for (const files of ['{file}', '{files}'])
      expect(
        await format(place, `sed -i "s/$/$(cat end)/" ${files} && chmod 700 ${files}`, changes),
      ).toEqual([
        ['src/a.js', 'a;\n', 0o755],
        ['new/b c.js', 'b;\n', 0o644],
        ['src/gone.js', null],
      ]);
    expect(await inWorkspace()).toEqual(before);
  });

  test('leaves a file as proposed that it does not write, or writes by a rename', async () => {
    const changes = [change('src/a.js', 'a\n'), change('src/b.js', 'b\n')];
    const command = 'f={file}; case $f in *b.js) echo B > "$f.new" && mv "$f.new" "$f";; esac';
    expect(await format(place, command, changes)).toEqual([
      ['src/a.js', 'a\n', 0o644],
      ['src/b.js', 'B\n', 0o644],
    ]);
  });

  test.each([
    ['removes the file', 'rm {file}'],
    ['replaces it by a directory', 'rm {file}; mkdir {file}'],
    ['replaces it by a link', 'ln -sf /etc/hostname {file}'],
    ['replaces it by a pipe', 'rm {file}; mkfifo {file}'],
    ['replaces its directory by a link', 'd=$(dirname {file}); rm -r "$d"; ln -s /etc "$d"'],
  ])('is refused if it %s', async (_, command) => {
    await expect(format(place, command, [change('src/a.js', 'a\n')])).rejects.toMatchObject({
      problem: {
        code: 'config_invalid',
        message: expect.stringContaining('formatCommand removed src/a.js, or left something other'),
      },
    });
  });

  test('names the files and the output of a command that fails', async () => {
    const changes = [change('src/a.js', 'a\n'), change('src/b.js', 'b\n')];
    await expect(format(place, 'echo no; exit 3; : {files}', changes)).rejects.toMatchObject({
      problem: { message: 'formatCommand failed for src/a.js, src/b.js: no\n' },
    });
  });
};

describeIf(found.works, whyNone)('on an overlay', () => {
  suite('overlay');

  test('drops what it writes elsewhere, and sees the proposal at the file’s own path', async () => {
    const before = await inWorkspace();
    const command = 'cat src/a.js > copy; rm end; echo x > src/b.js; cat copy copy > {file}';
    expect(await format('overlay', command, [change('src/a.js', 'a\n')])).toEqual([
      ['src/a.js', 'a\na\n', 0o644],
    ]);
    expect(await inWorkspace()).toEqual(before);
    expect(await readdir(join(base, 'home/layers'))).toEqual([]);
  });
});
describeIf(found.works, whyNone)('in a sandbox without an overlay', () => {
  suite('no overlay');

  test('cannot write the workspace, which is read-only for it', async () => {
    const before = await inWorkspace();
    const command = 'echo x > src/b.js; rm end; echo f > {file}';
    expect(await format('no overlay', command, [change('src/a.js', 'a\n')])).toEqual([
      ['src/a.js', 'f\n', 0o644],
    ]);
    expect(await inWorkspace()).toEqual(before);
  });
});
describe('without a sandbox', () => suite('no sandbox'));
