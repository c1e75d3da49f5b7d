/** A coding agent hands a change over by the official client of the Model Context Protocol, on a real `emend dev`; a person decides in a terminal. */
import { createHash } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { longOnly } from '../support/skipped.js';
import { terminals, type Terminals } from './terminals.js';

jest.setTimeout(180_000);

const GREET = "export const greet = () => 'hello';\n";
const DIFF = `--- a/greet.js
+++ b/greet.js
@@ -1 +1 @@
-export const greet = () => 'hello';
+export const greet = () => 'good day';
--- /dev/null
+++ b/docs/greet.md
@@ -0,0 +1 @@
+Says good day.
`;
const staleOf = (diff: string): string =>
  diff.replace("-export const greet = () => 'hello'", "-export const greet = () => 'hi'");
const CHANGE = { answer: DIFF, title: 'Greet politely', why: 'It says *good day*.' };

let s: Terminals;
let agent: Client;
beforeAll(async () => {
  s = await terminals(
    { 'greet.js': GREET, 'emend.yaml': 'commit: true\ntest: test -f greet.js\n' },
    [],
  );
  symlinkSync('greet.js', join(s.repo, 'link.js'));
  s.git('add', '-A');
  s.git('commit', '-q', '-m', 'link');
  const dev = s.type('emend dev');
  await dev.says(/worker ready/);
  agent = await connect();
});
afterAll(async () => {
  await agent.close();
  await s.close();
});

const connect = async (): Promise<Client> => {
  const client = new Client({ name: 'test-agent', version: '1' });
  const env = Object.fromEntries(
    Object.entries(s.env).filter((each): each is [string, string] => each[1] !== undefined),
  );
  const args = [join(process.cwd(), 'dist/client.js'), 'mcp'];
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args,
      cwd: s.repo,
      env,
      stderr: 'inherit',
    }),
  );
  return client;
};
interface Told {
  readonly [name: string]: unknown;
  readonly run: string;
  readonly page: string;
  readonly state: string;
  readonly call_again: boolean;
}
const call = async (name: string, given: Record<string, unknown>, options = {}) => {
  const { content, isError } = await agent.callTool({ name, arguments: given }, undefined, options);
  const [{ text = '' } = {}] = content as { text?: string }[];
  return { text, isError: isError === true };
};
const told = async (name: string, given: Record<string, unknown>, options = {}): Promise<Told> => {
  const { text, isError } = await call(name, given, options);
  expect({ text, isError }).toEqual({ text, isError: false });
  return JSON.parse(text) as Told;
};
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: s.repo, encoding: 'utf8' });

test('check_answer: what would apply, and why another is refused; nothing is written, nothing runs', async () => {
  const good = await told('check_answer', { answer: DIFF });
  expect(good).toMatchObject({
    outcome: 'would_apply',
    format: 'unified-diff',
    diff: expect.stringContaining("+export const greet = () => 'good day'"),
  });
  const stale = await told('check_answer', {
    answer: DIFF.replace("-export const greet = () => 'hello'", "-export const greet = () => 'hi'"),
  });
  expect(stale).toMatchObject({
    outcome: 'refused',
    reasons: [{ path: 'greet.js', message: expect.stringContaining('hello') }],
  });
  const sha256 = createHash('sha256').update(GREET).digest('hex');
  expect(await told('check_answer', { answer: DIFF, files: { 'greet.js': sha256 } })).toMatchObject(
    {
      outcome: 'would_apply',
    },
  );
  const moved = { answer: DIFF, files: { 'greet.js': '0'.repeat(64) } };
  for (const [name, given] of [
    ['check_answer', moved],
    ['propose_change', { ...CHANGE, ...moved }],
  ] as const)
    expect(await call(name, given)).toMatchObject({
      isError: true,
      text: expect.stringContaining('greet.js is not as you read it'),
    });
  expect(await told('propose_change', { ...CHANGE, answer: staleOf(DIFF) })).toMatchObject({
    outcome: 'refused',
  });
  expect(git('status', '--porcelain')).toBe('');
  expect((await s.done('emend list')).said).toContain('No runs yet');
});

