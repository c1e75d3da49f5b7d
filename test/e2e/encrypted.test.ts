/** A namespace whose payloads a team's codec encrypts: EMEND_DATA_CONVERTER lets every face of Emend work there, and the history shows no text. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { resolveRun } from '../../src/client/index.js';
import { scene, whole, type Scene } from './support.js';

jest.setTimeout(90_000);

const CONVERTER = join(process.cwd(), 'test/support/encrypting-converter.js');
const CLI = join(process.cwd(), 'dist/client.js');
const JOB = `---
target_files: [zanzibar.js]
test: exit 0
commit: true
---
# Say quokka

Say quokka in place of hi.
`;

const namespace = `sealed-${randomUUID().slice(0, 8)}`;
const server = ['--address', process.env.EMEND_TEST_ADDRESS ?? '', '--namespace', namespace];
const temporal = (...args: readonly string[]): string =>
  execFileSync(process.env.EMEND_TEST_CLI ?? '', [...args, ...server], { encoding: 'utf8' });

let s: Scene;
const children: ChildProcess[] = [];
beforeAll(async () => {
  temporal('operator', 'namespace', 'create');
  s = await scene(
    { 'zanzibar.js': "console.log('hi');\n" },
    [{ name: 'quokka', match: {}, answer: whole({ 'zanzibar.js': "console.log('umbrella');\n" }) }],
    { env: { TEMPORAL_NAMESPACE: namespace, EMEND_DATA_CONVERTER: CONVERTER } },
  );
  mkdirSync(join(s.repo, 'jobs'));
  writeFileSync(join(s.repo, 'jobs/one.md'), JOB);
  s.git('add', '-A');
  s.git('commit', '-q', '-m', 'job');
});
afterAll(async () => {
  for (const child of children) {
    const exit = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGTERM')) await exit;
  }
  await s.close();
});

const environment = (): Record<string, string | undefined> => ({
  ...s.env,
  NODE_OPTIONS: '',
});
/** Runs a command to its end. The model's server is in this process, so it must not be blocked. */
const emend = async (args: readonly string[], over: Record<string, string> = {}) => {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: s.repo,
    env: { ...environment(), ...over },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, output };
};

/** Starts a command that serves, and returns what it printed once that matches. */
const serve = async (args: readonly string[], ready: RegExp): Promise<RegExpExecArray> => {
  const child = spawn(process.execPath, [CLI, ...args], { cwd: s.repo, env: environment() });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await s.until(() => ready.test(output) || child.exitCode !== null);
  const match = ready.exec(output);
  if (match === null) throw new Error(`emend ${args.join(' ')}: ${output}`);
  return match;
};

/** Returns the list of runs as `emend web` gives it to a browser that signs in by the printed address. */
const pageList = async (): Promise<string> => {
  const [, origin = '', token = ''] = await serve(
    ['web', '--port', '0'],
    /review page +(http:\/\/[\d.:]+)\/#(?:token=)?([\w-]+)/,
  );
  const signIn = await fetch(`${origin}/api/login`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  const { key } = (await signIn.json()) as { key: string };
  const cookie = (signIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const list = await fetch(`${origin}/api/runs`, { headers: { cookie, 'x-emend-key': key } });
  return list.text();
};

/** Returns what `emend mcp` reports of the run. */
const agentStatus = async (run: string): Promise<string> => {
  const agent = new Client({ name: 'test-agent', version: '1' });
  const variables = Object.entries(environment()).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  await agent.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [CLI, 'mcp'],
      cwd: s.repo,
      env: Object.fromEntries(variables),
    }),
  );
  const { content } = await agent.callTool({ name: 'run_status', arguments: { run } });
  await agent.close();
  return JSON.stringify(content);
};

/** Returns the history as the server has it, each payload decoded from base64 alone. */
const bareHistory = async (workflowId: string) => {
  const connection = await Connection.connect({ address: process.env.EMEND_TEST_ADDRESS ?? '' });
  const { history } = await connection.workflowService.getWorkflowExecutionHistory({
    namespace,
    execution: { workflowId },
  });
  await connection.close();
  const encodings = new Set<string>();
  const text = JSON.stringify(history, (name, value: unknown) => {
    if (name !== 'data' && name !== 'encoding') return value;
    const decoded = Buffer.from(String(value), 'base64').toString('latin1');
    return decoded;
  });
  // The server itself reads search attributes, so no codec changes them.
  JSON.stringify(history, (name, value: unknown) => {
    if (name === 'encoding') encodings.add(Buffer.from(String(value), 'base64').toString('latin1'));
    return name === 'searchAttributes' ? undefined : value;
  });
  return { text, encodings };
};

test('worker, run, list, show, approve, page and MCP server read what the codec wrote; the history has no plain text', async () => {
  await serve(['worker'], /worker ready/);
  const run = await emend(['run', 'jobs/one.md']);
  expect(run).toMatchObject({ status: 3, output: expect.stringContaining('for you: approval') });
  expect((await emend(['list'])).output).toContain('jobs/one.md');
  const { runs } = JSON.parse((await emend(['list', '--json'])).output) as {
    runs: { stepKey: string; workflowId: string; decision: { id: string } }[];
  };
  const [{ stepKey, workflowId, decision }] = runs as [(typeof runs)[0]];
  expect((await emend(['show', stepKey])).output).toContain('Say quokka');
  expect(await pageList()).toContain('Say quokka');
  expect(await agentStatus(stepKey)).toContain('approval');
  expect((await emend(['approve', stepKey, '--decision', decision.id])).status).toBe(0);
  const ended = await s.end(await resolveRun(s.emend, stepKey));
  expect(ended).toMatchObject({ outcome: 'committed' });
  expect(s.git('show', 'HEAD:zanzibar.js')).toContain('umbrella');
  const { text, encodings } = await bareHistory(workflowId);
  expect(text.length).toBeGreaterThan(10_000);
  expect(text.match(/zanzibar|quokka|umbrella/gi)).toBeNull();
  expect([...encodings].filter((name) => name !== 'binary/encrypted')).toEqual([]);
});

test.each([
  ['converter.js', 'expected an absolute path'],
  ['/nowhere/converter.js', 'the module cannot be loaded'],
  [join(process.cwd(), 'scripts/install.js'), 'its default export is not an object'],
])('a command refuses EMEND_DATA_CONVERTER=%s with the reason', async (path, fault) => {
  const { status, output } = await emend(['run', 'jobs/one.md'], { EMEND_DATA_CONVERTER: path });
  expect(status).not.toBe(0);
  expect(output).toContain(`EMEND_DATA_CONVERTER=${path}: ${fault}`);
});
