/**
 * What commands advise where there is no server or no worker, typed word for word: each piece of advice ends with a server and a worker that
 * the next command finds. None leads back to the message that gave it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import {
  connect as connectHttp2,
  constants,
  createServer,
  type Http2Server,
  type Http2Session,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, jest, test } from '@jest/globals';
import { follow, serverOf, terminals, type Terminals } from './terminals.js';

jest.setTimeout(180_000);

const CLOSED = '127.0.0.1:1';
let open: Terminals | null = null;
const close: (() => unknown)[] = [];
afterEach(async () => {
  await open?.close();
  open = null;
  for (const each of close.splice(0)) await each();
});
const begin = async (): Promise<Terminals> => {
  const s = (open = await terminals({ 'a.js': 'let a = 1;\n' }, []));
  writeFileSync(join(s.repo, 'job.md'), '---\ntarget_files: [a.js]\n---\n# Grow\n\nRaise it.\n');
  return s;
};
const SERVER = process.env.EMEND_TEST_ADDRESS ?? '';
/** The part of a message that is to be typed. */
const advised = (said: string, pattern: RegExp): string => {
  expect(said).toMatch(pattern);
  return pattern.exec(said)?.[1] ?? '';
};
test('TEMPORAL_ADDRESS names a server that is not there: list, doctor, run and dev advise the same, and it works', async () => {
  const s = await begin();
  const set = `export TEMPORAL_ADDRESS=${CLOSED}; `;
  const OWN = /use a local server/;
  const told: string[] = [];
  // The first makes the home, else `list` had nothing to ask for.
  for (const command of [
    'run job.md',
    'list',
    'doctor',
    'run job.md --dev',
    'dev',
    'worker',
    'review',
  ]) {
    const { said } = await s.done(`${set}emend ${command}`);
    expect({ command, said }).toMatchObject({ said: expect.stringMatching(OWN) });
    told.push(advised(said, /use a local server: (.*emend dev)/));
  }
  expect(new Set(told)).toEqual(new Set(['unset TEMPORAL_ADDRESS; emend dev']));
  await follow(s, `${set}${told[0]}`);
});

test('nobody serves the queue: the command that starts a worker does, with the queue of the run', async () => {
  const s = await begin();
  const set = `export TEMPORAL_ADDRESS=${SERVER}; `;
  const { said } = await s.done(`${set}emend run job.md`);
  const own = advised(said, /No worker serves the task queues .* Start one: `(emend worker)`/);
  const run = /^([0-9a-f]{8}) {2}Grow/m.exec(said)?.[1] ?? '';
  // Typed in a terminal of another queue it would start a worker there.
  const other = await s.done(`${set}export EMEND_QUEUE=other; emend show ${run}`);
  const there = advised(other.said, /Start one: `(EMEND_QUEUE=\S+ emend worker)`/);
  expect((await s.done(`${set}emend doctor`)).said).toContain(`Start one: \`${own}\``);
  const worker = s.type(`${set}export EMEND_QUEUE=other; ${there}`);
  await worker.says(/worker ready/);
  expect((await s.done(`${set}emend list`)).said).not.toContain('No worker');
  await worker.kill('SIGTERM');
  await follow(s, `${set}${own}`);
});

test('`emend dev` beside a configured server: a worker for it, as it says', async () => {
  const s = await begin();
  const set = `export TEMPORAL_ADDRESS=${SERVER}; `;
  const { code, said } = await s.done(`${set}emend dev`);
  expect({ code, said }).toMatchObject({
    code: 2,
    said: expect.stringContaining(`A Temporal server is configured, ${SERVER}`),
  });
  await follow(s, `${set}${advised(said, /start a worker for it: (emend worker)/)}`);
});

test('a profile of temporal.toml names a server that is not there', async () => {
  const s = await begin();
  writeFileSync(join(s.repo, 'temporal.toml'), `[profile.mine]\naddress = "${CLOSED}"\n`);
  const set = 'export TEMPORAL_CONFIG_FILE=temporal.toml TEMPORAL_PROFILE=mine; ';
  const { said } = await s.done(`${set}emend run job.md`);
  await follow(s, `${set}${advised(said, /use a local server: (.*emend dev)/)}`);
});

