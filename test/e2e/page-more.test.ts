/**
 * More of the review page in a real browser: beyond loopback (the shared secret, `--host` and `--public-url` of the real command), at 200 %
 * zoom, and with runs that another machine starts.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { clipped, unseenFocus } from './page-narrow.js';
import { inBrowser, launch, openPage, picture, servePage, violations } from './page-support.js';
import { OWN_STORE } from './homes.js';
import { scene, whole, type Scene } from './support.js';
import { NEW_RUNS_LOOK_MS } from '../../src/client/runs/watch-list.js';
import { WEB_LOGINS_BURST } from '../../src/web/server.js';

jest.setTimeout(180_000);

const SECRET = 'correct horse battery staple';
const NAME = 'emend.example.org';
const EVIL = 'evil.example.net';
const REBOUND = 'rebound.example.net';
/** An address of this machine that is not loopback to the page: the network's, or where there is none another of 127.0.0.0/8. */
const HOST =
  Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.2';

/** A line that no window is wide enough for, and one that can be broken nowhere. */
const WIDE = `let a = ${Array.from({ length: 60 }, (_, n) => `word${n}`).join(' + ')};\n// ${'x'.repeat(400)}\nlet b = 3;\n`;

interface Web {
  readonly port: number;
  /** What was printed. */
  readonly out: () => string;
  /** The exit code after SIGTERM. */
  end(): Promise<number | null>;
}
interface Proxy {
  readonly port: number;
  /** What was asked of it and what came back: `POST /api/login 200`. */
  readonly log: readonly string[];
}