test('propose_change: a person approves by the command line, wait tells what it does and that it is committed', async () => {
  const proposed = await told('propose_change', CHANGE);
  expect(proposed).toMatchObject({
    run: expect.stringMatching(/^[0-9a-f]{32}$/),
    call_again: true,
    result: null,
  });
  expect(proposed.page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/run\/[0-9a-f]{32}$/);
  // An agent that asks twice has one run.
  expect((await told('propose_change', CHANGE)).run).toBe(proposed.run);

  const messages: string[] = [];
  const onprogress = ({ message = '' }: { message?: string | undefined }) =>
    void messages.push(message);
  const from = performance.now();
  let first = await told('wait', { run: proposed.run, timeout_s: 2 }, { onprogress });
  expect(performance.now() - from).toBeLessThan(20_000);
  while (first.state !== 'waiting')
    first = await told('wait', { run: proposed.run, timeout_s: 2 }, { onprogress });
  expect(first).toMatchObject({
    state: 'waiting',
    call_again: true,
    decision: { reason: 'approval' },
    result: null,
  });
  expect(messages).toContain('waiting for a decision: approval');
  expect(git('status', '--porcelain')).toBe('');

  const { said } = await s.done(`emend show ${proposed.run}`);
  expect(said).toContain('Greet politely');
  expect((await s.done(`emend report ${proposed.run}`)).said).toContain(
    'Handed over through `emend mcp` by "test-agent": change ',
  );
  const waiting = told('wait', { run: proposed.run });
  expect((await s.done(`emend approve ${proposed.run} --decision ${decisionOf(first)}`)).code).toBe(
    0,
  );
  expect(await waiting).toMatchObject({
    call_again: false,
    result: { outcome: 'committed', files: ['docs/greet.md', 'greet.js'] },
  });
  expect(git('log', '--format=%s', '-1')).toBe('Greet politely\n');
  expect(git('show', '--format=', '--name-only')).toBe('docs/greet.md\ngreet.js\n');
  // No model was asked, and none is counted.
  expect(s.rehearsal.requests()).toEqual([]);
  expect((await told('run_status', { run: proposed.run })).result).toMatchObject({
    usage: { calls: 0 },
  });
});
const decisionOf = ({ decision }: Told): string => (decision as { id: string }).id;

