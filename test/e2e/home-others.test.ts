/** A home that cannot be written, a worker in an empty home, workers whose clocks are wrong: nothing is lost, and it is said what to do. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect } from '@jest/globals';
import { buildProgram } from '../../src/cli/program.js';
import { processIo } from '../../src/cli/io.js';
import { longOnly } from '../support/skipped.js';
import { OWN_STORE } from './homes.js';
import { scene, whole, type Scene } from './support.js';

interface Printed {
  readonly args: readonly string[];
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Returns message and advice of the only line in the log of a worker that did not start. */
const failureLogged = (log: string): string => {
  const { msg, next } = JSON.parse(log.trim()) as { readonly msg: string; readonly next: string };
  return `${msg}\n${next}\n`;
};

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const JOB = '---\ntarget_files: [a.js]\ncommit: true\n---\n# Grow\n\nRaise it.\n';
const RULE = {
  name: 'a',
  match: { contains: '- a.js' },
  answer: whole({ 'a.js': 'const a = 2;\n' }),
};

/** Everything below a directory, links as links, parents first. */
const below = (dir: string): readonly string[] => [
  dir,
  ...readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? below(join(dir, entry.name)) : [join(dir, entry.name)],
  ),
];
const hashes = (dir: string): Record<string, string> =>
  Object.fromEntries(
    below(dir).map((path) => {
      const stat = lstatSync(path);
      if (stat.isDirectory()) return [path, 'directory'];
      const bytes = stat.isSymbolicLink() ? readlinkSync(path) : readFileSync(path);
      return [path, createHash('sha256').update(bytes).digest('hex')];
    }),
  );

/** Root may write everywhere: the commands run as a user without rights then, who owns what the run's user owned. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const giveTo = (uid: number, dir: string): void => {
  for (const path of below(dir)) if (!lstatSync(path).isSymbolicLink()) chownSync(path, uid, uid);
};
const reachable = (dir: string): void => {
  for (let at = dir; at.startsWith(tmpdir()); at = dirname(at))
    chmodSync(at, statSync(at).mode | 0o011);
};
const setWritable = (dir: string, may: boolean): void => {
  for (const path of below(dir)) {
    const stat = lstatSync(path);
    if (!stat.isSymbolicLink()) chmodSync(path, may ? stat.mode | 0o200 : stat.mode & ~0o222);
  }
};

/** What a person would type, by command; null: it needs no home. A new command must be given its line here. */
const linesOf = (run: string): Record<string, readonly string[] | null> => ({
  run: ['run', 'job.md'],
  list: ['list'],
  show: ['show', run],
  diff: ['diff', run],
  review: ['review', run],
  watch: ['watch', run],
  report: ['report', run],
  stats: ['stats'],
  init: null,
  new: null,
  completion: null,
  events: ['events', run],
  calls: ['calls', run],
  evidence: ['evidence', run],
  hosts: ['hosts'],
  decide: ['decide', run, 'approve'],
  approve: ['approve', run],
  skip: ['skip', run],
  retry: ['retry', run],
  revise: ['revise', run, '--note', 'other'],
  abort: ['abort', run],
  move: ['move', run, '--to', '.'],
  recover: ['recover'],
  gc: ['gc'],
  backup: ['backup', '../home.backup'],
  // It takes only a home that is empty. test/client/files/backup.test.ts restores onto a full disk.
  restore: null,
  dev: ['dev'],
  web: ['web'],
  worker: ['worker'],
  doctor: ['doctor'],
  // About the server's runs and workers.
  replay: null,
  rehearse: null,
  mcp: null,
  patch: ['patch', '../answer.diff'],
  undo: ['undo'],
  trust: ['trust', 'job.md'],
  // Of its commands those that write.
  plan: ['plan', 'expand', 'phase', '../PLAN.md', '1'],
});

const long = longOnly('workers of their own and waits take some ten seconds each');