inBrowser()('the review page', () => {
  let s: Scene;
  let browser: Browser;
  const servers: (Server & { closeAllConnections?: () => void })[] = [];
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    const files = ['host.js', 'proxy.js', 'cross.js', 'zoom.js', 'other.js'];
    s = await scene(
      Object.fromEntries([...files, 'bad.js'].map((file) => [file, 'let a = 1;\n'])),
      [
        ...files.map((file) => ({
          name: file,
          match: { contains: `- ${file}` },
          answer: whole({ [file]: file === 'zoom.js' ? WIDE : 'let a = 2;\n' }),
        })),
        { name: 'bad', match: { contains: '- bad.js' }, answer: 'I would rather not say.' },
      ],
      { env: OWN_STORE },
    );
    await s.worker();
    browser = await launch([
      `--host-resolver-rules=MAP ${NAME} 127.0.0.1, MAP ${EVIL} 127.0.0.1, MAP ${REBOUND} ${HOST}`,
    ]);
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    for (const child of children) child.kill('SIGKILL');
    for (const server of servers) {
      server.close();
      server.closeAllConnections?.();
    }
    await s.close();
  });

  const listening = async (server: Server): Promise<number> => {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    return (server.address() as AddressInfo).port;
  };
  const typed = (args: readonly string[], env: Record<string, string>) =>
    spawn(process.execPath, [join(process.cwd(), 'dist/client.js'), 'web', ...args], {
      cwd: s.repo,
      env: { ...s.env, ...env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const web = async (args: readonly string[], secret: string): Promise<Web> => {
    const child = typed(args, { EMEND_WEB_SECRET: secret });
    children.push(child);
    let out = '';
    child.stdout.on('data', (part: Buffer) => (out += part.toString()));
    child.stderr.on('data', (part: Buffer) => (out += part.toString()));
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    await s.until(() => out.includes('#token=') || child.exitCode !== null, 60);
    expect({ out, exit: child.exitCode }).toMatchObject({ exit: null });
    return {
      port: Number(/--port (\d+)/.exec(args.join(' '))?.[1]),
      out: () => out,
      end: () => {
        child.kill('SIGTERM');
        return ended;
      },
    };
  };
  const refused = async (
    args: readonly string[],
    secret: string,
  ): Promise<{ exit: number | null; err: string }> => {
    const child = typed(args, { EMEND_WEB_SECRET: secret });
    let err = '';
    child.stderr.on('data', (part: Buffer) => (err += part.toString()));
    return { exit: await new Promise((resolve) => child.once('close', resolve)), err };
  };
  const freePort = async (): Promise<number> => {
    const server = createServer();
    const port = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    return port;
  };
  const waiting = async (file: string): Promise<{ stepKey: string; decision: string }> => {
    const run = await s.start(
      `jobs/${file}.md`,
      `---\ntarget_files: [${file}]\ntest: test 1\n---\n# Change ${file}\n\nIt.\n`,
    );
    const { decision } = (await s.settle(run)).status;
    return { stepKey: run.stepKey, decision: decision?.id ?? '' };
  };
  const enter = async (page: Page, secret: string): Promise<void> => {
    await page.getByLabel('Secret', { exact: true }).fill(secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const skipAll = async (page: Page, file: string): Promise<void> => {
    await page.getByRole('link', { name: new RegExp(`Change ${file}`) }).click();
    await page.getByRole('button', { name: 'Skip', exact: true }).click();
    await page.getByRole('button', { name: 'Send …' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
  };

  test('without a secret, or with a short one, it does not start; with one a person is let in by it, by name', async () => {
    const port = await freePort();
    const args = ['--host', HOST, '--port', String(port)];
    const [none, short] = await Promise.all([refused(args, ''), refused(args, 'short')]);
    expect(none).toMatchObject({
      exit: 2,
      err: expect.stringContaining('EMEND_WEB_SECRET') as unknown,
    });
    expect(short).toMatchObject({
      exit: 2,
      err: expect.stringContaining('at least 16') as unknown,
    });

    const served = await web(args, SECRET);
    expect(served.out()).toContain(`http://${HOST}:${port}/#token=`);
    await waiting('host.js');
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    // A name that resolves to this machine, but which nobody told the page of (DNS rebinding).
    expect((await page.goto(`http://${REBOUND}:${port}/`))?.status()).toBe(421);
    await page.goto(`http://${HOST}:${port}/`);
    await page.getByText('Sign in with a shared secret').click();
    await page.getByLabel('Your name').fill('Grace');
    await enter(page, `${SECRET}!`);
    await page.getByRole('alert').getByText('Invalid, or already used').waitFor();
    await picture(page, 'door-wrong-secret');
    expect(await violations(page)).toEqual([]);
    await enter(page, SECRET);
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({
      httpOnly: true,
      sameSite: 'Strict',
      secure: false,
      path: '/',
      domain: HOST,
    });
    await skipAll(page, 'host.js');
    await page.getByText(/skip by Grace/).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Sign in with a shared secret').click();
    await page.getByLabel('Your name').fill('Eve');
    // Two tries were taken by Grace; so many more are heard, then none for a while, the right one included.
    for (const left of Array.from({ length: WEB_LOGINS_BURST }).keys())
      await enter(page, `guess ${left}`);
    await page.getByRole('alert').getByText('Too many attempts').waitFor();
    await enter(page, SECRET);
    await page.getByRole('alert').getByText('Too many attempts').waitFor();
    await context.close();
    expect(await served.end()).toBe(0);
  });

  /** A proxy with TLS before the page, as nginx would stand there. `host`: the name that it passes on; null: the one that was asked for. */
  const proxy = async (to: number, host: string | null): Promise<Proxy> => {
    const [key, cert] = [join(s.home, 'key.pem'), join(s.home, 'cert.pem')];
    const subject = ['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`, '-days', '1'];
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject],
      { stdio: 'ignore' },
    );
    const log: string[] = [];
    const server = createTlsServer(
      { key: readFileSync(key), cert: readFileSync(cert) },
      (request, response) => {
        const { method, url, headers } = request;
        const sent = httpRequest(
          {
            host: '127.0.0.1',
            port: to,
            method,
            path: url,
            headers: { ...headers, host: host ?? headers.host ?? '' },
          },
          (answer) => {
            log.push(`${method} ${url} ${answer.statusCode}`);
            response.writeHead(answer.statusCode ?? 502, answer.headers);
            answer.pipe(response);
          },
        );
        sent.on('error', () => response.destroy());
        response.on('close', () => sent.destroy());
        request.pipe(sent);
      },
    );
    return { port: await listening(server), log };
  };

  test.each([
    ['passes the name on', 'proxy.js', null],
    ['puts its own in its place', 'cross.js', 'own'],
  ])(
    'behind a proxy with TLS that %s: a secure cookie, live, and closed to other sites',
    async (_what, file, own) => {
      const port = await freePort();
      const { port: front, log } = await proxy(port, own === null ? null : `127.0.0.1:${port}`);
      const address = `https://${NAME}:${front}`;
      const served = await web(['--port', String(port), '--public-url', address], SECRET);
      expect(served.out()).toContain(`${address}/#token=`);
      const { stepKey, decision } = await waiting(file);
      const context = await browser.newContext({
        ignoreHTTPSErrors: true,
        viewport: { width: 1280, height: 900 },
      });
      const page = await context.newPage();
      await page.goto(`${address}/`);
      await page.getByText('Sign in with a shared secret').click();
      await page.getByLabel('Your name').fill('Grace');
      await enter(page, SECRET);
      await page.getByRole('link', { name: new RegExp(`Change ${file}`) }).waitFor();
      const [cookie] = await context.cookies();
      expect(cookie).toMatchObject({
        httpOnly: true,
        sameSite: 'Strict',
        secure: true,
        domain: NAME,
      });

      // Another site, open in the same browser, knows the run's key and its decision.
      const wanted = JSON.stringify({ decision, answer: 'approve' });
      const attack = createServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end(`<title>evil</title><a href="${address}/">look</a><iframe src="${address}/"></iframe>
        <form method="post" enctype="text/plain" action="${address}/api/runs/${stepKey}/decide"><input name='{"a":"' value='"}'><button>Win</button></form>`);
      });
      const evil = await context.newPage();
      const lure = `http://${EVIL}:${await listening(attack)}/`;
      await evil.goto(lure);
      const before = log.length;
      const heard = await evil.evaluate<string[]>(`(async () => {
      const send = (init) => fetch(${JSON.stringify(`${address}/api/runs/${stepKey}/decide`)}, { method: 'POST', credentials: 'include', body: ${JSON.stringify(wanted)}, ...init })
        .then((answer) => answer.type, () => 'refused by the browser');
      return [await send({ mode: 'no-cors' }), await send({ headers: { 'content-type': 'application/json' } })];
    })()`);
      // The answer itself is kept from it (cross-origin-resource-policy).
      expect(heard).toEqual(['refused by the browser', 'refused by the browser']);
      await evil.getByRole('button', { name: 'Win' }).click();
      const tried = (): string[] => log.slice(before).filter((each) => each.includes('/decide '));
      await s.until(() => tried().length >= 3, 20);
      // None got past the guard; a preflight asks with a method that is not ours.
      for (const each of tried()) expect(each).toMatch(/^(POST .* 403|OPTIONS .* 405)$/);
      await evil.waitForURL(/\/decide$/);
      await evil.goto(lure);
      await evil.getByRole('link', { name: 'look' }).click();
      // A link leads here, to the page that is signed in.
      await evil.getByRole('heading', { name: 'Runs', exact: true }).waitFor();

      await skipAll(page, file);
      await page.getByText(/skip by Grace/).waitFor();
      await context.close();
      expect(await served.end()).toBe(0);
    },
  );

  test.each([
    ['200 % of 1280 x 900', 640, 450],
    ['400 % of 1280 x 1024', 320, 256],
  ])(
    'at %s nothing scrolls sideways or is cut off, and the focus is seen',
    async (zoom, width, height) => {
      const served = await servePage(s.emend);
      const [run, bad] = await Promise.all([waiting('zoom.js'), waiting('bad.js')]);
      const context = await browser.newContext({
        viewport: { width, height },
        deviceScaleFactor: 2,
      });
      const page = await context.newPage();
      const look = async (what: string): Promise<void> => {
        await picture(page, `zoom-${width}-${what}`);
        expect({ zoom, what, clipped: await clipped(page) }).toEqual({ zoom, what, clipped: [] });
        expect({ zoom, what, unseen: await unseenFocus(page) }).toEqual({ zoom, what, unseen: [] });
      };
      await page.goto(`http://127.0.0.1:${served.port}/`);
      await page.getByText('Sign in with a shared secret').click();
      await look('door');
      await page.goto(served.address());
      await page.getByRole('link', { name: /Change zoom.js/ }).waitFor();
      await look('runs');
      await page.goto(`http://127.0.0.1:${served.port}/#/run/${run.stepKey}/review`);
      await page.getByRole('button', { name: 'Approve all' }).waitFor();
      // What is out of sight is not drawn: to the first change, by key.
      await page.keyboard.press('n');
      await page.getByText('let a = 1;').first().waitFor();
      await look('review');
      await page.getByRole('button', { name: 'Approve all' }).click();
      await page.getByRole('button', { name: 'Send …' }).click();
      await page.getByRole('heading', { name: 'Send your verdicts' }).waitFor();
      await picture(page, `zoom-${width}-send`);
      expect(await clipped(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.goto(`http://127.0.0.1:${served.port}/#/run/${run.stepKey}`);
      await page.getByRole('link', { name: 'Review the changes' }).waitFor();
      await look('run');
      await page.goto(`http://127.0.0.1:${served.port}/#/run/${bad.stepKey}`);
      await page.getByRole('radio', { name: /^retry/ }).check();
      await look('decision');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: /^Keys/ }).click();
      await page.getByRole('heading', { name: 'Keys' }).waitFor();
      await picture(page, `zoom-${width}-keys`);
      expect(await clipped(page)).toEqual([]);
      await context.close();
      await served.close();
    },
  );

  test('a run that another machine starts shows in an open list, and the list asks Temporal nothing until then', async () => {
    // The file system tells of what changes in the directory that was there; what another host writes it does not tell. Here the archive's
    // name leads to another directory while the page watches the first.
    const archive = join(s.store, 'archive');
    renameSync(archive, `${archive}-1`);
    symlinkSync(`${archive}-1`, archive);
    let queries = 0;
    const runs = s.emend.runs!;
    const counted: typeof runs.query = (...args) => {
      queries += 1;
      return runs.query(...args);
    };
    const served = await servePage({ ...s.emend, runs: { ...runs, query: counted } });
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const { page, faults } = await openPage(context, served);
    cpSync(`${archive}-1`, `${archive}-2`, { recursive: true });
    symlinkSync(`${archive}-2`, `${archive}-new`);
    renameSync(`${archive}-new`, archive);
    // Each open run is looked at as it begins to be followed.
    await page.waitForTimeout(NEW_RUNS_LOOK_MS);
    const before = queries;
    await page.waitForTimeout(2 * NEW_RUNS_LOOK_MS);
    expect(queries).toBe(before);
    expect(await page.getByRole('link', { name: /Change other.js/ }).count()).toBe(0);
    await waiting('other.js');
    await page
      .getByRole('region', { name: 'Waiting for you' })
      .getByRole('link', { name: /Change other.js/ })
      .waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await served.close();
    expect(served.errors).toEqual([]);
  });
});
