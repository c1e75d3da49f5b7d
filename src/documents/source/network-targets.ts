/** Reads the entries of `sandbox.network.allow`: a name, an address or a range, each with an optional port. */
import { z } from 'zod';

const MOST_PORT = 65_535; // bound: Highest port of TCP.
const NAME_CHARS = 253; // bound: Characters of a host name, as DNS allows.

/** One entry of the list. `port` is null if the entry allows every port. */
export type NetworkTarget = Readonly<
  { port: number | null } & (
    | { kind: 'name'; host: string }
    | { kind: 'address'; host: string }
    | { kind: 'range'; host: string; prefix: number }
  )
>;
type ReadTarget =
  | { readonly ok: true; readonly target: NetworkTarget }
  | { readonly ok: false; readonly expected: string };

export const TARGET =
  'a host name, an address or a range, with or without a port (db.internal:5432, 10.0.0.5, 192.168.0.0/16, [fd00::5]:443)';
const LOOPBACK_WITHOUT_PORT =
  'a port for this machine, as in localhost:5432: its other ports stay refused';
const LABEL = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/i;

const [ipv4, ipv6] = [z.ipv4(), z.ipv6()];
/** Returns 4 or 6 for an address, and 0 for other text. */
function isIP(text: string): 0 | 4 | 6 {
  if (ipv4.safeParse(text).success) return 4;
  return ipv6.safeParse(text).success ? 6 : 0;
}

/** Returns whether a host name or address names the loopback interface of this machine. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' ||
  host.endsWith('.localhost') ||
  host === '::1' ||
  (isIP(host) === 4 && host.startsWith('127.'));

/** Reads one entry, or returns the kind of entry that is expected instead. */
export function readTarget(entry: string): ReadTarget {
  const refuse = (expected: string): ReadTarget => ({ ok: false, expected });
  const parts = partsOf(entry.trim());
  if (parts === null) return refuse(TARGET);
  const { host, prefix, port } = parts;
  if (port !== null && (port < 1 || port > MOST_PORT)) return refuse('a port from 1 to 65535');
  const family = isIP(host);
  if (prefix !== null) return readRange({ host, prefix, port, family });
  if (isLoopbackHost(host) && port === null) return refuse(LOOPBACK_WITHOUT_PORT);
  if (family !== 0) return { ok: true, target: { kind: 'address', host, port } };
  const isName =
    host.length <= NAME_CHARS &&
    host.split('.').every((label) => LABEL.test(label)) &&
    !/^[\d.]+$/.test(host);
  return isName ? { ok: true, target: { kind: 'name', host, port } } : refuse(TARGET);
}

interface Parts {
  readonly host: string;
  readonly prefix: number | null;
  readonly port: number | null;
}

/** Splits `host/prefix:port`. An IPv6 address with a port needs brackets, because both parts contain colons. */
function partsOf(entry: string): Parts | null {
  const isBareIPv6 = isIP(entry.split('/')[0] ?? '') === 6;
  const match = isBareIPv6
    ? /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry)
    : /^(?:\[([0-9a-f:.]+)(?:\/(\d{1,3}))?\]|([^/:[\]\s]+)(?:\/(\d{1,3}))?)(?::(\d{1,5}))?$/i.exec(
        entry,
      );
  if (match === null) return null;
  const [host, prefix, port] = isBareIPv6
    ? [match[1], match[2], undefined]
    : [match[1] ?? match[3], match[2] ?? match[4], match[5]];
  if (host === undefined || (!isBareIPv6 && match[1] !== undefined && isIP(host) !== 6))
    return null;
  return {
    host: host.toLowerCase().replace(/\.$/, ''),
    prefix: prefix === undefined ? null : Number(prefix),
    port: port === undefined ? null : Number(port),
  };
}

function readRange({
  host,
  prefix,
  port,
  family,
}: {
  readonly host: string;
  readonly prefix: number;
  readonly port: number | null;
  readonly family: number;
}): ReadTarget {
  const longest = family === 4 ? 32 : 128;
  if (family === 0 || prefix > longest) return { ok: false, expected: TARGET };
  if (isLoopbackHost(host)) return { ok: false, expected: LOOPBACK_WITHOUT_PORT };
  return { ok: true, target: { kind: 'range', host, prefix, port } };
}

const TARGETS_SHOWN = 5; // bound: Entries of `network.allow` that an approval names.

/** Returns in words which hosts commands may reach under these settings. Returns null if they have no network. */
export function networkText(
  network: boolean | { readonly allow: readonly string[] },
): string | null {
  if (network === false) return null;
  const allowed = network === true ? [] : network.allow;
  const more = allowed.length - TARGETS_SHOWN;
  const shown = [
    ...allowed.slice(0, TARGETS_SHOWN),
    ...(more > 0 ? [`${more} more of \`sandbox.network\``] : []),
  ];
  return ['public addresses', ...shown].join(', ');
}
