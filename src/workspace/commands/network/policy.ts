/** Which addresses a command with `sandbox.network` may reach. Every address that a name resolves to is checked, and one of them is connected to. */
import {
  isLoopbackHost,
  readTarget,
  type NetworkSettings,
  type NetworkTarget,
} from '../../../documents/job/index.js';
import {
  bytesOf,
  innermost,
  isInRange,
  kindOf,
  sameAddress,
  type AddressKind,
} from './addresses.js';

export interface Destination {
  /** Name or address as the command wrote it. */
  readonly host: string;
  readonly port: number;
}
/** Returns the addresses of a name, as the machine resolves it. */
export type Resolve = (host: string) => Promise<readonly string[]>;
export interface Policy {
  readonly targets: readonly NetworkTarget[];
  /** `host:port` of Emend's own servers (Temporal, its UI, the page): refused, whatever is listed. */
  readonly ownServers: () => Promise<readonly string[]>;
  readonly resolve: Resolve;
  /** Addresses of this machine, and ranges as `10.0.0.0/8`. */
  readonly ownAddresses: () => readonly string[];
}
export type Verdict =
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly reason: string; readonly isUnresolved?: true };

export const targetsOf = (network: NetworkSettings): readonly NetworkTarget[] =>
  typeof network === 'boolean'
    ? []
    : network.allow.flatMap((written) => {
        const read = readTarget(written);
        return read.ok ? [read.target] : [];
      });

const HOST = /^[\w.:-]+$/;
/** Returns the addresses that may be connected to, or why none may. */
export async function check(destination: Destination, policy: Policy): Promise<Verdict> {
  const host = destination.host.toLowerCase().replace(/\.$/, '');
  // A zone, a line end or a blank means one thing here and another to a proxy behind this one.
  if (!HOST.test(host)) return { ok: false, reason: `${JSON.stringify(host)} is no host name` };
  const addresses = await addressesOf(host, policy.resolve);
  if (addresses.length === 0)
    return { ok: false, reason: `the name ${host} has no address`, isUnresolved: true };
  const own = await ownServers(policy);
  for (const address of addresses) {
    const reason = refusalOf({ host, port: destination.port }, address, { policy, own });
    if (reason !== null) return { ok: false, reason };
  }
  return { ok: true, addresses };
}

async function addressesOf(host: string, resolve: Resolve): Promise<readonly string[]> {
  if (bytesOf(host) !== null) return [host];
  if (isLoopbackHost(host)) return ['127.0.0.1', '::1'];
  return resolve(host).catch(() => []);
}

/** Emend's own servers: an address of a remote one, and ports of those on this machine. */
interface OwnServers {
  readonly ports: ReadonlySet<number>;
  readonly remote: readonly { readonly address: string; readonly port: number }[];
}

async function ownServers({
  ownServers: listed,
  resolve,
  ownAddresses,
}: Policy): Promise<OwnServers> {
  const ports = new Set<number>();
  const remote: { address: string; port: number }[] = [];
  for (const written of await listed()) {
    const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(written) ?? [];
    if (port === '') continue;
    for (const address of await addressesOf(host, resolve))
      if (isOfMachine(address, ownAddresses())) ports.add(Number(port));
      else remote.push({ address, port: Number(port) });
  }
  return { ports, remote };
}

/** Returns whether an address is loopback or one of `own`, in any notation. */
export const isOfMachine = (address: string, own: readonly string[]): boolean => {
  const bytes = bytesOf(address);
  if (bytes === null) return false;
  if (kindOf(bytes) === 'loopback') return true;
  const inner = innermost(bytes);
  return own.some((written) => {
    const [first = '', prefix] = written.split('/');
    return isInRange(inner, first, prefix === undefined ? inner.length * 8 : Number(prefix));
  });
};

/** Returns why one address may not be connected to; null: it may. */
function refusalOf(
  { host, port }: Destination,
  address: string,
  { policy, own }: { readonly policy: Policy; readonly own: OwnServers },
): string | null {
  const bytes = bytesOf(address);
  if (bytes === null) return `${address} is no address`;
  const leadsTo = address === host ? '' : `${host} leads to `;
  const kind = kindOf(bytes);
  if (isOfMachine(address, policy.ownAddresses())) {
    if (own.ports.has(port)) return `port ${port} of this machine is one of Emend's own servers`;
    const isListed = policy.targets.some((target) => isThisMachine(target, address, port));
    return isListed
      ? null
      : `${leadsTo}${address} is this machine (list ${entryFor(address, kind)}:${port}, if you mean it)`;
  }
  if (own.remote.some((server) => server.port === port && isSame(server.address, address)))
    return `${address}:${port} is the Temporal server of Emend`;
  if (kind === 'public') return null;
  if (kind === 'reserved') return `${leadsTo}${address} is a reserved address`;
  return policy.targets.some((target) => covers(target, { host, port, address, kind }))
    ? null
    : `${leadsTo}${address} is a ${kind} address (list ${host}:${port}, if you mean it)`;
}

/** Returns what names an address of this machine in `network.allow`. */
function entryFor(address: string, kind: AddressKind): string {
  if (kind === 'loopback') return 'localhost';
  return address.includes(':') ? `[${address}]` : address;
}

const isSame = (one: string, other: string): boolean => {
  const [first, second] = [bytesOf(one), bytesOf(other)];
  return first !== null && second !== null && sameAddress(innermost(first), innermost(second));
};

/** Only an entry with an address and a port names this machine. A name or a range never does, whatever it leads to. */
const isThisMachine = (target: NetworkTarget, address: string, port: number): boolean => {
  if (target.kind === 'range' || target.port !== port) return false;
  if (target.kind === 'name')
    return (
      isLoopbackHost(target.host) &&
      ['127.0.0.1', '::1'].some((loopback) => isSame(loopback, address))
    );
  return isSame(target.host, address);
};

function covers(
  target: NetworkTarget,
  {
    host,
    port,
    address,
    kind,
  }: Destination & {
    readonly address: string;
    readonly kind: 'private' | 'link-local' | 'loopback';
  },
): boolean {
  if (target.port !== null && target.port !== port) return false;
  // A name that leads to the addresses of a cloud's metadata is not what was meant.
  if (target.kind === 'name') return kind === 'private' && target.host === host;
  if (target.kind === 'address') return isSame(target.host, address);
  const bytes = bytesOf(address);
  return bytes !== null && isInRange(innermost(bytes), target.host, target.prefix);
}
