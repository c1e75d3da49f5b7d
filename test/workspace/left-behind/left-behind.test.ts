/**
 * Files that a hook or a formatter leaves for Emend: the command may replace each by a link to a file that only Emend can reach. Rows are
 * named after the adversary's (B7 to B9). Each runs as root and as an ordinary user, on an overlay and without one.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { sampled } from '../../support/seeded.js';
import { describeIf } from '../../support/skipped.js';
import { transpile } from '../../support/transpile.js';
import { boxUsers, endBoxUsers, found, whyNone, type BoxUser } from '../../support/box-users.js';
import { isolateGit, Repo } from '../git-fixture.js';
import type { LeftBehindTask } from './child.js';

isolateGit();

const SECRET = 'a key that no command may see';

interface Outcome {
  readonly outcome: string;
  readonly text?: string;
  readonly problem?: { readonly code: string; readonly message: string };
}
interface Attempt {
  /** What pre-commit and commit-msg do, with `$KEY`, a hidden file, and `$OUT`, a hidden directory. */
  readonly hooks?: Readonly<Record<string, string>>;
  /** A formatter with the same names; absent: a commit. */
  readonly formatter?: string;
}

describeIf(found.works, whyNone)('what a command leaves for Emend', () => {
  let child: ReturnType<typeof transpile>;
  let users: readonly BoxUser[] = [];
  const bases: string[] = [];
  beforeAll(async () => {
    child = transpile('left-behind', 'test/workspace/left-behind/child.ts');
    users = sampled('users of what is left behind', await boxUsers(), 1);
  });
  afterEach(async () => {
    for (const base of bases.splice(0)) await rm(base, { recursive: true, force: true });
  });
  afterAll(async () => {
    child.remove();
    await endBoxUsers();
  });

  /** Makes a repository with an applied change in a.js and what its hooks name. */
  const repository = async (base: string, hooks: Attempt['hooks'] = {}) => {
    await mkdir(join(base, 'ws'), { recursive: true });
    for (const name of ['outside', 'emend', 'person']) await mkdir(join(base, name));
    await writeFile(join(base, 'person/key'), SECRET);
    const repo = await Repo.make({ dir: join(base, 'ws') });
    await repo.write('a.js', 'old\n');
    await repo.commitAll();
    await repo.write('a.js', 'new\n');
    for (const [name, lines] of Object.entries(hooks)) {
      const begin = `#!/bin/sh\nKEY=${base}/person/key\nOUT=${base}/outside\n`;
      await repo.write(`.git/hooks/${name}`, `${begin}${lines}\n`, 0o755);
    }
  };

  /** Returns for each user what came of the attempt, on an overlay and without one. */
  const tried = async ({ hooks, formatter }: Attempt) => {
    const rows = [];
    for (const user of users) {
      const base = await realpath(await mkdtemp('/tmp/emend-left-'));
      bases.push(base);
      await mkdir(join(base, 'tmp'));
      const places = ['overlay', 'none'].map((name) => join(base, name));
      for (const place of places) await repository(place, hooks);
      execFileSync('chown', ['-R', `${user.uid}:${user.uid}`, base]);
      await chmod(base, 0o755);
      const tasks = places.map((place): LeftBehindTask => ({
        home: join(place, 'emend'),
        workspace: join(place, 'ws'),
        formatCommand: formatter?.replace('$KEY', join(place, 'person/key')) ?? null,
        hasOverlay: place.endsWith('overlay'),
      }));
      const [program, ...args] = [...user.as, process.execPath, child.path, JSON.stringify(tasks)];
      const env = {
        ...process.env,
        HOME: join(base, 'person'),
        TMPDIR: join(base, 'tmp'),
        EMEND_BWRAP: user.ownBubblewrap,
      };
      const options = { env, cwd: '/' };
      const ran = await promisify(execFile)(program, args, options);
      for (const [index, outcome] of (JSON.parse(ran.stdout) as readonly Outcome[]).entries()) {
        const place = places[index] ?? '';
        const hasLayers = existsSync(join(place, 'emend/layers'));
        expect([user.name, hasLayers]).toEqual([user.name, tasks[index]?.hasOverlay]);
        const git = ['-c', 'safe.directory=*', 'log', '-1', '--format=%B'];
        rows.push({
          who: `${user.name}, overlay: ${tasks[index]?.hasOverlay}`,
          outcome,
          message: execFileSync('git', git, { cwd: join(place, 'ws'), encoding: 'utf8' }),
          outside: readdirSync(join(place, 'outside')),
          scratch: readdirSync(join(base, 'tmp')),
        });
      }
    }
    expect(rows).toHaveLength(users.length * 2);
    return rows;
  };
  const nothing = { outside: [], scratch: [] };
  const failed = (code: string, message: string) => ({
    outcome: 'failed',
    problem: { code, message: expect.stringContaining(message) },
  });

  test("B7 a commit-msg hook's link to a hidden file is refused", async () => {
    for (const row of await tried({ hooks: { 'commit-msg': 'ln -sf "$KEY" "$1"' } }))
      expect(row).toMatchObject({
        ...nothing,
        outcome: failed('hook_failed', 'the commit-msg hook left COMMIT_EDITMSG as something'),
        message: 'before\n\n',
      });
  }, 60_000);

  test("B8 a formatter's link to a hidden file is refused", async () => {
    for (const row of await tried({ formatter: 'ln -sf $KEY {file}' })) {
      const message = 'formatCommand removed a.js, or left something other than a regular file';
      expect(row).toMatchObject({ ...nothing, outcome: failed('config_invalid', message) });
      expect(JSON.stringify(row)).not.toContain(SECRET);
    }
  }, 60_000);

  const INDEX = '"$GIT_INDEX_FILE"';
  const OBJECTS = '"$GIT_OBJECT_DIRECTORY"';
  const B9: readonly (readonly [string, string])[] = [
    ['replaces its index by a link', `ln -sf "$OUT/created" ${INDEX}`],
    ['replaces its index by a directory', `rm ${INDEX}; mkdir ${INDEX}`],
    ['removes its index', `rm ${INDEX}`],
    ['closes its index', `chmod 0 ${INDEX}; chmod 0 "$(dirname ${INDEX})"`],
    ['leads its objects elsewhere', `rm -rf ${OBJECTS}; ln -s "$OUT" ${OBJECTS}`],
    ['puts a link among its objects', `ln -s "$OUT" ${OBJECTS}/pack`],
    ['names other objects', `mkdir ${OBJECTS}/info; echo "$OUT" > ${OBJECTS}/info/alternates`],
  ];
  test.each(sampled('rows of B9', B9, 1, B9.slice(0, 1)))(
    'B9 a pre-commit hook %s: nothing is written elsewhere',
    async (_, lines) => {
      for (const row of await tried({ hooks: { 'pre-commit': lines } })) {
        // Modes do not bind root.
        const isHeld = !lines.includes('chmod') || !row.who.startsWith('root');
        const outcome = isHeld ? failed('hook_failed', 'the pre-commit hook ') : {};
        const message = isHeld ? { message: 'before\n\n' } : {};
        expect(row).toMatchObject({ ...nothing, outcome, ...message });
      }
    },
    60_000,
  );

  test('a link that a pre-commit hook puts where the message is written is not followed', async () => {
    const lines = `ln -s "$OUT/created" "$(dirname ${INDEX})/COMMIT_EDITMSG"`;
    for (const row of await tried({ hooks: { 'pre-commit': lines, 'commit-msg': 'exit 0' } }))
      expect(row).toMatchObject({ ...nothing, outcome: { outcome: 'committed' } });
  }, 60_000);

  test('directories that a failing hook leaves closed are removed', async () => {
    const lines = `mkdir -p ${OBJECTS}/zz/y; chmod 0 ${OBJECTS}/zz; exit 1`;
    for (const row of await tried({ hooks: { 'pre-commit': lines } }))
      expect(row).toMatchObject({ ...nothing, outcome: failed('hook_failed', 'ended with 1') });
  }, 60_000);
});