test('what is no change is refused with what was expected, and so is whatever would decide', async () => {
  const refused = async (name: string, given: Record<string, unknown>, why: RegExp) =>
    expect(await call(name, given)).toMatchObject({
      isError: true,
      text: expect.stringMatching(why),
    });
  await refused('check_answer', { answer: '' }, /answer/);
  await refused(
    'check_answer',
    { answer: 'no edit at all' },
    /The answer is not in a known format/,
  );
  await refused('check_answer', { answer: 'half \ud800 a character' }, /expected text in Unicode/);
  await refused(
    'check_answer',
    { answer: DIFF, format: 'html' },
    /expected auto or one of whole-file/,
  );
  await refused('check_answer', { answer: 'x'.repeat(4 * 1024 * 1024 + 1) }, /answer/);
  await refused(
    'propose_change',
    { ...CHANGE, title: 'two\nlines' },
    /expected one line of visible characters/,
  );
  await refused(
    'propose_change',
    { ...CHANGE, title: 'turned \u202e' },
    /expected one line of visible characters/,
  );
  await refused('propose_change', { ...CHANGE, why: 'w'.repeat(20_001) }, /why/);
  await refused('propose_change', { ...CHANGE, approve: true }, /approve/);
  await refused('run_status', { run: '../..' }, /expected the id that propose_change gave/);
  await refused('run_status', { run: '0'.repeat(32) }, /No run starts with/);
  await refused('wait', { run: '0'.repeat(32), timeout_s: 3600 }, /timeout_s/);
  for (const path of ['../out.js', '/etc/passwd', '.git/config', 'link.js']) {
    const answer = DIFF.replaceAll('greet.js', path.replace(/^\//, ''))
      .replace('--- a/etc', '--- /etc')
      .replace('+++ b/etc', '+++ /etc');
    const { text, isError } = await call('propose_change', { ...CHANGE, answer });
    expect({
      path,
      refused: isError || (JSON.parse(text) as Told & { outcome: string }).outcome,
    }).toMatchObject({
      refused: expect.anything(),
    });
    expect(text).not.toContain('"run":');
  }
  expect(git('status', '--porcelain')).toBe('');
});

test('a message that is too long ends the server with a reason and an exit code', () => {
  const { stderr, status } = spawnSync(
    process.execPath,
    [join(process.cwd(), 'dist/client.js'), 'mcp'],
    {
      cwd: s.repo,
      env: s.env,
      encoding: 'utf8',
      timeout: 30_000,
      input: `{"jsonrpc":"2.0","id":1,"method":"${'a'.repeat(11 * 1024 * 1024)}"}\n`,
    },
  );
  expect({ stderr, status }).toMatchObject({
    status: 6,
    stderr: expect.stringContaining('more than 10 MiB'),
  });
});

test('stdin that ends while a call is at work: its answer comes, one that was cancelled is not waited for', () => {
  const message = (method: string, params: object, id?: number): string =>
    `${JSON.stringify({ jsonrpc: '2.0', method, params, ...(id === undefined ? {} : { id }) })}\n`;
  const client = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  };
  const { stdout, status } = spawnSync(
    process.execPath,
    [join(process.cwd(), 'dist/client.js'), 'mcp'],
    {
      cwd: s.repo,
      env: s.env,
      encoding: 'utf8',
      input: [
        message('initialize', client, 1),
        message('notifications/initialized', {}),
        message('tools/call', { name: 'check_answer', arguments: { answer: 'no edit' } }, 2),
        message(
          'tools/call',
          { name: 'propose_change', arguments: { ...CHANGE, answer: 'no edit' } },
          3,
        ),
        message('notifications/cancelled', { requestId: 3 }),
      ].join(''),
      timeout: 30_000,
    },
  );
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: number }).id),
  ).toEqual([1, 2]);
  expect(status).toBe(0);
});

longOnly('five starts of the program')('the SDK is loaded by this command alone', () => {
  const hook = `import { writeSync } from 'node:fs'; export const resolve = async (...given) => { const found = await given[2](given[0], given[1]);
    if (found.url.includes('@modelcontextprotocol')) writeSync(2, 'LOADED '); return found; };`;
  const register = `import { register } from 'node:module'; register('data:text/javascript,' + ${JSON.stringify(encodeURIComponent(hook))});`;
  const args = (words: readonly string[]) => [
    '--import',
    `data:text/javascript,${encodeURIComponent(register)}`,
    join(process.cwd(), 'dist/client.js'),
    ...words,
  ];
  const loads = (...words: string[]): boolean => {
    const { stderr } = spawnSync(process.execPath, args(words), {
      cwd: s.repo,
      env: { ...s.env, NODE_OPTIONS: '' },
      encoding: 'utf8',
      input: '',
    });
    return stderr.includes('LOADED');
  };
  expect(loads('mcp')).toBe(true);
  for (const words of [
    ['--help'],
    ['mcp', '--help'],
    ['list'],
    ['patch', '-', '--check'],
    ['completion', 'bash'],
  ])
    expect({ words, loads: loads(...words) }).toEqual({ words, loads: false });
});

longOnly('a wait of 40 seconds')(
  'wait without a time comes back within 45 s and says: call again; then what a person noted at the abort',
  async () => {
    const { run } = await told('propose_change', {
      ...CHANGE,
      answer: DIFF.replaceAll('greet.md', 'night.md').replace(/--- a[^]*?(?=--- \/dev)/, ''),
    });
    const from = performance.now();
    const asked = await told('wait', { run });
    expect(asked).toMatchObject({ state: 'waiting', call_again: true });
    expect(performance.now() - from).toBeLessThan(45_000);
    const why = 'not in this file';
    expect(
      (await s.done(`emend abort ${run} --decision ${decisionOf(asked)} --note '${why}'`)).code,
    ).toBe(0);
    expect(await told('wait', { run })).toMatchObject({
      call_again: false,
      notes_of_persons: [why],
    });
  },
);
