/** The review page's server under attack, over HTTP, with the real client on a real server. */
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { resolveRun } from '../../src/client/index.js';
import { servePage, type ServedPage } from './page-support.js';
import { scene, whole, type Scene } from './support.js';

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}
interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** The address that it comes from. */
  readonly from?: string;
}

let s: Scene;
let served: ServedPage;
let stepKey: string;
let proposal: string;
let cookie: string;
let key: string;
let queries = 0;

const raw = ({
  method = 'GET',
  path,
  headers = {},
  body,
  from = '127.0.0.1',
}: Ask): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        host: '127.0.0.1',
        localAddress: from,
        port: served.port,
        method,
        path,
        headers,
        agent: false,
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(parts).toString(),
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
const origin = (): string => `http://127.0.0.1:${served.port}`;
const post = (
  path: string,
  value: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  raw({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', origin: origin(), ...headers },
    body: JSON.stringify(value),
  });
const inside = (): Record<string, string> => ({ cookie, 'x-emend-key': key });
const get = (path: string, headers: Record<string, string> = inside()): Promise<Answer> =>
  raw({ path, headers });
const tokenOf = (address: string): string => address.split('#token=')[1] ?? '';
const letIn = async (): Promise<{ cookie: string; key: string }> => {
  const answer = await post('/api/login', { token: tokenOf(served.address()) });
  expect(answer.status).toBe(200);
  return {
    cookie: String(answer.headers['set-cookie']).split(';')[0] ?? '',
    key: (JSON.parse(answer.body) as { key: string }).key,
  };
};

beforeAll(async () => {
  s = await scene({ 'a.js': 'let a = 1;\n', 'secret.txt': 'not to be seen\n' }, [
    { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'let a = 2;\n' }) },
  ]);
  await s.worker();
  const runs = s.emend.runs!;
  // What the page's server asks of runs; each is an action.
  const counted: typeof runs.query = (...args) => {
    queries += 1;
    return runs.query(...args);
  };
  served = await servePage({ ...s.emend, runs: { ...runs, query: counted } });
  const run = await s.start(
    'job.md',
    '---\ntarget_files: [a.js]\ntest: test 1\n---\n# Change a\n\nChange it.\n',
  );
  const view = await s.settle(run);
  stepKey = run.stepKey;
  proposal = view.proposal?.id ?? '';
  expect(proposal).toMatch(/^[0-9a-f]{64}$/);
}, 120_000);
afterAll(async () => {
  await served.close();
  expect(served.errors).toEqual([]);
  await s.close();
});

describe('letting in', () => {
  test('a token is good once; the cookie is strict; the next token is offered', async () => {
    const token = tokenOf(served.address());
    const answer = await post('/api/login', { token });
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^emend-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/,
      ),
    ]);
    cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
    key = (JSON.parse(answer.body) as { key: string }).key;
    expect((await get('/api/session')).status).toBe(200);
    expect((await post('/api/login', { token })).status).toBe(401);
    expect(tokenOf(served.address())).not.toBe(token);
    for (const wrong of [
      { token: 'x' },
      { token: '' },
      { token: [token] },
      {},
      { secret: 'x', name: 'eve' },
    ])
      expect([400, 401]).toContain((await post('/api/login', wrong)).status);
  });

  test('nothing opens without both halves of a session, and after signing out nothing does', async () => {
    const other = await letIn();
    const halves: Record<string, string>[] = [
      {},
      { cookie: other.cookie },
      { 'x-emend-key': other.key },
      { cookie: other.cookie, 'x-emend-key': key },
      { cookie, 'x-emend-key': other.key },
    ];
    const places = [
      '/api/session',
      '/api/runs',
      '/api/live',
      `/api/runs/${stepKey}/live`,
      `/api/runs/${stepKey}/diff/${proposal}`,
      `/api/runs/${stepKey}/file/${proposal}?path=a.js`,
    ];
    for (const headers of halves)
      for (const path of places) expect((await get(path, headers)).status).toBe(401);
    for (const headers of halves)
      expect(
        (await post(`/api/runs/${stepKey}/decide`, { decision: 'x', answer: 'approve' }, headers))
          .status,
      ).toBe(401);
    const both = { cookie: other.cookie, 'x-emend-key': other.key };
    expect((await get('/api/session', both)).status).toBe(200);
    expect((await post('/api/logout', {}, both)).status).toBe(200);
    expect((await get('/api/session', both)).status).toBe(401);
  });

  test('tries are counted', async () => {
    const tries = await Promise.all(
      Array.from({ length: 30 }, () => post('/api/login', { token: 'guess' })),
    );
    expect(tries.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(10);
    expect(tries.some(({ status }) => status === 429)).toBe(true);
    // Whoever guesses shuts out nobody: not another address, and not the right token.
    const elsewhere = {
      method: 'POST',
      path: '/api/login',
      from: '127.0.0.2',
      body: JSON.stringify({ token: 'guess' }),
    };
    const headers = { 'content-type': 'application/json', origin: origin() };
    expect((await raw({ ...elsewhere, headers })).status).toBe(401);
    expect((await post('/api/login', { token: 'guess' })).status).toBe(429);
    await letIn();
  });
});

