/**
 * Lists the addresses at which this machine answers. Linux also answers at addresses of interfaces that are down, which
 * `os.networkInterfaces()` leaves out, so the kernel's own tables are read in addition.
 */
import { networkInterfaces } from 'node:os';
import { readGivenSync } from '../../../system/given-file.js';

const TABLE_BYTES = 1_048_576; // bound: Size of each of the kernel's tables of addresses. A longer one is a router's, and is not read.
const REMEMBERED_MS = 1_000; // bound: Time for which the addresses are remembered.

let known: { readonly addresses: readonly string[]; readonly read_ms: number } | null = null;

/** Returns addresses, and ranges as `10.0.0.0/8`. */
export function machineAddresses(): readonly string[] {
  if (known === null || performance.now() - known.read_ms > REMEMBERED_MS)
    known = { addresses: readAddresses(), read_ms: performance.now() };
  return known.addresses;
}

function readAddresses(): readonly string[] {
  const ofInterfaces = Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).map(({ address }) => address),
  );
  const all = [
    ...ofInterfaces,
    ...localIpv4(textOf('/proc/net/fib_trie')),
    ...ipv6Of(textOf('/proc/net/if_inet6')),
  ];
  return [...new Set(all)];
}

/** Returns a table of the kernel; empty: it cannot be read. A connection to such an address is then noticed when it is made (dial.ts). */
function textOf(path: string): string {
  try {
    return readGivenSync(path, TABLE_BYTES).toString('latin1');
  } catch {
    return '';
  }
}

/** Returns what the routing table lists as local: a line with an address, then one with its prefix and kind. */
export const localIpv4 = (table: string): readonly string[] =>
  [...table.matchAll(/^ *\|-- (\S+)((?:\n *\/\d+ .*)+)/gm)].flatMap(([, first = '', kinds = '']) =>
    [...kinds.matchAll(/^ *\/(\d+) \S+ LOCAL\b/gm)].map(([, prefix]) =>
      prefix === '32' ? first : `${first}/${prefix}`,
    ),
  );

/** Returns the addresses in a table whose lines begin with 32 hexadecimal digits. */
export const ipv6Of = (table: string): readonly string[] =>
  [...table.matchAll(/^([0-9a-f]{32}) /gm)].map(([, digits = '']) =>
    (digits.match(/.{4}/g) ?? []).join(':'),
  );
