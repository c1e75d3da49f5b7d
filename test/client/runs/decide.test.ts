import { describe, expect, test } from '@jest/globals';
import { decide, type DecideOptions } from '../../../src/client/runs/decide.js';
import { resolveRun } from '../../../src/client/runs/resolve.js';
import type { DecisionPoint } from '../../../src/shared/decisions.js';
import { problem, ProblemError } from '../../../src/shared/problems.js';
import { fakeEmend, FakeServer, problemOf } from '../fake.js';

const KEY = 'abcd1234'.padEnd(32, '0');
const DECISION: DecisionPoint = {
  id: '1-abcd1234-99999999',
  n: 1,
  reason: 'approval',
  message: 'ready',
  files: [{ path: 'a.ts', reason: 'approval', message: '' }],
  accepts: ['approve', 'skip', 'revise', 'abort'],
  proposalId: '9'.repeat(64),
  answered: {},
  openedAt: 0,
  subject: null,
};

const waiting = async () => {
  const server = new FakeServer();
  const run = server.add(KEY, 'emend-1', {}, { state: 'waiting', decision: DECISION });
  const emend = await fakeEmend(server);
  const send = async (options: DecideOptions) =>
    decide(emend, await resolveRun(emend, KEY), options);
  return { server, run, emend, send };
};

describe('an answer', () => {
  test('names the open decision, and is kept in the archive', async () => {
    const { server, emend, send } = await waiting();
    const result = await send({
      answer: 'approve',
      decision: DECISION.id,
      files: ['a.ts'],
      by: { name: 'kim', from: 'cli' },
    });
    expect(result).toEqual({ outcome: 'resolved', decision: 'd', message: 'done', via: 'update' });
    const [request] = server.updates;
    expect(request).toMatchObject({
      v: 2,
      decision: DECISION.id,
      answer: 'approve',
      files: ['a.ts'],
      by: { name: 'kim', from: 'cli' },
    });
    expect(request).not.toHaveProperty('note');
    const kept = (await emend.archive.read(KEY)).filter((entry) => entry.kind === 'decision');
    expect(kept).toMatchObject([{ id: request?.requestId, data: { request, result } }]);
  });

  test.each([
    [
      true,
      'The run has not confirmed the answer yet. The server keeps it; see the result with `emend show',
    ],
    [false, 'No worker has responded yet'],
  ])(
    'not accepted in time (worker: %s) goes as a signal: the same request, which counts once',
    async (workers, words) => {
      const { server, send } = await waiting();
      Object.assign(server, { workers, answer: { kind: 'not_accepted' } });
      const result = await send({ answer: 'approve', decision: DECISION.id });
      expect(result).toMatchObject({
        outcome: 'sent',
        via: 'signal',
        message: expect.stringContaining(words),
      });
      expect(server.signals).toEqual([{ name: 'answer', payload: server.updates[0] }]);
    },
  );

  test.each([
    ['with no decision', { answer: 'approve' }, 'usage', /needs the id of the decision you saw/],
    ['revise without a note', { answer: 'revise' }, 'usage', /needs a note/],
    ['other without a command', { answer: 'other' }, 'usage', /needs set\.command/],
    [
      'move to a URL with a password, which a server would keep for whichever worker comes',
      {
        answer: 'move',
        decision: DECISION.id,
        set: { repository: 'https://me:word@example.org/x.git' },
      },
      'usage',
      /repository: expected a URL without a user or password/,
    ],
    [
      'with a note over the bound',
      { answer: 'skip', note: 'x'.repeat(64 * 1024 + 1) },
      'usage',
      /65537 bytes/,
    ],
  ] as const)('%s is refused before it is sent', async (_name, options, code, words) => {
    const { server, send } = await waiting();
    const found = await problemOf(() => send(options));
    expect(found.code).toBe(code);
    expect(found.message).toMatch(words);
    expect(server.updates).toEqual([]);
    expect(server.signals).toEqual([]);
  });

  test('what the run itself refuses is said in its words', async () => {
    const { server, emend, send } = await waiting();
    server.answer = { kind: 'refused', message: 'decision 0-x is not open; open is 1-y' };
    expect(await problemOf(() => send({ answer: 'approve', decision: '0-x' }))).toMatchObject({
      code: 'answer_not_accepted',
      message: 'decision 0-x is not open; open is 1-y',
    });
    expect(await emend.archive.read(KEY)).toEqual([]);
  });

  test('not accepted in time by a run that goes on in a new one meanwhile goes to that one', async () => {
    const { server, run, send } = await waiting();
    const { answer } = server;
    server.answer = { kind: 'not_accepted' };
    server.signal = async () => {
      server.close(run, { status: 'CONTINUED_AS_NEW', result: null, message: null });
      server.add(KEY, 'emend-1');
      server.answer = answer;
      return false;
    };
    expect(await send({ answer: 'approve', decision: DECISION.id })).toMatchObject({
      outcome: 'resolved',
    });
    expect(server.updates.map(({ requestId }) => requestId)).toEqual(
      Array(2).fill(server.updates[0]?.requestId),
    );
  });

  test('where the server goes away nobody can say whether it has the answer, and it is said so', async () => {
    const { server, send } = await waiting();
    server.update = () =>
      Promise.reject(new ProblemError(problem('no_server', 'Gone.', 'See `emend list`.')));
    expect(await problemOf(() => send({ answer: 'approve', decision: DECISION.id }))).toMatchObject(
      {
        code: 'no_server',
        message: 'Gone. It may have received the answer.',
        next: 'See `emend list`. Is the decision still open? Answer again.',
      },
    );
  });

  test('with no worker an answer goes as a signal, an abort without a decision', async () => {
    const { server, send } = await waiting();
    server.workers = false;
    server.answer = { kind: 'not_accepted' };
    await send({ answer: 'approve', decision: DECISION.id });
    await send({ answer: 'abort' });
    expect(server.signals.map(({ payload }) => payload)).toMatchObject([
      { answer: 'approve', decision: DECISION.id },
      { answer: 'abort', decision: '' },
    ]);
  });

  test('to a run that has ended is not accepted', async () => {
    const { server, run, send } = await waiting();
    server.close(run, { status: 'COMPLETED', result: null, message: null });
    expect(await problemOf(() => send({ answer: 'approve', decision: DECISION.id }))).toMatchObject(
      {
        code: 'answer_not_accepted',
        message: expect.stringContaining('no longer open'),
      },
    );
  });
});