test('a temporal.toml that cannot be read, at its usual place and at another', async () => {
  const s = await begin();
  const usual = join(s.env.HOME ?? '', '.config/temporalio');
  mkdirSync(usual, { recursive: true });
  for (const path of [join(usual, 'temporal.toml'), join(s.repo, 'mine.toml')])
    writeFileSync(path, 'not = = toml\n');
  for (const set of ['', 'export TEMPORAL_CONFIG_FILE=mine.toml TEMPORAL_PROFILE=none; ']) {
    const { said } = await s.done(`${set}emend run job.md`);
    const without = advised(said, /ignore the file: (.*)$/m);
    const dev = await follow(s, `${set}${without}; emend dev`);
    await dev.kill('SIGTERM');
  }
});

test('a namespace that is not there: another, or one that is made', async () => {
  const s = await begin();
  await follow(s, 'emend dev');
  const name = `n-${process.pid}`;
  const set = `export TEMPORAL_NAMESPACE=${name}; `;
  // A worker without a terminal prints JSON.
  const { said } = await s.done(`${set}emend worker`);
  const { next } = JSON.parse(said.trim().split('\n').at(-1) ?? '') as { next: string };
  const other = advised(next, /(export TEMPORAL_NAMESPACE=default)/);
  expect((await s.done(`${set}${other}; emend doctor`)).said).toMatch(/^ok +worker/m);
  const made = await s.done(advised(next, /create it: (temporal .*)$/m));
  expect(made).toEqual({ code: 0, said: expect.stringContaining('successfully registered') });
  await follow(s, `${set}emend worker`);
});

test("the UI's port in place of the server's, or that of something else", async () => {
  const s = await begin();
  await follow(s, 'emend dev');
  const { hiddenUi } = JSON.parse((await s.done('cat "$EMEND_HOME/dev-server.json"')).said) as {
    hiddenUi: string;
  };
  for (const wrong of [new URL(hiddenUi).host, await otherServer()]) {
    const { said } = await s.done(`TEMPORAL_ADDRESS=${wrong} emend doctor`);
    expect(said).toContain('with its gRPC port, usually 7233, not that of its UI, 8233');
  }
  expect((await s.done(`TEMPORAL_ADDRESS=${serverOf(s).address} emend doctor`)).said).toMatch(
    /^ok +worker/m,
  );
});

/** HTTP/2, as Temporal speaks, and nothing that is known there. */
const otherServer = async (): Promise<string> => {
  const server = createServer((_request, response) => response.writeHead(404).end());
  return listening(server);
};
const listening = async (server: Http2Server): Promise<string> => {
  const sessions = new Set<Http2Session>();
  server.on('session', (session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  close.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** A server that wants a key: it lets through to the tests' server what carries one. */
const keyed = async (key: string): Promise<string> => {
  const behind = connectHttp2(`http://${SERVER}`);
  close.push(() => {
    behind.destroy();
  });
  const server = createServer();
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (headers.authorization !== `Bearer ${key}`) {
      const refusal = { 'grpc-status': '16', 'grpc-message': 'Request unauthorized.' };
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', ...refusal },
        { endStream: true },
      );
      return;
    }
    const asked = behind.request({ ...headers, ':authority': SERVER });
    asked.on('error', () => stream.close(constants.NGHTTP2_CANCEL));
    stream.on('close', () => asked.close(constants.NGHTTP2_CANCEL));
    let trailers = {};
    asked.on('trailers', (found: object) => {
      trailers = found;
    });
    asked.on('response', (found, flags) => {
      const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      stream.respond(found, { waitForTrailers: !endStream, endStream });
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
      if (!endStream) asked.pipe(stream);
    });
    stream.pipe(asked);
  });
  return listening(server);
};

test('a server that wants a key', async () => {
  const s = await begin();
  const set = `export TEMPORAL_TLS=false TEMPORAL_ADDRESS=${await keyed('the-key')}; `;
  const { said } = await s.done(`${set}emend doctor`);
  expect(said).toMatch(/it denies access \(.*unauthorized/i);
  expect(said).toContain('Check TEMPORAL_API_KEY');
  await follow(s, `${set}export TEMPORAL_API_KEY=the-key; emend worker`);
});

test('a server that hangs: its `emend dev` was killed, or lives', async () => {
  const s = await begin();
  const quick = 'export EMEND_CONNECT_MS=1500; ';
  const first = await follow(s, 'emend dev');
  const hung = serverOf(s).pid;
  process.kill(hung, 'SIGSTOP');
  const advice = advised(
    (await s.done(`${quick}emend run job.md`)).said,
    /Start one with `(emend dev)`/,
  );
  const beside = await s.done(advice);
  // One that lives is not ended by another: it is named, and then the advice works.
  expect(beside).toMatchObject({ code: 2, said: expect.stringContaining(`kill ${first.pid}`) });
  await first.kill('SIGKILL');
  await follow(s, advice);
});