describe('other sites and other names', () => {
  test('a name that resolves to us is not ours, whatever it asks for', async () => {
    for (const path of ['/', '/api/session', '/api/runs'])
      for (const host of [
        'evil.example',
        `evil.example:${served.port}`,
        `127.0.0.1.evil.example:${served.port}`,
        '127.0.0.1:1',
      ])
        expect((await get(path, { ...inside(), host })).status).toBe(421);
  });

  test('a change from another site, from nowhere, by a form or by a link does not happen', async () => {
    const { decision } = (await s.show(await resolveRun(s.emend, stepKey))).status;
    const wanted = { decision: decision!.id, answer: 'skip' };
    const path = `/api/runs/${stepKey}/decide`;
    for (const from of [
      'http://evil.example',
      'null',
      `http://127.0.0.1:${served.port + 1}`,
      `https://127.0.0.1.evil.example`,
    ])
      expect((await post(path, wanted, { ...inside(), origin: from })).status).toBe(403);
    expect(
      (
        await raw({
          method: 'POST',
          path,
          headers: { ...inside(), 'content-type': 'application/json' },
          body: JSON.stringify(wanted),
        })
      ).status,
    ).toBe(403);
    expect((await post(path, wanted, { ...inside(), 'content-type': 'text/plain' })).status).toBe(
      400,
    );
    expect((await get(path)).status).toBe(405);
    expect((await s.show(await resolveRun(s.emend, stepKey))).status.decision?.id).toBe(
      decision!.id,
    );
  });

  test('every answer has the policy: no inline code, no HTML from text, no frame, nothing kept', async () => {
    for (const path of ['/', '/api/session', '/nothing', `/api/runs/${stepKey}/diff/${proposal}`]) {
      const { headers } = await get(path);
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("require-trusted-types-for 'script'");
      expect(policy).not.toContain('unsafe');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['access-control-allow-origin']).toBeUndefined();
      expect(headers['cache-control']).toMatch(/no-store|no-cache/);
    }
    expect((await get('/')).body).not.toMatch(/<script(?![^>]* src=)/);
  });
});

describe('asking for what is not there to be asked for', () => {
  test('only known runs, their present proposal and its files', async () => {
    expect((await get(`/api/runs/${stepKey}/diff/${proposal}`)).body).toContain('+let a = 2;');
    expect(JSON.parse((await get(`/api/runs/${stepKey}/file/${proposal}?path=a.js`)).body)).toEqual(
      {
        before: 'let a = 1;\n',
        after: 'let a = 2;\n',
      },
    );
    const tricks = [
      'secret.txt',
      '../secret.txt',
      '/etc/passwd',
      'a.js/../secret.txt',
      '..%2fsecret.txt',
      './a.js',
      'a.js%00',
      '__proto__',
      '',
    ];
    for (const path of tricks) {
      const answer = await get(
        `/api/runs/${stepKey}/file/${proposal}?path=${encodeURIComponent(path)}`,
      );
      expect([path, answer.status]).toEqual([path, 400]);
      expect(answer.body).not.toContain('not to be seen');
    }
    const other = 'f'.repeat(64);
    expect((await get(`/api/runs/${stepKey}/diff/${other}`)).status).toBe(409);
    for (const run of [
      '..',
      '%2e%2e',
      '..%2f..',
      'a'.repeat(32),
      stepKey.slice(0, 8),
      `${stepKey}x`,
      'emend-0000',
      '*',
    ])
      expect([run, (await get(`/api/runs/${run}/diff/${proposal}`)).status]).toEqual([run, 404]);
    for (const path of [
      '/../package.json',
      '/assets/../../package.json',
      '/%2e%2e/package.json',
      '/assets/',
      '//etc/passwd',
      '/index.html',
      '/src/web/server.ts',
      '/.build-hash',
    ])
      expect([path, (await get(path)).status]).toEqual([path, 404]);
  });

  test('answers that are not as they should be, too large, or half sent', async () => {
    const path = `/api/runs/${stepKey}/decide`;
    const bad: unknown[] = [
      null,
      [],
      'x',
      {},
      { decision: 'x' },
      { decision: 'x', answer: 7 },
      { decision: 'x', answer: 'approve', by: 7 },
      { decision: 'x', answer: 'approve', sign: true },
      { decision: 'x', answer: 'approve', files: 'a.js' },
      { decision: 'x', answer: 'retry', set: [] },
    ];
    for (const body of bad)
      expect([body, (await post(path, body, inside())).status]).toEqual([body, 400]);
    expect(
      (await post(path, { decision: 'x', answer: 'retry', note: 'n'.repeat(300_000) }, inside()))
        .status,
    ).toBe(400);
    // The run itself refuses what does not fit its state.
    const { decision } = (await s.show(await resolveRun(s.emend, stepKey))).status;
    for (const body of [
      { decision: '1-other', answer: 'approve' },
      { decision: decision!.id, answer: 'destroy' },
      { decision: decision!.id, answer: 'retry', set: { budget_usd: {} } },
    ])
      expect([body, (await post(path, body, inside())).status]).toEqual([body, 409]);
    expect((await get(`/api/runs?${'q'.repeat(8_000)}`)).status).toBe(414);
    expect((await raw({ method: 'DELETE', path: '/api/runs', headers: inside() })).status).toBe(
      405,
    );
    // A request that never ends is not waited for when the page is closed; and one that is no HTTP ends nobody.
    const half = connect(served.port, '127.0.0.1');
    half.on('error', () => undefined);
    half.write('POST /api/login HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{');
    const noise = connect(served.port, '127.0.0.1');
    noise.on('error', () => undefined);
    noise.resume();
    noise.write('\u0000\u0001not http at all\r\n\r\n');
    await new Promise((resolve) => noise.once('close', resolve));
    expect((await get('/api/session')).status).toBe(200);
  });
});

