/** Connects to a destination that a command named: each name is resolved once, checked, and exactly the checked address is connected to. */
import { lookup } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import { bytesOf, hostOf, kindOf } from './addresses.js';
import { check, isOfMachine, type Destination, type Policy, type Resolve } from './policy.js';
import { tunnel, upstreamPort, type Upstream } from './upstream.js';

const CONNECT_MS = 15_000; // bound: Time to connect to one address of a name,
const TRIED_ADDRESSES = 4; // bound: of which so many are tried in turn.
const LOOKUP_MS = 10_000; // bound: Time to resolve a name;
const LOOKUPS = 2; // bound: names resolved at once, as each takes a thread of the few that this process has for files.

export type Dialed =
  | { readonly ok: true; readonly socket: Socket }
  /** `isRefused`: by the policy, not by the network. */
  | { readonly ok: false; readonly isRefused: boolean; readonly reason: string };

export interface DialOptions {
  readonly policy: Policy;
  readonly upstream: Upstream | null;
  readonly signal: AbortSignal;
}

const queue: (() => void)[] = [];
let running = 0;

/** Returns the addresses of a name by the system's resolver, including /etc/hosts. */
export const systemResolve: Resolve = async (host) => {
  if (running >= LOOKUPS) await new Promise<void>((resolve) => queue.push(resolve));
  running += 1;
  const answer = lookup(host, { all: true }).finally(() => {
    running -= 1;
    queue.shift()?.();
  });
  answer.catch(() => undefined);
  const late = AbortSignal.timeout(LOOKUP_MS);
  const found = await Promise.race([
    answer,
    new Promise<never>((_, reject) => {
      late.addEventListener('abort', () => reject(new Error(`no answer for ${host}`)));
    }),
  ]);
  return found.map(({ address }) => address);
};

export async function dial(destination: Destination, options: DialOptions): Promise<Dialed> {
  const { policy, upstream } = options;
  const verdict = await check(destination, policy);
  const refused = (reason: string): Dialed => ({ ok: false, isRefused: true, reason });
  const usesUpstream = upstream !== null && !upstream.isBypassed(destination.host);
  if (!verdict.ok) {
    // A worker behind a proxy often resolves no public names. On another machine the proxy's loopback is not this machine's.
    if (verdict.isUnresolved !== true || !usesUpstream || (await isLocal(upstream, policy)))
      return verdict.isUnresolved === true
        ? { ok: false, isRefused: false, reason: verdict.reason }
        : refused(verdict.reason);
    return viaProxy(upstream, destination, options.signal);
  }
  const isPublic = verdict.addresses.every((address) => isPublicAddress(address));
  if (usesUpstream && isPublic)
    return viaProxy(
      upstream,
      { host: verdict.addresses[0] ?? '', port: destination.port },
      options.signal,
    );
  return direct(verdict.addresses, destination.port, options);
}

const isPublicAddress = (address: string): boolean => {
  const bytes = bytesOf(address);
  return bytes !== null && kindOf(bytes) === 'public';
};

/** Returns whether the worker's proxy runs on this machine. */
async function isLocal({ url }: Upstream, { resolve, ownAddresses }: Policy): Promise<boolean> {
  const host = hostOf(url);
  const addresses = bytesOf(host) === null ? await resolve(host).catch(() => []) : [host];
  return addresses.some((address) => isOfMachine(address, ownAddresses()));
}

const viaProxy = async (
  upstream: Upstream,
  { host, port }: Destination,
  signal: AbortSignal,
): Promise<Dialed> =>
  tunnel(upstream, host, port, signal).then(
    (socket) => ({ ok: true, socket }),
    (error: unknown) => failed(`${upstream.url.hostname}:${upstreamPort(upstream.url)}`, error),
  );

const failed = (where: string, error: unknown): Dialed => ({
  ok: false,
  isRefused: false,
  reason: `${where}: ${error instanceof Error ? error.message : String(error)}`,
});

async function direct(
  addresses: readonly string[],
  port: number,
  { policy, signal }: DialOptions,
): Promise<Dialed> {
  let last: Dialed = failed('', 'no address');
  for (const address of addresses.slice(0, TRIED_ADDRESSES)) {
    last = await connected(address, port, signal).then(
      (socket) => ({ ok: true, socket }),
      (error: unknown) => failed(`${address}:${port}`, error),
    );
    if (!last.ok) continue;
    // The kernel takes some addresses for its own that no interface has (a local route). Only a listed one may be this machine.
    const { localAddress, remoteAddress } = last.socket;
    if (localAddress !== remoteAddress || isOfMachine(address, policy.ownAddresses())) return last;
    last.socket.destroy();
    last = { ok: false, isRefused: true, reason: `${address} is this machine` };
  }
  return last;
}

const connected = (host: string, port: number, signal: AbortSignal): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true });
    const abort = (): void => void socket.destroy(new Error('the command ended'));
    const late = setTimeout(() => socket.destroy(new Error('no answer')), CONNECT_MS);
    const settle = (): void => {
      clearTimeout(late);
      signal.removeEventListener('abort', abort);
    };
    signal.addEventListener('abort', abort);
    socket.once('connect', () => {
      settle();
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('close', settle);
    socket.once('error', reject);
    if (signal.aborted) abort();
  });
