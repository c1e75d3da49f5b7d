/** The part of the network that is inside the sandbox: a small program that passes bytes from ports of its loopback to the proxy's socket. */
import { isLoopbackHost, type NetworkTarget } from '../../../documents/job/index.js';
import type { Environment } from '../../../system/environment.js';

/** Port at which the command finds the proxy, below the range from which the system takes ports by itself. */
const PROXY_PORT = 17_171;
const PLACE = '/run/emend-network';
const NODE = `${PLACE}/node`;
const SOCKET = `${PLACE}/proxy`;
const SCRIPT = `${PLACE}/forwarder.cjs`;

export const FORWARDER_TASKS = 16; // bound: Threads of the forwarder, which a command with `network` has in addition to `processes`,
export const FORWARDER_MIB = 96; // bound: and its memory, in addition to `memory_mib`.

/**
 * Runs on Node alone, in the sandbox. Arguments: the socket, the proxy's port, then `host:port` of listed services of the machine,
 * which get a port of the same number. Standard output ends when it listens: the shell that starts it waits for that.
 */
export const FORWARDER = `'use strict';
const { closeSync, openSync, writeSync } = require('node:fs');
const { connect, createServer } = require('node:net');
const { pipeline } = require('node:stream');

const [socketPath, proxyPort, ...services] = process.argv.slice(2);

function pass(client, remote) {
  pipeline(client, remote, () => undefined);
  pipeline(remote, client, () => undefined);
}

function toProxy(client) {
  pass(client, connect({ path: socketPath, allowHalfOpen: true }));
}

/** Asks the proxy for a connection to the service, and passes on what follows its answer. */
function toService(service) {
  return (client) => {
    const remote = connect({ path: socketPath, allowHalfOpen: true });
    remote.write('CONNECT ' + service + ' HTTP/1.1\\r\\nHost: ' + service + '\\r\\n\\r\\n');
    client.on('error', () => remote.destroy());
    remote.on('error', () => client.destroy());
    let head = Buffer.alloc(0);
    remote.on('data', function onData(chunk) {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\\r\\n\\r\\n');
      if (end < 0) return;
      remote.off('data', onData);
      remote.pause();
      if (!head.toString('latin1').startsWith('HTTP/1.1 200')) {
        client.destroy();
        remote.destroy();
        return;
      }
      remote.unshift(head.subarray(end + 4));
      pass(client, remote);
    });
    remote.on('end', () => client.end());
  };
}

function listen(port, onClient, host) {
  return new Promise((resolve) => {
    const server = createServer({ allowHalfOpen: true }, onClient);
    server.once('error', () => resolve(false));
    server.listen({ port, host }, () => resolve(true));
  });
}

async function main() {
  const isListening = await listen(Number(proxyPort), toProxy, '127.0.0.1');
  for (const service of services)
    for (const host of ['127.0.0.1', '::1'])
      await listen(Number(service.split(':').at(-1)), toService(service), host);
  if (isListening) writeSync(1, 'ready');
  closeSync(1);
  // Takes the number 1: a connection with that number would never be closed, as it is the number of an output.
  openSync('/dev/null', 'w');
}

process.on('uncaughtException', () => undefined);
void main();
`;

/** Names of the machine's services that the command reaches at its own loopback. */
const servicesOf = (targets: readonly NetworkTarget[]): readonly string[] =>
  targets.flatMap((target) => {
    const { kind, host, port } = target;
    if (port === null || kind === 'range' || !isLoopbackHost(host)) return [];
    if (kind === 'name') return [`localhost:${port}`];
    return [`${host.includes(':') ? `[${host}]` : host}:${port}`];
  });

/** Options of bubblewrap that show the program, its script and the proxy's socket. */
export const insideArguments = ({
  socket,
  script,
}: {
  readonly socket: string;
  readonly script: string;
}): string[] => [
  ...['--ro-bind', process.execPath, NODE],
  ...['--ro-bind', script, SCRIPT],
  ...['--ro-bind', socket, SOCKET],
];

/**
 * Starts the forwarder before the command and waits until it listens. The command replaces the shell, so its exit code, signals and
 * output are its own; the forwarder belongs to the first process of the sandbox and ends with it.
 */
export function withForwarder(
  command: readonly string[],
  targets: readonly NetworkTarget[],
): string[] {
  const forwarder = [NODE, SCRIPT, SOCKET, String(PROXY_PORT), ...servicesOf(targets)];
  const quoted = forwarder.map((word) => `'${word}'`).join(' ');
  return [
    '/bin/sh',
    '-c',
    `ready=$( (env -i ${quoted} </dev/null 2>/dev/null &) ); ` +
      `[ "$ready" = ready ] || echo 'Emend could not start the forwarder: there is no network' >&2; ` +
      `unset ready; exec "$@"`,
    'sh',
    ...command,
  ];
}

const NO_PROXY = 'localhost,127.0.0.1,::1';

/** Variables that lead programs to the proxy. Java's build tools get system properties by variables that print nothing. */
export function proxyVariables(variables: Environment): Record<string, string> {
  const proxy = `http://127.0.0.1:${PROXY_PORT}`;
  const java = ['http', 'https']
    .flatMap((scheme) => [`-D${scheme}.proxyHost=127.0.0.1`, `-D${scheme}.proxyPort=${PROXY_PORT}`])
    .join(' ');
  const added = (name: string): string => `${variables[name] ?? ''} ${java}`.trim();
  const names = [
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'ALL_PROXY',
    'http_proxy',
    'https_proxy',
    'all_proxy',
    'npm_config_proxy',
    'npm_config_https_proxy',
    'YARN_HTTP_PROXY',
    'YARN_HTTPS_PROXY',
    'PIP_PROXY',
    'CARGO_HTTP_PROXY',
  ];
  return {
    ...Object.fromEntries(names.map((name) => [name, proxy])),
    NO_PROXY,
    no_proxy: NO_PROXY,
    npm_config_noproxy: NO_PROXY,
    NODE_USE_ENV_PROXY: '1',
    MAVEN_OPTS: added('MAVEN_OPTS'),
    GRADLE_OPTS: added('GRADLE_OPTS'),
  };
}
