/** What a model may write to our disk: a call's log has a named bound, whatever the stream is made of. */
import * as fs from 'node:fs/promises';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { createCallLog } from '../../src/stores/directory/records.js';
import { createCallJournal } from '../../src/model/journal/index.js';
import { callKey } from '../../src/model/journal/records.js';
import type { ModelPort, StreamEvent } from '../../src/model/ports.js';
import { askFor, journalAt, keyParts, withDir } from './support.js';

const START: StreamEvent = {
  type: 'message_start',
  message: { model: 'm', usage: { input_tokens: 100, output_tokens: 1 } },
};
const delta = (piece: object): StreamEvent => ({
  type: 'content_block_delta',
  index: 0,
  delta: piece,
});

/** Sends the events, and says how many were taken. */
const talker = (events: () => Iterable<StreamEvent>): ModelPort & { taken: number } => {
  const model = {
    taken: 0,
    stream: async (
      _request: unknown,
      { onEvent }: { onEvent: (event: StreamEvent) => Promise<void> },
    ) => {
      await onEvent(START);
      for (const event of events()) {
        await onEvent(event);
        model.taken++;
      }
    },
  };
  return model;
};
function* forever(event: StreamEvent): Generator<StreamEvent> {
  for (let n = 0; n < 1_000_000; n++) yield event;
}
const bytesIn = async (dir: string): Promise<number> => {
  const call = join(dir, keyParts.stepKey, callKey(keyParts));
  const sizes = await Promise.all(
    (await fs.readdir(call)).map(async (name) => (await fs.stat(join(call, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
};

const MOST = 20_000;
describe('a call is given up where its log would grow over maxCallLog_bytes', () => {
  test.each<[string, () => Iterable<StreamEvent>]>([
    [
      'thinking without end',
      () => forever(delta({ type: 'thinking_delta', thinking: 'hm '.repeat(50) })),
    ],
    ['many events of one letter', () => forever(delta({ type: 'text_delta', text: 'x' }))],
    ['events that bring nothing', () => forever({ type: 'content_block_stop', index: 0 })],
    ['one huge event', () => [delta({ type: 'text_delta', text: 'x'.repeat(10 * MOST) })]],
    [
      'a huge block to start with',
      () => [{ type: 'content_block_start', content_block: { text: 'ü'.repeat(MOST) } }],
    ],
  ])('%s', async (_name, events) => {
    await withDir(async (dir) => {
      const model = talker(events);
      const journal = createCallJournal({
        calls: createCallLog({ dir }),
        model,
        callOwner_ms: 60_000,
      });
      await expect(journal.ask(askFor({ maxCallLog_bytes: MOST }))).rejects.toMatchObject({
        kind: 'too_large',
        mayBePaid: true,
        retryable: false,
        message: expect.stringMatching(/20000 bytes \(maxCallLog_bytes\)/) as unknown,
      });
      expect(model.taken).toBeLessThan(MOST);
      const [attempt] = await journal.attempts(keyParts.stepKey);
      // It was paid for: counted as cut off, with what is known of its tokens.
      expect(attempt).toMatchObject({
        state: 'unknown',
        usage: { calls: 1, unknownCalls: 1, input_tokens: 100 },
      });
      // The log, and some hundred bytes for request, claim and end.
      expect(await bytesIn(dir)).toBeLessThan(MOST + 2_000);
    });
  });

  test('a raised limit lets the same call through', async () => {
    await withDir(async (dir) => {
      const events = () => [
        delta({ type: 'text_delta', text: 'x'.repeat(2 * MOST) }),
        { type: 'message_stop' },
      ];
      const options = {
        calls: createCallLog({ dir }),
        model: talker(events),
        callOwner_ms: 60_000,
      };
      await expect(
        createCallJournal(options).ask(askFor({ maxCallLog_bytes: MOST })),
      ).rejects.toMatchObject({
        kind: 'too_large',
      });
      expect(
        await createCallJournal(options).ask(askFor({ maxCallLog_bytes: 3 * MOST })),
      ).toMatchObject({
        outcome: 'answered',
        usage: { calls: 2, unknownCalls: 1 },
      });
    });
  });
});

test('pings cost no disk: ten thousand of them leave no line', async () => {
  const server = http.createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (event: StreamEvent) =>
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    send(START);
    for (let n = 0; n < 10_000; n++) send({ type: 'ping' });
    send(delta({ type: 'text_delta', text: 'hello' }));
    send({ type: 'message_stop' });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await withDir(async (dir) => {
      expect(await journalAt(dir, url).ask(askFor())).toMatchObject({
        outcome: 'answered',
        answer: { text: 'hello' },
      });
      expect(await bytesIn(dir)).toBeLessThan(4_000);
    });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
