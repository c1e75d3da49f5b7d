/** What a run would take, before anything is started: no server, no home, no model. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { prices } from '../../src/cli/commands/doctor.js';
import { main } from '../../src/cli/main.js';
import { buildEditRequest, briefPrompt, closeBriefPrompt } from '../../src/model/prompts/index.js';
import { estimateRequestTokens } from '../../src/model/tokens.js';
import { editInput, NONCE, textOf } from '../model/prompts/support.js';
import { PRICES } from '../../src/documents/job/index.js';
import { sampled } from '../support/seeded.js';
import { fakeIo } from './io.js';

const repositoryWith = (files: Readonly<Record<string, string>>): string => {
  const cwd = mkdtempSync(join(tmpdir(), 'emend-estimate-test-'));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), content);
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', cwd, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]);
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'base');
  return cwd;
};
const emend = async (cwd: string, ...args: readonly string[]) => {
  const io = fakeIo({
    cwd,
    env: {
      EMEND_HOME: join(cwd, 'no-home'),
      PATH: process.env.PATH,
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    },
  });
  const exit = await main(args, io);
  expect(existsSync(join(cwd, 'no-home'))).toBe(false);
  return { exit, ...io.printed };
};
const job = (front: string): string => `---\n${front}\n---\n# Grow\n\nMake it larger.\n`;
const TEXT = 'x'.repeat(3_500);
const scratch = (): readonly string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('emend-estimate.'));

test('a job: calls, tokens and money with the prices of its model, and nothing is left behind', async () => {
  const cwd = repositoryWith({
    'job.md': job('target_files: [a.txt]\nmodel: claude-sonnet-5-5'),
    'a.txt': TEXT,
  });
  const { exit, out, err } = await emend(cwd, 'run', 'job.md', '--estimate');
  expect([exit, err]).toEqual([0, '']);
  // 1,500 for the prompt, 7 for what it asks and its title, 1,000 for the file; and the file again in the answer.
  expect(out).toBe(
    'job.md: about 1 model call, 2,507 tokens in, 1,000 out, $0.0150 (claude-sonnet-5-5, genai-prices 0.2.3 (PyPI) of 2026-11-10), if no answer fails; budget $1.00 (default: ten times the estimate, at least $1)\n',
  );
  const json = JSON.parse(
    (await emend(cwd, 'run', 'job.md', '--estimate', '--json')).out,
  ) as object;
  expect(json).toEqual({
    v: 1,
    path: 'job.md',
    estimate: {
      calls: 1,
      input_tokens: 2_507,
      output_tokens: 1_000,
      usd: (2_507 * 2 + 1_000 * 10) / 1e6,
      model: 'claude-sonnet-5-5',
      priced: PRICES,
    },
    budget: { usd: 1, isDefault: true },
    over: [],
    exit: 0,
  });
  expect(scratch()).toEqual([]);
});

test('no less than what is sent: numbers and checks of lines, and all files before it where a call agrees on names', async () => {
  const text = `  work('here', 'and there');\n`.repeat(1_200);
  const paths = ['a.ts', 'b.ts'];
  const cwd = repositoryWith({
    'job.md': job('target_files: [a.ts, b.ts]'),
    'a.ts': text,
    'b.ts': text,
  });
  const { out } = await emend(cwd, 'run', 'job.md', '--estimate', '--json');
  const files = paths.map((path) => ({ path, text: textOf(text) }));
  const input = { format: 'structured-edit', instructions: '# Grow\n\nMake it larger.\n' } as const;
  const brief = closeBriefPrompt(briefPrompt({ ...editInput(input), files, hints: [] }));
  const requests = [
    brief,
    ...files.map((file) => buildEditRequest(editInput({ ...input, files: [file] }))),
  ];
  const sent = requests.reduce(
    (sum, { request }) => sum + estimateRequestTokens(request(NONCE)),
    0,
  );
  const { estimate } = JSON.parse(out) as { estimate: { calls: number; input_tokens: number } };
  expect(estimate.calls).toBe(3);
  expect(estimate.input_tokens / sent).toBeGreaterThan(1);
  expect(estimate.input_tokens / sent).toBeLessThan(1.5);
});

test('what the model thinks counts in what it writes', async () => {
  const cwd = repositoryWith({
    'job.md': job('target_files: [a.txt]\nmodel: claude-sonnet-5-5\neffort: high'),
    'a.txt': TEXT,
  });
  const { exit, out } = await emend(cwd, 'run', 'job.md', '--estimate');
  expect([exit, out]).toEqual([0, expect.stringContaining(' 5,096 out, ')]);
});

test('a limit that it is over is said; a job that names no file is asked for which', async () => {
  const cwd = repositoryWith({
    'over.md': job('target_files: [a.txt]\nmodel: claude-sonnet-5-5\nbudget_usd: 0.001'),
    'pick.md': job('model: claude-haiku-4-5'),
    'a.txt': TEXT,
  });
  const over = await emend(cwd, 'run', 'over.md', '--estimate');
  expect([over.exit, over.out]).toEqual([
    0,
    expect.stringContaining('0.0150 US dollars are expected; budget_usd is 0.001'),
  ]);
  const pick = await emend(cwd, 'run', 'pick.md', '--estimate');
  expect([pick.exit, pick.out]).toEqual([
    0,
    expect.stringMatching(/^pick\.md: about 2 model calls, /),
  ]);
});

test('a task that no call has room for is refused before it is sent, whether files are named or a model picks them', async () => {
  const long = `${'Change the greeting in every file. '.repeat(20_000)}\n`;
  const plan = `# One\n\n## Implementation Phases\n\n### Phase 1: P1\n\n${long}\nTasks:\n- [ ] Change \`a.txt\`\n`;
  const cwd = repositoryWith({
    'job.md': `${job('target_files: [a.txt]')}${long}`,
    'pick.md': `${job('model: claude-haiku-4-5')}${long}`,
    'short.md': job('target_files: [a.txt]'),
    'plans/001_one.md': plan,
    'a.txt': TEXT,
  });
  const refusal =
    /task, hints and rules take about 17\d{4} of the 150000 tokens of a call\..* raise inputBudget_tokens/s;
  for (const path of ['job.md', 'pick.md', 'plans/001_one.md']) {
    const { exit, err } = await emend(
      cwd,
      ...(path.startsWith('plans') ? ['plan'] : []),
      'run',
      path,
      '--estimate',
    );
    expect([path, exit, err]).toEqual([path, 6, expect.stringMatching(refusal)]);
  }
  const models = 'model: large\nmodels: {large: {context_tokens: 400000}}\n';
  writeFileSync(join(cwd, 'emend.yaml'), models);
  const raised = await emend(
    cwd,
    'run',
    'job.md',
    '--estimate',
    '--set',
    'inputBudget_tokens=180000',
  );
  expect([raised.exit, raised.err]).toEqual([0, '']);
  writeFileSync(join(cwd, 'AGENTS.md'), long.slice(0, 200_000));
  const rules = await emend(
    cwd,
    'run',
    'short.md',
    '--estimate',
    '--set',
    'inputBudget_tokens=50000',
  );
  expect(rules.err).toContain('short.md: task, hints and rules take about 500');
  writeFileSync(join(cwd, 'emend.yaml'), `${models}hints: ['${long.slice(0, 4_000)}']\n`);
  const hints = await emend(
    cwd,
    'run',
    'short.md',
    '--estimate',
    '--set',
    'inputBudget_tokens=50500',
  );
  expect(hints.err).toContain('short.md: task, hints and rules take about 510');
});

test('budget_usd with a model whose price is not known is refused, and `models:` is named', async () => {
  const cwd = repositoryWith({
    'job.md': job('target_files: [a.txt]\nmodel: unheard-of\nbudget_usd: 1'),
    'a.txt': TEXT,
  });
  const refused = await emend(cwd, 'run', 'job.md', '--estimate');
  expect(refused.exit).toBe(2);
  expect(refused.err).toContain(
    'job.md: budget_usd is 1, and the price of its model is not known.',
  );
  expect(refused.err).toContain('under `models:` in emend.yaml');
  writeFileSync(join(cwd, 'emend.yaml'), 'models: {unheard-of: {input_usd: 0, output_usd: 0}}\n');
  const priced = await emend(cwd, 'run', 'job.md', '--estimate');
  expect([priced.exit, priced.out]).toEqual([
    0,
    expect.stringContaining('$0.0000 (unheard-of, emend.yaml)'),
  ]);
});

test('a plan: the sum of its open phases; refused as its run would be', async () => {
  const phase = (n: number, mark = '') =>
    `### Phase ${n}: P${n}${mark}\n\nTasks:\n- [ ] Change \`a.txt\`\n\n`;
  const text = `# Two\n\n## Implementation Phases\n\n${phase(1, ' [COMPLETED]')}${phase(2)}${phase(3)}`;
  const cwd = repositoryWith({
    'plans/001_two.md': text,
    'a.txt': TEXT,
    'emend.yaml': 'model: claude-sonnet-5-5\n',
  });
  const { exit, out, err } = await emend(cwd, 'plan', 'run', 'plans/001_two.md', '--estimate');
  expect([exit, err]).toEqual([0, '']);
  expect(out).toMatch(
    /^plans\/001_two: 2 phases: about 2 model calls, [\d,]+ tokens in, 2,000 out, \$0\.03\d\d, if no phase fails; budget \$1\.00 \(default: ten times the estimate, at least \$1\)\n$/,
  );
  const unpriced = await emend(
    cwd,
    'plan',
    'run',
    'plans/001_two.md',
    '--estimate',
    '--set',
    'budget_usd=1',
  );
  expect(unpriced.exit).toBe(0);
  writeFileSync(join(cwd, 'emend.yaml'), 'model: unheard-of\n');
  const refused = await emend(
    cwd,
    'plan',
    'run',
    'plans/001_two.md',
    '--estimate',
    '--set',
    'budget_usd=1',
  );
  expect([refused.exit, refused.err]).toEqual([
    2,
    expect.stringContaining('Phase 1: P1: budget_usd is 1'),
  ]);
});

test('doctor says when the prices are older than 90 days, and they hold up nothing', () => {
  const published = Date.parse(PRICES.date);
  const day = 86_400_000;
  expect(prices(published + 90 * day)).toEqual({
    ok: true,
    found: 'genai-prices 0.2.3 (PyPI) of 2026-11-10, 90 days old',
    fix: null,
  });
  expect(prices(published + 91 * day)).toMatchObject({
    ok: true,
    fix: expect.stringContaining('`models:` in emend.yaml'),
  });
});

test('of a repository, in a checkout of it: nothing is pushed, and nothing stays', async () => {
  const text = job('target_files: [a.txt]\nmodel: claude-sonnet-5-5');
  const plan = '# One\n\n### Phase 1: P1\n\n- [ ] Change `a.txt`\n';
  const origin = repositoryWith({
    'a.txt': TEXT,
    'emend.yaml': 'model: claude-haiku-4-5\n',
    'plans/001_one.md': plan,
  });
  const cwd = mkdtempSync(join(tmpdir(), 'emend-estimate-test-'));
  writeFileSync(join(cwd, 'job.md'), text);
  const head = execFileSync('git', ['-C', origin, 'rev-parse', '--abbrev-ref', 'HEAD'], {
    encoding: 'utf8',
  }).trim();
  const at = ['--repository', `file://${origin}`, '--base', head];
  const refs = () => execFileSync('git', ['-C', origin, 'for-each-ref'], { encoding: 'utf8' });
  const before = refs();
  const looks = [
    async () => {
      const named = await emend(cwd, 'run', 'job.md', '--estimate', ...at);
      expect([named.exit, named.out]).toEqual([
        0,
        expect.stringMatching(/^job\.md: about 1 model call, 2,507 tokens in/),
      ]);
    },
    async () => {
      const found = await emend(cwd, 'run', '-m', 'Make it larger', '--estimate', '--json', ...at);
      expect(JSON.parse(found.out)).toMatchObject({
        estimate: { model: 'claude-haiku-4-5' },
        exit: 0,
      });
    },
    async () => {
      const planned = await emend(cwd, 'plan', 'run', 'plans/001_one.md', '--estimate', ...at);
      expect([planned.exit, planned.out]).toEqual([
        0,
        expect.stringMatching(
          /^plans\/001_one: 1 phase: about 1 model call, [\d,]+ tokens in, 1,000 out, /,
        ),
      ]);
    },
    async () => {
      const none = await emend(cwd, 'plan', 'run', 'plans/002_none.md', '--estimate', ...at);
      expect([none.exit, none.err]).toEqual([2, expect.stringContaining('plans/002_none')]);
    },
    async () => {
      const gone = await emend(cwd, 'run', '-m', 'Make it larger', 'gone.txt', '--estimate', ...at);
      expect([gone.exit, gone.err]).toEqual([2, expect.stringContaining('gone.txt')]);
    },
    async () => {
      const absent = await emend(cwd, 'run', 'job.md', '--estimate', ...at.slice(0, 3), 'absent');
      expect([absent.exit, absent.err]).toEqual([2, expect.stringContaining('it has no absent')]);
    },
  ];
  for (const look of sampled('estimates of a repository', looks, 3)) await look();
  expect(refs()).toBe(before);
  expect(scratch()).toEqual([]);
});
