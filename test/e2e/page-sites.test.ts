/**
 * What a web page can do that a person opens beside Emend, in a real browser that is signed in: by a form, by `fetch`, under a name that
 * is rebound to this machine, by an image; against the server's HTTP API, the Temporal UI and the review page. Nothing.
 */
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { ResolvedRun } from '../../src/client/index.js';
import { findTemporalCli } from '../../src/temporal/cli-binary.js';
import { startDevServer, type DevServer } from '../../src/temporal/dev-server.js';
import { inBrowser, launch, openPage, servePage, type ServedPage } from './page-support.js';
import { scene, whole, type Scene } from './support.js';

const NAME = 'rebound.example';

let dir: string;
let server: DevServer;
let s: Scene;
let run: ResolvedRun;
let served: ServedPage;
let browser: Browser;
let context: BrowserContext;
let evil: Server;
/** The decision that is open: the page knows it, so that nothing but the closed doors stops it. */
let decision: string;
/** As a signal's body. */
let input: object;
let signal: string;
let http = 0;

/** Ports that a process listens at. */
const portsOf = (pid: number): number[] => {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const path = `/proc/${pid}/fd/${fd}`;
      const name = safely(() => readlinkSync(path));
      return /^socket:\[(\d+)\]$/.exec(name)?.[1] ?? [];
    }),
  );
  return readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((cells) => cells[3] === '0A' && inodes.has(cells[9] ?? ''))
    .map((cells) => parseInt(cells[1]?.split(':')[1] ?? '', 16));
};
const safely = (read: () => string): string => {
  try {
    return read();
  } catch {
    return '';
  }
};
const statusOf = (port: number, host: string): Promise<number> =>
  new Promise((resolve) => {
    const sent = request(
      { host: '127.0.0.1', port, path: '/api/v1/namespaces', headers: { host } },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.setTimeout(2_000, () => sent.destroy());
    sent.on('error', () => {
      resolve(0);
    });
    sent.end();
  });

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'emend-sites-'));
  const cli = await findTemporalCli({
    env: { ...process.env, EMEND_TEMPORAL_CLI: process.env.EMEND_TEST_CLI },
  });
  server = await startDevServer({
    home: dir,
    cli,
    port: 0,
    dbFile: null,
    logFile: join(dir, 'server.log'),
  });
  s = await scene(
    { 'a.js': 'let a = 1;\n' },
    [{ name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'let a = 2;\n' }) }],
    { address: server.address },
  );
  await s.worker();
  run = await s.start('job.md', '---\ntarget_files: [a.js]\n---\n# Change a\n\nChange it.\n');
  const paused = await s.settle(run);
  decision = paused.status.decision!.id;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const data = base64(JSON.stringify({ decision }));
  input = { input: { payloads: [{ metadata: { encoding: base64('json/plain') }, data }] } };
  signal = `/api/v1/namespaces/default/workflows/${encodeURIComponent(paused.workflowId!)}/signal/approve`;
  served = await servePage(s.emend, { ui: server.hiddenUi });
  for (const port of portsOf(server.pid))
    if ((await statusOf(port, 'emend.invalid')) === 200) http = port;
  evil = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>evil</title>');
  });
  await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
  browser = await launch([`--host-resolver-rules=MAP *.example 127.0.0.1`]);
  context = await browser.newContext();
  await openPage(context, served);
}, 180_000);
afterAll(async () => {
  await browser.close();
  evil.close();
  await served.close();
  await s.close();
  await server.stop(0);
  rmSync(dir, { recursive: true, force: true });
});

/** What the page would have to bring about. */
const stillWaits = async (): Promise<void> => {
  const { status } = await s.show(run);
  expect([status.decision?.id, status.ignored]).toEqual([decision, []]);
  const history = await s.emend.runs!.historyEvents({
    workflowId: (await s.show(run)).workflowId!,
    runId: null,
  });
  expect(JSON.stringify(history)).not.toMatch(/WorkflowExecutionSignaled|"signalName"/);
};
const at = async (url: string): Promise<Page> => {
  const page = await context.newPage();
  await page.goto(url);
  return page;
};