long(
  'a home that cannot be written, under every command: a sentence and what to do, nothing lost',
  async () => {
    const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [RULE]));
    const first = await s.worker();
    const run = await s.start('job.md', JOB);
    await s.settle(run);
    await first.kill('SIGTERM');

    const lines = linesOf(run.stepKey.slice(0, 8));
    const names = buildProgram(processIo(), () => undefined).commands.map((command) =>
      command.name(),
    );
    expect(Object.keys(lines).sort()).toEqual(names.sort());
    const dir = dirname(s.home);
    writeFileSync(
      join(dir, 'answer.diff'),
      '--- a/a.js\n+++ b/a.js\n@@ -1 +1 @@\n-const a = 1;\n+const a = 3;\n',
    );
    writeFileSync(
      join(dir, 'PLAN.md'),
      '# Grow\n\n### Phase 1: Base\n**Objective**: lay it\n- [ ] one\n',
    );
    const before = hashes(dir);
    setWritable(s.home, false);
    if (isRoot) {
      giveTo(NOBODY, dir);
      reachable(dir);
    }
    const task = JSON.stringify({
      uid: isRoot ? NOBODY : null,
      lines: Object.values(lines).filter((l) => l !== null),
    });
    const env = { ...s.env, HOME: dir, NODE_OPTIONS: '' };
    const child = join(process.cwd(), 'test/support/each-command.js');
    const { stdout, stderr } = spawnSync(process.execPath, [child, task], {
      cwd: s.repo,
      env,
      encoding: 'utf8',
      timeout: 120_000,
    });
    const printed = JSON.parse(stdout) as Printed[];
    // A worker logs to standard error of the process.
    const said = printed.map((command) =>
      command.args[0] === 'worker' ? { ...command, err: failureLogged(stderr) } : command,
    );

    expect(said.map(({ args }) => args[0]!).sort()).toEqual(
      names.filter((name) => lines[name] !== null),
    );
    for (const { args, code, out, err } of said) {
      const told = args[0] === 'doctor' ? out : err;
      expect({ args, code, told }).not.toMatchObject({ code: 0 });
      expect({ args, told }).toMatchObject({
        told: expect.stringContaining(`${s.home} cannot be Emend's home: `),
      });
      expect({ args, told }).toMatchObject({
        told: expect.stringMatching(/you cannot write there|read-only/),
      });
      expect({ args, told }).toMatchObject({
        told: expect.stringContaining('Set EMEND_HOME to a writable directory'),
      });
      expect({ args, told }).not.toMatchObject({ told: expect.stringMatching(/^\s+at /m) });
      if (args[0] !== 'doctor')
        expect({ args, lines: err.trim().split('\n').length, out }).toEqual({
          args,
          lines: 2,
          out: '',
        });
    }
    expect(hashes(dir)).toEqual(before);

    if (isRoot) giveTo(0, dir);
    setWritable(s.home, true);
    await s.worker();
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', files: ['a.js'] });
    expect(s.rehearsal.requests()).toHaveLength(1);
  },
  180_000,
);

long(
  'a worker in an empty home while a run is paused: the run says that its host does not answer, and goes on when it does',
  async () => {
    const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [RULE], {
      env: { EMEND_SCHEDULETOSTART_MS: '2000' },
    }));
    const first = await s.worker();
    const run = await s.start('job.md', JOB);
    await s.settle(run);
    await first.kill('SIGTERM');

    const empty = join(dirname(s.home), 'empty home');
    const stranger = await s.worker(undefined, { EMEND_HOME: empty });
    await s.answer(run, 'approve');
    const asked = (await s.settle(run, 60)).status.decision!;
    expect(asked).toMatchObject({ reason: 'workspace_unreachable' });
    expect(readFileSync(join(empty, 'host-id'), 'utf8')).not.toBe(
      readFileSync(join(s.home, 'host-id'), 'utf8'),
    );
    expect(s.read('a.js')).toBe('const a = 1;\n');
    await stranger.kill('SIGTERM');

    await s.worker();
    await s.answer(run, 'wait', { decision: asked.id });
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', files: ['a.js'] });
    expect(s.rehearsal.requests()).toHaveLength(1);
  },
  180_000,
);

long(
  'a worker whose clock is a year ahead dies in apply, one whose clock is a year behind ends the run',
  async () => {
    const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [RULE], { env: OWN_STORE }));
    const year_ms = 365 * 86_400_000;
    const shim = pathToFileURL(join(process.cwd(), 'test/support/set-clock.js')).href;
    const set = (shift_ms: number) => ({
      NODE_OPTIONS: `--import=${shim}`,
      CLOCK_SHIFT_MS: String(shift_ms),
    });
    const ahead = await s.worker('applyProposal:after:1', set(year_ms));
    const run = await s.start('job.md', JOB);
    await s.settle(run);
    await s.answer(run, 'approve');
    await ahead.exited;
    expect(ahead.fired()).toBe(true);
    await s.worker(undefined, set(-year_ms));
    expect(await s.end(run, 90)).toMatchObject({ outcome: 'committed', files: ['a.js'] });
    expect(s.rehearsal.requests()).toHaveLength(1);
    expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
    expect((await s.show(run)).ledger).toMatchObject([{ path: 'a.js', status: 'done' }]);
    // The clocks were wrong: what was done first is stamped a year ahead of now.
    const log = readFileSync(join(s.store, 'archive', run.stepKey, 'log.jsonl'), 'utf8');
    const stamps = [...log.matchAll(/"kind":"activity"/g)].length;
    expect(stamps).toBeGreaterThan(0);
    expect(log).toContain(`"at":"${new Date(Date.now() + year_ms).getUTCFullYear()}`);
  },
  180_000,
);
