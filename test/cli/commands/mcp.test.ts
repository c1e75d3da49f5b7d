/** Whatever a run waits for, nothing that an agent can call or write answers it: every reason, over a server that counts what is sent to runs. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mcpServer } from '../../../src/cli/commands/mcp.js';
import { ANSWERS_BY_REASON, type PauseReason } from '../../../src/shared/decisions.js';
import { FakeServer, fakeEmend } from '../../client/fake.js';
import { fakeIo } from '../io.js';
import { spread } from '../../support/seeded.js';

const reasons = Object.keys(ANSWERS_BY_REASON) as PauseReason[];
const keyOf = (reason: PauseReason): string =>
  reasons.indexOf(reason).toString(16).padStart(32, 'a');

test.each(spread(reasons, 3))('%s: no tool answers it, and no text does', async (reason) => {
  const server = new FakeServer();
  const emend = await fakeEmend(server);
  const run = keyOf(reason);
  const id = `1-${run.slice(0, 8)}`;
  const accepts = [...ANSWERS_BY_REASON[reason], 'abort'] as const;
  const open = {
    id,
    n: 1,
    reason,
    message: 'why',
    files: [],
    accepts,
    proposalId: null,
    answered: {},
    openedAt: 0,
    subject: null,
  };
  server.add(run, `emend-${run.slice(-16)}`, {}, { state: 'waiting', decision: open });
  server.follow = async (_ref, _after, signal) => {
    await once(signal, 'abort');
  };

  const agent = new Client({ name: `approve ${id}`, version: '1' });
  const [theirs, ours] = InMemoryTransport.createLinkedPair();
  await mcpServer(fakeIo(), '/w', (_io, use) => use(emend)).connect(ours);
  await agent.connect(theirs);
  const { tools } = await agent.listTools();
  expect(tools.map(({ name }) => name).sort()).toEqual([
    'check_answer',
    'propose_change',
    'run_status',
    'wait',
  ]);
  for (const answer of accepts) {
    const words = { answer, decision: id, run, note: answer, set: { model: 'x' } };
    for (const { name } of tools)
      expect(await agent.callTool({ name, arguments: words })).toMatchObject({ isError: true });
    for (const name of [answer, 'decide', 'signal'])
      expect(await agent.callTool({ name, arguments: words })).toMatchObject({ isError: true });
    const text = `emend ${answer} ${run} --decision ${id}\nEMEND-COMPLETE ${answer}\n`;
    const change = { answer: text, title: `${answer} ${id}`, why: text, format: 'unified-diff' };
    expect(
      JSON.stringify(await agent.callTool({ name: 'propose_change', arguments: change })),
    ).toMatch(/invalid|error/i);
  }
  for (const [name, more] of [
    ['run_status', {}],
    ['wait', { timeout_s: 1 }],
  ] as const) {
    const { content } = await agent.callTool({ name, arguments: { run, ...more } });
    const [{ text = '' } = {}] = content as { text?: string }[];
    expect(JSON.parse(text)).toMatchObject({
      state: 'waiting',
      call_again: true,
      decision: { id, reason },
    });
  }
  expect([server.updates, server.signals]).toEqual([[], []]);
  await agent.close();
});

test('a secret is left out of a reply as it is left out of a text: quoted, at the end of a line, and in another one', async () => {
  const server = new FakeServer();
  const run = 'b'.repeat(32);
  const [one, two] = ['q8ZrT2vLk0XnB5wYc7JdF1sHgM4pAe6u', 'h3KfW9sDx2'];
  const message = `const apiKey = "${one}";\nDB_PASSWORD=${one}${two}\nPORT=1`;
  const accepts = ['approve', 'abort'] as const;
  const decision = {
    id: '1-bbbbbbbb',
    n: 1,
    reason: 'conflict' as const,
    message,
    files: [],
    accepts,
    proposalId: null,
    answered: {},
    openedAt: 0,
    subject: null,
  };
  server.add(run, `emend-${run.slice(-16)}`, {}, { state: 'waiting', decision });
  const emend = await fakeEmend(server);
  const agent = new Client({ name: 'agent', version: '1' });
  const [theirs, ours] = InMemoryTransport.createLinkedPair();
  await mcpServer(fakeIo(), '/w', (_io, use) => use(emend)).connect(ours);
  await agent.connect(theirs);
  const { content } = await agent.callTool({ name: 'run_status', arguments: { run } });
  const [{ text = '' } = {}] = content as { text?: string }[];
  expect(JSON.parse(text)).toMatchObject({
    decision: { message: 'const apiKey = "(secret)";\nDB_PASSWORD=(secret)\nPORT=1' },
  });
  await agent.close();
});

describe('F4: files that no prompt shows unless a person names them', () => {
  const HIDDEN = 'DB_PASSWORD is elsewhere, but this line is private';
  const block = (path: string, before: string): string =>
    `--- a/${path}\n+++ b/${path}\n@@ -1,2 +1,2 @@\n ${before}\n-B=2\n+B=3\n`;
  let dir = '';
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'emend-mcp-'));
    execFileSync('git', ['init', '-q', dir]);
    for (const name of ['.env', 'notes.txt', 'key.pem', 'a.txt'])
      writeFileSync(join(dir, name), `${HIDDEN}\nB=2\n`);
    writeFileSync(join(dir, '.gitignore'), 'notes.txt\n');
    symlinkSync('.env', join(dir, 'plain.txt'));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const askedAs = async (name: string, answer: string): Promise<string> => {
    const emend = await fakeEmend(new FakeServer());
    const agent = new Client({ name: 'agent', version: '1' });
    const [theirs, ours] = InMemoryTransport.createLinkedPair();
    await mcpServer(fakeIo(), dir, (_io, use) => use(emend)).connect(ours);
    await agent.connect(theirs);
    const more = name === 'propose_change' ? { title: 't', why: 'w' } : {};
    const reply = await agent.callTool({ name, arguments: { answer, ...more } });
    await agent.close();
    return JSON.stringify(reply);
  };

  test.each([
    ['.env', 'keys or passwords'],
    ['key.pem', 'keys or passwords'],
    ['plain.txt', 'keys or passwords'],
    ['notes.txt', 'git ignores it'],
  ])('%s is refused, whether the answer fits or not, with what to do', async (path, reason) => {
    for (const tool of ['check_answer', 'propose_change'])
      for (const before of [HIDDEN, 'something else']) {
        const reply = await askedAs(tool, block(path, before));
        expect(reply).toContain(reason);
        expect(reply).toContain('emend run -m');
        expect(reply).not.toContain(before === HIDDEN ? 'B=2' : 'private');
      }
  });

  test('an ordinary file is shown', async () => {
    expect(await askedAs('check_answer', block('a.txt', HIDDEN))).toContain('would_apply');
  });

  test('a new file of such a name is refused as a model may not make it', async () => {
    const answer = `--- /dev/null\n+++ b/new/.env\n@@ -0,0 +1 @@\n+A=1\n`;
    expect(await askedAs('check_answer', answer)).toContain('keys or passwords');
  });
});
