/** Kinds of IP addresses: which of them are public, and which lead to this machine or to a private network in any notation. Pure. */
import { isIP } from 'node:net';

/** 4 or 16 bytes. */
export type AddressBytes = readonly number[];
export type AddressKind = 'public' | 'loopback' | 'private' | 'link-local' | 'reserved';

type Range = readonly [kind: Exclude<AddressKind, 'public'>, first: string, prefix: number];
const IPV4: readonly Range[] = [
  ['loopback', '127.0.0.0', 8],
  // The kernel connects 0.0.0.0 to this machine.
  ['loopback', '0.0.0.0', 8],
  ['private', '10.0.0.0', 8],
  ['private', '172.16.0.0', 12],
  ['private', '192.168.0.0', 16],
  ['private', '100.64.0.0', 10],
  ['private', '198.18.0.0', 15],
  ['link-local', '169.254.0.0', 16],
  ['reserved', '192.0.0.0', 24],
  ['reserved', '192.88.99.0', 24],
  ['reserved', '224.0.0.0', 4],
  ['reserved', '240.0.0.0', 4],
];
const IPV6: readonly Range[] = [
  ['loopback', '::', 127],
  ['private', 'fc00::', 7],
  ['private', 'fec0::', 10],
  ['link-local', 'fe80::', 10],
  ['reserved', 'ff00::', 8],
  ['reserved', '100::', 64],
  // Teredo: the IPv4 address in it is that of a relay, and the kernel may tunnel to it.
  ['reserved', '2001::', 32],
];
/** IPv6 addresses that lead to an IPv4 address, and the byte at which it begins: mapped, translated, compatible, NAT64, 6to4. */
const EMBEDDED: readonly (readonly [first: string, prefix: number, at: number])[] = [
  ['::ffff:0:0', 96, 12],
  ['::ffff:0:0:0', 96, 12],
  ['::', 96, 12],
  ['64:ff9b::', 96, 12],
  ['2002::', 16, 2],
];
/** NAT64 of an organization (RFC 8215): where the IPv4 address is depends on its prefix. */
const LOCAL_NAT64 = '64:ff9b:1::';
const LOCAL_NAT64_PREFIX = 48;
/** All public IPv6 addresses are in here, apart from those of NAT64. */
const GLOBAL = '2000::';
const GLOBAL_PREFIX = 3;

/** Returns the host that a URL names, an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/** Returns the bytes of an address in any notation that `isIP` takes; null: it is no address. */
export function bytesOf(address: string): AddressBytes | null {
  const plain = address.split('%')[0] ?? '';
  if (isIP(plain) === 4) return plain.split('.').map(Number);
  if (isIP(plain) !== 6) return null;
  // The URL writes it in groups of hexadecimal digits alone, with one `::` at most.
  const written = new URL(`http://[${plain}]/`).hostname.slice(1, -1);
  const [before = '', after] = written.split('::');
  const groups = (text: string): string[] => text.split(':').filter((group) => group !== '');
  const [head, tail] = [groups(before), groups(after ?? '')];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** Returns the IPv4 address that an IPv6 address leads to, else the address itself. */
export function innermost(address: AddressBytes): AddressBytes {
  if (address.length !== 16) return address;
  for (const [first, prefix, offset] of EMBEDDED)
    if (isInRange(address, first, prefix) && !isInRange(address, '::', 127))
      return address.slice(offset, offset + 4);
  return address;
}

/** Returns whether an address is in a range of its own family. */
export function isInRange(address: AddressBytes, first: string, prefix: number): boolean {
  const bytes = bytesOf(first);
  if (bytes?.length !== address.length) return false;
  return bytes.every((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefix - index * 8));
    const mask = (0xff << (8 - bits)) & 0xff;
    return (byte & mask) === ((address[index] ?? 0) & mask);
  });
}

/** Returns what kind of address this is, for the address that it leads to. */
export function kindOf(address: AddressBytes): AddressKind {
  const inner = innermost(address);
  for (const [kind, first, prefix] of inner.length === 4 ? IPV4 : IPV6)
    if (isInRange(inner, first, prefix)) return kind;
  if (inner.length === 4) return 'public';
  if (isInRange(inner, LOCAL_NAT64, LOCAL_NAT64_PREFIX)) return 'private';
  return isInRange(inner, GLOBAL, GLOBAL_PREFIX) ? 'public' : 'reserved';
}

export const sameAddress = (one: AddressBytes, other: AddressBytes): boolean =>
  one.join('.') === other.join('.');
