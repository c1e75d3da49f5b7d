/** Without a person at the terminal: a policy that refuses and one that approves, annotations, notify, push, watch, report, stats. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { fakeIo } from '../cli/io.js';
import { longOnly } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

test('what lies outside the policy waits and says why; what lies inside is committed, pushed and reported', async () => {
  const s = (open = await scene({ 'greet.js': 'hello();\n' }, [
    {
      name: 'edit',
      match: { contains: 'greet.js' },
      answer: whole({ 'greet.js': 'hello("<b>day</b>");\n' }),
    },
  ]));
  await s.worker();
  const remote = join(s.home, '..', 'remote.git');
  execFileSync('git', ['init', '-q', '--bare', remote]);
  s.git('remote', 'add', 'origin', remote);
  const test = 'node --check greet.js && echo "it is fine"';
  s.write(
    'job.md',
    `---\ntarget_files: [greet.js]\ncommit: true\ntest: ${JSON.stringify(test)}\n---\n# Greet\n\nSay day.\n`,
  );
  s.write('narrow.yaml', 'v: 1\npaths: ["docs/**"]\n');
  s.write('wide.yaml', 'v: 1\npaths: ["*.js"]\nmax_lines: 2\n');
  const told = join(s.home, '..', 'told');
  const emend = async (exit: number, args: string[], env: Record<string, string> = {}) => {
    const io = fakeIo({ env: { ...s.env, ...env }, cwd: s.repo });
    const found = await main(args, io);
    expect({ args, exit: found, ...io.printed }).toMatchObject({ exit });
    return io.printed;
  };

  // Somebody watches all runs from before the first one to after its end.
  const watcher = fakeIo({ env: s.env, cwd: s.repo });
  const watching = main(['watch'], watcher);
  await s.until(() => watcher.printed.err.includes('No run is open'));

  const refused = await emend(3, ['run', 'job.md', '--policy', 'narrow.yaml', '--quiet'], {
    GITHUB_ACTIONS: 'true',
    EMEND_NOTIFY: `echo "$NOTIFY_REASON $NOTIFY_COMMAND" >> ${JSON.stringify(told)}`,
  });
  const run = /emend approve (\S+)/.exec(refused.out)?.[1] ?? '';
  // The watcher looks now and then: what it is to see stays until it has.
  await s.until(() =>
    watcher.printed.out.includes(`${run}  waiting  job.md  approval: emend review ${run}\n`),
  );
  expect(refused.err).toContain(
    '::error title=emend%3A waiting for a decision (approval)::decision 1-',
  );
  expect(refused.err).toContain('%0Agreet.js matches none of paths%0A');
  expect(readFileSync(told, 'utf8')).toBe(`approval emend review ${run}\n`);
  const json = await emend(3, ['run', 'job.md', '--policy', 'narrow.yaml', '--json']);
  expect(JSON.parse(json.out)).toMatchObject({
    state: 'waiting',
    why: ['greet.js matches none of paths'],
    exit: 3,
  });
  await emend(2, ['run', 'job.md', '--policy', 'wide.yaml', '--push', 'not a branch']);
  await emend(2, ['run', 'job.md', '--draft-pr']);

  const done = await emend(0, ['run', 'job.md', '--policy', 'wide.yaml', '--push', 'emend/greet']);
  expect(done.out).toContain('approved by the policy wide.yaml');
  const head = s.git('rev-parse', 'HEAD').trim();
  expect(
    execFileSync('git', ['rev-parse', 'emend/greet'], { cwd: remote, encoding: 'utf8' }).trim(),
  ).toBe(head);
  expect(done.err).toContain(`pushed ${head.slice(0, 12)} to emend/greet of origin`);

  await s.until(() => watcher.printed.out.includes(`${run}  done  job.md`));
  watcher.interrupt();
  expect(await watching).toBe(130);
  expect((await emend(0, ['watch', run])).out).not.toContain('waits');
  await emend(0, ['report', run, '--html', '--out', 'report.html']);
  const html = s.read('report.html');
  expect(html).toContain('hello(&quot;&lt;b&gt;day&lt;/b&gt;&quot;);');
  expect(html).not.toContain('<b>');
  expect(html).toContain('it is fine');
  expect(html).toMatch(/policy wide\.yaml [0-9a-f]{12}/);
  expect(html).toMatch(/within paths .*; at most \d+ files and \d+ lines/);
  const facts = JSON.parse((await emend(0, ['report', run, '--json'])).out) as Record<
    string,
    unknown
  >;
  expect(facts).toMatchObject({
    outcome: 'committed',
    commit: head,
    decisions: [
      {
        reason: 'approval',
        answers: [{ answer: 'approve', by: expect.stringMatching(/\(policy\)$/) as unknown }],
      },
    ],
    verifications: [{ outcome: 'pass' }],
    byFile: [{ file: 'greet.js', usage: { calls: 1 } }],
  });
  expect((await emend(0, ['report', run])).out).toContain('## Decisions\n');
  const stats = JSON.parse((await emend(0, ['stats', '--json'])).out) as Record<string, unknown>;
  expect(stats).toMatchObject({
    v: 1,
    plans: 0,
    steps: { runs: 1, counts: { outcomes: { committed: 1 }, answers: { approve: 1 } } },
  });
  expect((await emend(0, ['stats', '--since', '2999-01-01'])).out).toContain('0 runs');
});

longOnly('a quarter of a minute')(
  'a worker that is there and too busy to answer for a while is waited for',
  async () => {
    const s = (open = await scene({ 'greet.js': 'hello();\n' }, [
      {
        name: 'edit',
        match: { contains: 'greet.js' },
        answer: whole({ 'greet.js': 'hello("day");\n' }),
      },
    ]));
    const worker = await s.worker();
    s.write('job.md', '---\ntarget_files: [greet.js]\ncommit: true\n---\n# Greet\n\nSay day.\n');
    s.write('wide.yaml', 'v: 1\npaths: ["*.js"]\n');
    process.kill(worker.pid, 'SIGSTOP');
    setTimeout(() => process.kill(worker.pid, 'SIGCONT'), 12_000);
    const io = fakeIo({ env: s.env, cwd: s.repo });
    const exit = await main(['run', 'job.md', '--policy', 'wide.yaml'], io);
    expect(`exit code ${exit}\n${io.printed.err}`).toMatch(/^exit code 0\n(?!.*No worker)/s);
  },
  120_000,
);