describe('F1: words of an answer', () => {
  const TOKEN = `ghp_${'a1B2c3D4'.repeat(5).slice(0, 36)}`;

  test('a recognized token in a note reaches neither the server nor the archive', async () => {
    const { server, emend, send } = await waiting();
    await send({ answer: 'revise', decision: DECISION.id, note: `Use ${TOKEN} for it.` });
    expect(server.updates[0]?.note).toBe('Use (secret) for it.');
    const kept = JSON.stringify(await emend.archive.read(KEY));
    expect(kept).toContain('Use (secret) for it.');
    expect(kept).not.toContain(TOKEN.slice(4, 20));
  });

  test('the value of a secret-named variable neither', async () => {
    process.env.F1_SECRET = 'Zq8rT2vLk0Xn';
    try {
      const { server, send } = await waiting();
      await send({ answer: 'revise', decision: DECISION.id, note: 'Not Zq8rT2vLk0Xn.' });
      expect(server.updates[0]?.note).toBe('Not (secret).');
    } finally {
      delete process.env.F1_SECRET;
    }
  });

  test('a command with a token is refused, as it could not run without it', async () => {
    const { server, send } = await waiting();
    const refused = await problemOf(() =>
      send({ answer: 'other', decision: DECISION.id, set: { command: `KEY=${TOKEN} npm test` } }),
    );
    expect(refused).toMatchObject({ code: 'usage', message: expect.stringContaining('secret') });
    expect(refused.message + String(refused.next)).not.toContain(TOKEN.slice(4, 20));
    expect(server.updates).toEqual([]);
  });
});
