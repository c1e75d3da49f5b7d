/** `npm run demo` as a person runs it: demo/run.js on dist/, in a process group and a temporary directory of its own. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseJob } from '../../src/job/job.js';

/** Generous: other tests run beside it. */
const LIMIT_MS = 100_000;

const git = (cwd: string, ...args: string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' });

let scratch = '';
beforeEach(() => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'emend demo ')));
});
afterEach(() => {
  rmSync(scratch, { recursive: true, force: true });
});

interface Demo {
  readonly code: number | null;
  readonly output: string;
}
/** `onOutput` sees all that was said so far, whenever there is more of it. Fails when anything of the demo outlives it. */
const runDemo = async (args: readonly string[], onOutput?: (output: string, pid: number) => void): Promise<Demo> => {
  const child = spawn(process.execPath, ['demo/run.js', ...args], {
    env: { ...process.env, TMPDIR: scratch, NODE_OPTIONS: '', FORCE_COLOR: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const pid = child.pid!;
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      onOutput?.(output, pid);
    });
  const timer = setTimeout(() => process.kill(-pid, 'SIGKILL'), LIMIT_MS);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  const server = Number(/\(pid (\d+)\)/.exec(output)?.[1]);
  expect(server).toBeGreaterThan(0);
  // A negative id means the whole process group.
  // The system takes a moment to clear ended processes away; what is still there then was left behind.
  for (const left of [-pid, server]) await gone(left);
  return { code, output };
};

const clone = (): string => git(process.cwd(), 'status', '--porcelain');
const expectInOrder = (text: string, ...words: string[]): void => {
  const found = words.map((word) => text.indexOf(word));
  expect(found).not.toContain(-1);
  expect(found).toEqual(found.slice().sort((a, b) => a - b));
};

describe('the demo', () => {
  test('two jobs, cut off and refused on the way, end in two tested commits; nothing else is left', async () => {
    const before = clone();
    const { code, output } = await runDemo(['--yes']);
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(clone()).toBe(before);

    expectInOrder(
      output,
      'Job 1:',
      'truncated',
      'split by file',
      'file 3/3: memoize.js',
      'check command: pass',
      'Job 2:',
    );
    expectInOrder(
      output.slice(output.indexOf('Job 2:')),
      'split by file',
      'refused',
      'asked again and told why',
      'file 3/3: lodash.js',
      'check command: pass',
    );
    const [calls] = /together +(\d+)/.exec(output)?.slice(1) ?? [];
    const [requests] = /has answered (\d+) requests/.exec(output)?.slice(1) ?? [];
    expect([calls, requests]).toEqual(['10', '10']);

    const [folder = ''] = readdirSync(scratch);
    const repo = join(scratch, folder, 'lodash');
    expect(output).toContain(repo);
    expect(git(repo, 'status', '--porcelain')).toBe('');
    const log = git(repo, 'log', '--format=%h %s', '--abbrev=12').trim().split('\n');
    expect(log).toHaveLength(3);
    for (const line of log.slice(0, 2)) expect(output).toContain(`show ${line.slice(0, 12)}`);

    // The checks are real: each fails where its change is missing.
    ['small-files.md', 'large-files.md'].forEach((name, index) => {
      const parsed = parseJob(readFileSync(join('demo', 'jobs', name), 'utf8'), name);
      const { test: checks } = parsed.ok ? parsed.value : { test: null };
      const [check = ''] = Array.isArray(checks) ? (checks as string[]) : [];
      const statusAt = (commit: string): number | null => {
        git(repo, 'checkout', '-q', commit);
        return spawnSync('/bin/sh', ['-c', check], { cwd: repo }).status;
      };
      const commits = log.map((line) => line.slice(0, 12)).reverse();
      expect([statusAt(commits[index] ?? ''), statusAt(commits[index + 1] ?? '')]).toEqual([1, 0]);
    });
  }, 120_000);

  test('without a terminal and without --yes it says so, changes nothing and exits 3', async () => {
    const { code, output } = await runDemo([]);
    expect({ code, output }).toMatchObject({ code: 3, output: expect.stringContaining('no terminal to ask at') });
    expect(readdirSync(scratch)).toEqual([]);
  }, 120_000);

  test('ended in the middle it takes everything with it', async () => {
    let sent = false;
    const { code } = await runDemo(['--yes'], (output, pid) => {
      if (sent || !output.includes('all 3 files in one call')) return;
      sent = true;
      process.kill(pid, 'SIGTERM');
    });
    expect({ code, sent }).toEqual({ code: 130, sent: true });
    expect(readdirSync(scratch)).toEqual([]);
  }, 120_000);
});

async function gone(id: number): Promise<void> {
  const end = Date.now() + 5_000;
  for (;;) {
    try {
      process.kill(id, 0);
    } catch (error) {
      expect(String(error)).toContain('ESRCH');
      return;
    }
    if (Date.now() > end) throw new Error(`process ${id} was left behind`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
