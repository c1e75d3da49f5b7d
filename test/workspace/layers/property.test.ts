/**
 * Nothing that commands do changes the workspace, except at paths of `sandbox.write`; and no command sees what an earlier one wrote, except
 * what git ignores outside dependency folders. Random scenarios, as root and as an ordinary user. A seed brings one back: EMEND_SEED=<n>.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sha256 } from '../../../src/system/hash.js';
import { removeTree } from '../../../src/workspace/layers/index.js';
import { boxUsers, endBoxUsers, found, whyNone, type BoxUser } from '../../support/box-users.js';
import { drawn, seed } from '../../support/seeded.js';
import { describeIf } from '../../support/skipped.js';
import { transpile } from '../../support/transpile.js';
import type { Observation } from './property-child.js';
import { FILES, OTHERS, scenarioFrom, type Scenario } from './scenarios.js';

const SCENARIOS = drawn(8, 120);

/** Lists everything below a directory, also git's own files: mode, owner, times, and bytes or target. */
function listing(root: string): readonly string[] {
  const lines: string[] = [];
  const visit = (path: string): void => {
    const stat = lstatSync(join(root, path), { bigint: true });
    const { mode, uid, gid, ino, mtimeNs, ctimeNs } = stat;
    const bytes = stat.isFile() ? sha256(readFileSync(join(root, path))) : '';
    const target = stat.isSymbolicLink() ? readlinkSync(join(root, path)) : '';
    const facts = [mode.toString(8), uid, gid, ino, mtimeNs, ctimeNs, bytes, target];
    lines.push([path, ...facts].join(' '));
    if (!stat.isDirectory()) return;
    for (const name of readdirSync(join(root, path)).sort()) visit(join(path, name));
  };
  visit('.');
  return lines;
}

interface World {
  readonly user: BoxUser;
  readonly base: string;
  readonly workspace: string;
  readonly child: ChildProcess;
  readonly answers: AsyncIterator<string>;
}

const status = (workspace: string, ...more: string[]): string =>
  execFileSync('git', ['-c', `safe.directory=${workspace}`, 'status', '--porcelain', ...more], {
    cwd: workspace,
    encoding: 'utf8',
    env: { ...process.env, GIT_OPTIONAL_LOCKS: '0', GIT_CONFIG_GLOBAL: '/dev/null' },
  });

function makeRepository(workspace: string): void {
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
  };
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t', ...args], { cwd: workspace });
  for (const [path, text] of Object.entries(FILES)) put(path, text);
  chmodSync(join(workspace, 'run.sh'), 0o755);
  symlinkSync('a.txt', join(workspace, 'link'));
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-qm', 'base');
  for (const [path, text] of Object.entries(OTHERS)) put(path, text);
  for (const path of ['node_modules/.bin/tool', '.venv/bin/git'])
    chmodSync(join(workspace, path), 0o755);
  put('a.txt', 'changed\n');
  git('init', '-q', 'nested');
}

function makeWorld(user: BoxUser, script: string): World {
  const base = realpathSync(mkdtempSync('/tmp/emend-property-'));
  const workspace = join(base, 'workspace');
  for (const name of ['workspace', 'home', 'own']) mkdirSync(join(base, name));
  makeRepository(workspace);
  execFileSync('chown', ['-R', String(user.uid), base]);
  chmodSync(base, 0o755);
  const argv = [...user.as, process.execPath, script, join(base, 'home'), workspace];
  const child = spawn(argv[0] ?? '', argv.slice(1), {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      HOME: join(base, 'own'),
      TMPDIR: '/tmp',
      EMEND_BWRAP: user.ownBubblewrap,
    },
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { user, base, workspace, child, answers };
}

/** Lines of `git status` about other files than those of the proposal and of `sandbox.write`. */
const about = (text: string, { proposal }: Scenario): readonly string[] =>
  text.split('\n').filter((line) => !(line.slice(3) in proposal) && line !== '?? report');

describeIf(found.works, whyNone)('no command', () => {
  const worlds: World[] = [];
  let program: ReturnType<typeof transpile>;
  beforeAll(async () => {
    program = transpile('property', 'test/workspace/layers/property-child.ts');
    for (const user of await boxUsers()) worlds.push(makeWorld(user, program.path));
  }, 60_000);
  afterAll(async () => {
    for (const { child, base } of worlds) {
      child.stdin?.end();
      if (child.exitCode === null) await once(child, 'exit');
      await removeTree(base);
    }
    program.remove();
    await endBoxUsers();
  });

  const observe = async ({ child, answers, user }: World, scenario: Scenario) => {
    child.stdin?.write(`${JSON.stringify(scenario)}\n`);
    const line = await answers.next();
    if (line.done === true) throw new Error(`the process of ${user.name} ended`);
    return JSON.parse(line.value) as Observation;
  };

  const check = async (world: World, scenario: Scenario): Promise<void> => {
    const { workspace, user } = world;
    const name = `EMEND_SEED=${scenario.seed} as ${user.name}`;
    const dependencies = execFileSync(
      'sh',
      ['-c', 'find node_modules .venv -type f -exec sha256sum {} + | LC_ALL=C sort'],
      { cwd: workspace, encoding: 'utf8' },
    );
    const [files, ignored] = [listing(workspace), status(workspace, '--ignored')];
    const seen = await observe(world, scenario);
    const report = listing(workspace).filter((line) => /^report[/ ]/.test(line));
    expect([name, seen.error]).toEqual([name, null]);
    // Directories and regular files without setuid bits.
    const odd = report.filter((line) => !/ (40|100)[0-7]{3} \d+ \d+ \d+ /.test(line));
    expect([name, odd]).toEqual([name, []]);
    if (seen.written.length > 0) {
      rmSync(join(workspace, 'report'), { recursive: true, force: true });
      // Only the directory above `report` has another time.
      const rest = (lines: readonly string[]) => lines.filter((line) => !line.startsWith('. '));
      expect([name, rest(listing(workspace))]).toEqual([name, rest(files)]);
    } else expect([name, listing(workspace)]).toEqual([name, files]);
    expect([name, status(workspace, '--ignored')]).toEqual([name, ignored]);
    const expected = about(status(workspace, '--untracked-files=all'), scenario);
    expect([name, about(seen.status, scenario)]).toEqual([name, expected]);
    expect([name, seen.dependencies]).toEqual([name, dependencies]);
    expect([name, seen.remaining.filter((entry) => entry !== 'warm'), seen.remainingAtEnd]).toEqual(
      [name, [], []],
    );
  };

  test('hides what it left in directories of mode 000', async () => {
    const command = 'mkdir -p closed/in; echo 1 > closed/in/one.txt; chmod 000 closed/in closed';
    for (const world of worlds) {
      const seen = await observe(world, { seed: -1, proposal: {}, commands: [command] });
      expect([world.user.name, seen.error, seen.changed]).toEqual([
        world.user.name,
        null,
        ['closed/in/one.txt'],
      ]);
    }
  });

  test(`changes the workspace, or what later commands see of it (${SCENARIOS} scenarios)`, async () => {
    process.stdout.write(`scenarios: seed ${seed}, ${SCENARIOS} for each user\n`);
    for (let number = 0; number < SCENARIOS; number++)
      await Promise.all(worlds.map((world) => check(world, scenarioFrom(seed + number))));
  }, 600_000);
});