inBrowser()('a page of another site, in the browser of somebody who is signed in', () => {
  /** Each door of the machine, by what a page would send there. */
  const doors = (): readonly (readonly [
    name: string,
    origin: string,
    path: string,
    body: unknown,
  ])[] => [
    ['HTTP API', `http://127.0.0.1:${http}`, signal, input],
    ['Temporal UI', served.uiUrl!, signal, input],
    ['review page', served.url, `/api/runs/${run.stepKey}/decide`, { decision, answer: 'approve' }],
  ];

  test('the HTTP API is there at all, and the UI listens nowhere on 127.0.0.1', async () => {
    expect(http).toBeGreaterThan(0);
    const { hostname, port } = new URL(server.hiddenUi!);
    expect(hostname).toMatch(/^127\.\d+\.\d+\.\d+$/);
    expect(hostname).not.toBe('127.0.0.1');
    expect(await statusOf(Number(port), `127.0.0.1:${port}`)).toBe(0);
  });

  test('by a form, by fetch, by an image: nothing is approved', async () => {
    const page = await at(`http://evil.example:${(evil.address() as AddressInfo).port}/`);
    for (const [, origin, path, body] of doors()) {
      // A form whose one field is a whole JSON text but for a last member that takes the equals sign.
      const text = JSON.stringify(body);
      await page.evaluate(
        async ([url, name]) => {
          document.body.innerHTML =
            '<iframe name="to"></iframe><form method="post" enctype="text/plain" target="to">';
          const form = document.forms[0]!;
          form.action = url;
          const field = document.createElement('input');
          field.name = name;
          field.value = '"}';
          form.append(field);
          const done = new Promise((resolve) =>
            document.querySelector('iframe')!.addEventListener('load', resolve),
          );
          form.submit();
          await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 3_000))]);
        },
        [`${origin}${path}`, `${text.slice(0, -1)},"x":"`] as const,
      );
      await page.evaluate(
        async ([url, sent]) => {
          const post = {
            method: 'POST',
            mode: 'no-cors',
            credentials: 'include',
            body: sent,
          } as const;
          await fetch(url, { ...post, headers: { 'content-type': 'text/plain' } }).catch(
            () => undefined,
          );
        },
        [`${origin}${path}`, text] as const,
      );
      await page.evaluate(
        (url) =>
          new Promise((resolve) => {
            const image = new Image();
            image.onload = image.onerror = resolve;
            image.src = url;
          }),
        `${origin}${path}`,
      );
    }
    await stillWaits();
  });

  test('under a name that is rebound to this machine: no answer, no token, nothing approved', async () => {
    const ports = [
      http,
      ...[served.uiUrl!, served.url, server.hiddenUi!].map((url) => Number(new URL(url).port)),
    ];
    for (const port of ports) {
      const page = await context.newPage();
      const opened = await page.goto(`http://${NAME}:${port}/`).catch(() => null);
      // Nothing listens there.
      if (opened === null) continue;
      expect([403, 404, 421]).toContain(opened.status());
      // Its own origin by now: any method, any header.
      for (const [, , path, body] of doors()) {
        const status = await page.evaluate(
          async ([to, sent]) => {
            const token = /_csrf=([^;]*)/.exec(document.cookie)?.[1] ?? '';
            const headers = { 'content-type': 'application/json', 'x-csrf-token': token };
            return fetch(to, { method: 'POST', headers, body: sent }).then(
              (answer) => answer.status,
              () => 0,
            );
          },
          [path, JSON.stringify(body)] as const,
        );
        expect([port, path, status >= 200 && status < 300]).toEqual([port, path, false]);
      }
      await page.close();
    }
    await stillWaits();
  });

  test('and the person sees the Temporal UI and approves there, where a stranger is not let in', async () => {
    const stranger = await browser.newContext();
    expect((await (await stranger.newPage()).goto(`${served.uiUrl}/`))?.status()).toBe(401);
    await stranger.close();
    const page = await at(`${served.uiUrl}/namespaces/default/workflows`);
    await page
      .getByRole('link', { name: run.live?.workflowId ?? 'emend-' })
      .first()
      .waitFor();
    const sent = await page.evaluate(
      async ([path, body]) => {
        const token = /_csrf=([^;]*)/.exec(document.cookie)?.[1] ?? '';
        const headers = { 'content-type': 'application/json', 'x-csrf-token': token };
        const answer = await fetch(path, { method: 'POST', headers, body });
        return `${answer.status} ${await answer.text()}`;
      },
      [signal, JSON.stringify(input)] as const,
    );
    expect(sent).toMatch(/^200/);
    expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
  });
});
