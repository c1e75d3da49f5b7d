/** A server whose rate limit refuses calls is not one that is gone: what it says is told, and in time. */
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { openEmend } from '../../src/client/index.js';
import { problemOf, tempDir } from '../client/fake.js';

const close: (() => unknown)[] = [];
afterAll(() => {
  for (const each of close) each();
});

/** Answers these methods with an empty message, all others with RESOURCE_EXHAUSTED. */
const serverThatAnswers = async (...methods: readonly string[]): Promise<string> => {
  const server = createServer().on('stream', (stream, { ':path': path = '' }) => {
    const head = { ':status': 200, 'content-type': 'application/grpc' };
    if (!methods.includes(path.split('/').at(-1) ?? '')) {
      const refused = { 'grpc-status': '8', 'grpc-message': 'namespace rate limit exceeded' };
      stream.respond({ ...head, ...refused }, { endStream: true });
      return;
    }
    stream.respond(head, { waitForTrailers: true });
    stream.on('wantTrailers', () => {
      stream.sendTrailers({ 'grpc-status': '0' });
    });
    stream.end(Buffer.alloc(5));
  });
  server.on('session', (session) => close.push(() => session.destroy()));
  close.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

test('what a rate limit refuses is told as that, at the connection and later', async () => {
  const [all, some] = await Promise.all([
    serverThatAnswers(),
    serverThatAnswers('GetSystemInfo', 'DescribeNamespace'),
  ]);
  const opened = async (address: string) =>
    openEmend({ env: { EMEND_HOME: await tempDir(), TEMPORAL_ADDRESS: address } });
  const refused = async (): Promise<void> => {
    expect(await opened(all)).toMatchObject({
      runs: null,
      unreachable: {
        message: expect.stringMatching(/refuses calls for now \(.*rate limit exceeded\)/),
      },
    });
  };
  const later = async (): Promise<void> => {
    const emend = await opened(some);
    const ref = { workflowId: 'w', runId: null };
    const asked = [
      () => emend.runs!.describe(ref),
      () => emend.runs!.query(ref, 'status', [], 5_000),
    ];
    for (const told of await Promise.all(asked.map(problemOf)))
      expect(told.message).toMatch(/refuses calls: .*namespace rate limit exceeded/);
    await emend.close();
  };
  await Promise.all([refused(), later()]);
}, 30_000);
