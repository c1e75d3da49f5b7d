/** `npm run demo` as a person runs it: demo/run.js on dist/, in a process group and a temporary directory of its own. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseJob } from '../../src/documents/job/job.js';
import { git, runDemo } from './demo-support.js';

let scratch = '';
beforeEach(() => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'emend demo ')));
});
afterEach(() => {
  rmSync(scratch, { recursive: true, force: true });
});

const clone = (): string => git(process.cwd(), 'status', '--porcelain');
const expectInOrder = (text: string, ...words: string[]): void => {
  const found = words.map((word) => text.indexOf(word));
  expect(found).not.toContain(-1);
  expect(found).toEqual(found.slice().sort((a, b) => a - b));
};

describe('the demo', () => {
  test('two jobs, cut off and refused on the way, end in two tested commits; nothing else is left', async () => {
    const before = clone();
    const { code, output } = await runDemo(scratch, ['run.js', '--yes']);
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
      'asked again with the reason',
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
    const { code, output } = await runDemo(scratch, ['run.js']);
    expect({ code, output }).toMatchObject({
      code: 3,
      output: expect.stringContaining('no terminal to ask at'),
    });
    expect(readdirSync(scratch)).toEqual([]);
  }, 120_000);

  test('ended in the middle it takes everything with it', async () => {
    let sent = false;
    const { code } = await runDemo(scratch, ['run.js', '--yes'], (output, pid) => {
      if (sent || !output.includes('all 3 files')) return;
      sent = true;
      process.kill(pid, 'SIGTERM');
    });
    expect({ code, sent }).toEqual({ code: 130, sent: true });
    expect(readdirSync(scratch)).toEqual([]);
  }, 120_000);
});
