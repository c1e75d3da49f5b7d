/** `--draft-pr` with the real `gh`, up to a stand-in for GitHub: what is asked of it, and what the person is told where it says no. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publish } from '../../src/cli/headless/approve.js';
import type { StepResult } from '../../src/shared/run.js';
import { describeIf, testIf } from '../support/skipped.js';
import { fakeIo } from './io.js';

const HOST = 'git.example.org';
const BRANCH = 'emend/greet';
const has = (tool: string): boolean => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;
const gh = testIf(has('gh'), 'no gh; apt-get install gh');

interface Asked {
  readonly query: string;
  readonly variables: { readonly input?: object };
}

describeIf(has('openssl'), 'no openssl to make a certificate')('a draft pull request', () => {
  const dir = mkdtempSync(join(tmpdir(), 'emend-publish-'));
  const at = (...names: readonly string[]): string => join(dir, ...names);
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', at('repo'), ...args], { encoding: 'utf8' });
  const servers: Server[] = [];
  let proxy = '';
  let asked: Asked[] = [];
  /** What GitHub says of the pull request. */
  let answer: object = {};

  const listening = async (server: Server): Promise<number> => {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };

  beforeAll(async () => {
    const subject = ['-days', '1', '-subj', `/CN=${HOST}`, '-addext', `subjectAltName=DNS:${HOST}`];
    const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', at('key.pem'), '-out', at('cert.pem')];
    execFileSync('openssl', ['req', '-x509', ...made, ...subject], { stdio: 'ignore' });
    const repository = { id: 'R1', name: 'greeter', owner: { login: 'ann' }, viewerPermission: 'ADMIN' };
    const github = createTlsServer(
      { key: readFileSync(at('key.pem')), cert: readFileSync(at('cert.pem')) },
      (request, response) => {
        const parts: Buffer[] = [];
        request.on('data', (part: Buffer) => parts.push(part));
        request.on('end', () => {
          const question = JSON.parse(Buffer.concat(parts).toString()) as Asked;
          asked.push(question);
          const known = { ...repository, defaultBranchRef: { name: 'main' }, pullRequests: { nodes: [] } };
          const body = question.query.includes('createPullRequest') ? answer : { data: { repository: known } };
          response.setHeader('content-type', 'application/json');
          if (request.headers.authorization === 'token a-token') response.end(JSON.stringify(body));
          else response.writeHead(401).end(JSON.stringify({ message: 'Requires authentication' }));
        });
      },
    );
    const inside = await listening(github);
    // By name through a proxy: gh asks an address of its own with no port.
    const tunnel = createServer().on('connect', (_request, socket) => {
      const to = connect(inside, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        to.pipe(socket);
        socket.pipe(to);
      });
      for (const each of [to, socket]) each.on('error', () => each.destroy());
    });
    proxy = `http://127.0.0.1:${await listening(tunnel)}`;

    execFileSync('git', ['init', '-q', '--bare', at('remote.git')]);
    execFileSync('git', ['init', '-q', '-b', 'main', at('repo')]);
    writeFileSync(at('repo', 'a.js'), 'let a = 1;\n');
    git('add', '-A');
    git('-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', 'commit', '-q', '-m', 'base');
    git('remote', 'add', 'origin', `https://${HOST}/ann/greeter.git`);
    git('remote', 'set-url', '--push', 'origin', at('remote.git'));
  });
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(dir, { recursive: true });
  });

  const published = async (env: Record<string, string> = {}): Promise<string> => {
    asked = [];
    const all = { PATH: process.env.PATH, HTTPS_PROXY: proxy, SSL_CERT_FILE: at('cert.pem'), HOME: dir };
    const io = fakeIo({ cwd: at('repo'), env: { ...all, GH_HOST: HOST, GH_ENTERPRISE_TOKEN: 'a-token', ...env } });
    const result = { commit: git('rev-parse', 'HEAD').trim(), verification: 'pass' } as unknown as StepResult;
    const how = { branch: BRANCH, remote: 'origin', pullRequest: true };
    await publish(io, result, how, { workspace: at('repo'), title: 'Greet "politely"', run: 'abcd1234' });
    return io.printed.err;
  };

  gh('is asked for with the branch, the title and what made it; its address is told', async () => {
    const url = `https://${HOST}/ann/greeter/pull/7`;
    answer = { data: { createPullRequest: { pullRequest: { id: 'P1', url } } } };
    expect(await published()).toMatch(new RegExp(`^pushed [0-9a-f]{12} to ${BRANCH} of origin\\n${url}\\n$`));
    expect(asked.at(-1)?.variables.input).toMatchObject({
      baseRefName: 'main',
      headRefName: BRANCH,
      draft: true,
      title: 'Greet "politely"',
      body: 'Created by `emend run` (abcd1234), approved and tested: pass.',
    });
    const there = execFileSync('git', ['-C', at('remote.git'), 'rev-parse', BRANCH], { encoding: 'utf8' });
    expect(there).toBe(git('rev-parse', 'HEAD'));
  });

  gh('that GitHub refuses: its words, and that the branch is pushed', async () => {
    const message = `A pull request already exists for ann:${BRANCH}.`;
    answer = { data: { createPullRequest: null }, errors: [{ message }] };
    await expect(published()).rejects.toMatchObject({
      problem: {
        code: 'git_failed',
        message: expect.stringContaining(message),
        next: `The branch ${BRANCH} is pushed.`,
      },
    });
  });

  gh('without a token: what gh says of it', async () => {
    await expect(published({ GH_ENTERPRISE_TOKEN: '' })).rejects.toMatchObject({
      problem: { message: expect.stringContaining('gh auth login') },
    });
  });

  test('with a pre-push hook, which may run what a model wrote: nothing is pushed, and the command to type is told', async () => {
    writeFileSync(at('repo', '.git', 'hooks', 'pre-push'), `#!/bin/sh\ntouch ${at('hooked')}\n`, { mode: 0o755 });
    execFileSync('git', ['-C', at('remote.git'), 'update-ref', '-d', `refs/heads/${BRANCH}`]);
    await expect(published()).rejects.toMatchObject({
      problem: {
        message: 'There is a pre-push hook (.git/hooks/pre-push), which Emend does not run: nothing was pushed.',
        next: expect.stringMatching(/^Push it yourself: git push origin [0-9a-f]{12}:refs.heads.emend.greet$/),
      },
    });
    expect(execFileSync('git', ['-C', at('remote.git'), 'branch'], { encoding: 'utf8' })).toBe('');
    git('push', '-q', 'origin', `HEAD:refs/heads/${BRANCH}`);
    expect(existsSync(at('hooked'))).toBe(true);
    rmSync(at('repo', '.git', 'hooks', 'pre-push'));
  });

  test('without gh: that there is none, and that the branch is pushed', async () => {
    const only = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    const path = at('bin');
    execFileSync('sh', ['-c', `mkdir -p "${path}" && ln -sf "${only}" "${path}/git"`]);
    await expect(published({ PATH: path })).rejects.toMatchObject({
      problem: {
        message: 'Cannot open a pull request: `gh` is not installed.',
        next: expect.stringContaining('is pushed'),
      },
    });
  });
});