test('10,000 requests in a burst: most are refused, who is let in is still answered, and nothing happened to the run', async () => {
  const codes = new Map<number, number>();
  let left = 10_000;
  const stranger = async (): Promise<void> => {
    while (left-- > 0) {
      const { status } = await get(left % 2 === 0 ? '/' : '/api/runs', {});
      codes.set(status, (codes.get(status) ?? 0) + 1);
    }
  };
  const all = Promise.all(Array.from({ length: 50 }, stranger));
  expect((await get('/api/session')).status).toBe(200);
  await all;
  expect([...codes.values()].reduce((sum, n) => sum + n, 0)).toBe(10_000);
  expect(codes.get(429) ?? 0).toBeGreaterThan(5_000);
  expect([...codes.keys()].every((status) => [200, 401, 429].includes(status))).toBe(true);
  expect((await get(`/api/runs/${stepKey}/diff/${proposal}`)).status).toBe(200);
  expect((await s.show(await resolveRun(s.emend, stepKey))).status.state).toBe('waiting');
}, 120_000);

/** A stream as the page reads it: its messages so far; `close` ends it. */
const stream = (
  path: string,
  since?: string,
): { readonly text: () => string; readonly close: () => void } => {
  let text = '';
  const headers = { ...inside(), ...(since === undefined ? {} : { 'last-event-id': since }) };
  const sent = httpRequest(
    { host: '127.0.0.1', port: served.port, path, headers, agent: false },
    (response) => {
      response.on('data', (part: Buffer) => (text += part.toString()));
      response.on('error', () => undefined);
    },
  );
  sent.on('error', () => undefined);
  sent.end();
  return { text: () => text, close: () => sent.destroy() };
};

test('streams: an unchanged run is asked nothing however many look, and one that broke goes on where it was', async () => {
  const path = `/api/runs/${stepKey}/live`;
  const first = stream(path);
  const list = stream('/api/live');
  await s.until(() => first.text().includes('"view"') && list.text().includes('"list"'), 60);
  // The list looks at each open run once more when it begins to follow it.
  await s.until(() => list.text().split('event: change').length > 2, 60);
  const before = queries;
  const more = Array.from({ length: 5 }, () => stream(path));
  await s.until(() => more.every((each) => each.text().includes('"view"')), 60);
  const id = /^id: (.*)$/m.exec(first.text())?.[1] ?? '';
  const resumed = stream(path, id);
  const lastSeq = Number(id.split('.').at(-1));
  expect(lastSeq).toBeGreaterThan(0);
  expect((await get('/api/session')).status).toBe(200);
  expect(queries).toBe(before);
  expect(resumed.text()).not.toContain('event: change');
  const { decision } = (await s.show(await resolveRun(s.emend, stepKey))).status;
  const answer = { decision: decision!.id, answer: 'skip' };
  expect((await post(`/api/runs/${stepKey}/decide`, answer, inside())).status).toBe(200);
  await s.until(() => resumed.text().includes('skip'), 60);
  const message = JSON.parse(/^data: (.*)$/m.exec(resumed.text())?.[1] ?? '{}') as {
    from: number;
    events: { seq: number }[];
  };
  expect(message.from).toBe(lastSeq);
  expect(message.events.every(({ seq }) => seq > lastSeq)).toBe(true);
  for (const each of [first, list, resumed, ...more]) each.close();
}, 180_000);
