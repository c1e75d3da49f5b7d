/**
 * Finds out if a process listens at an address of this machine. A port does not show who answers there: another user's program may have taken
 * it. Linux lists the sockets of a process in /proc; elsewhere `lsof` does.
 */
import { endianness } from 'node:os';
import { orNull } from './durable.js';
import { captureOwn } from './own-program.js';
import type { Sys } from './sys.js';

const LSOF_MS = 10_000; // bound: `lsof` lists one port of one process within this time.
/** Columns of /proc/net/tcp, counted from 0, and the state of a socket that listens. */
const TCP = { local: 1, state: 3, inode: 9, listens: '0A' } as const;

/** `unknown`: this system does not show the sockets of that process. */
export type Listening = 'yes' | 'no' | 'unknown';

/**
 * Returns whether a process listens at `address`, an IPv4 address and a port such as `127.0.0.1:7233`. A process that listens at all addresses
 * does not count.
 */
export const listensAt = async (sys: Sys, pid: number, address: string): Promise<Listening> => {
  const table = await orNull(sys.readFile('/proc/net/tcp'), ['ENOENT', 'EACCES']);
  if (table === null) return listensByLsof(pid, address);
  const inodes = listeningInodes(new TextDecoder().decode(table), address);
  const sockets = await socketsOf(sys, pid);
  if (sockets === null) return 'unknown';
  // Several sockets may share a port: all of them must be its own.
  return inodes.length > 0 && inodes.every((inode) => sockets.has(inode)) ? 'yes' : 'no';
};

const listeningInodes = (table: string, address: string): readonly string[] =>
  table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(
      (columns) => columns[TCP.state] === TCP.listens && columns[TCP.local] === hexAddress(address),
    )
    .map((columns) => columns[TCP.inode] ?? '');

/** Returns an address in the notation of /proc/net/tcp: the kernel prints it as one number in the byte order of the machine, and the port as usual. */
const hexAddress = (address: string): string => {
  const [host = '', port = ''] = address.split(':');
  const hex = (part: string): string => Number(part).toString(16).toUpperCase();
  const bytes = host.split('.').map((part) => hex(part).padStart(2, '0'));
  if (endianness() === 'LE') bytes.reverse();
  return `${bytes.join('')}:${hex(port).padStart(4, '0')}`;
};

/** Returns the inodes of the sockets that the process has open; none if there is no such process. Null: the system does not show them. */
const socketsOf = async (sys: Sys, pid: number): Promise<ReadonlySet<string> | null> => {
  const folder = `/proc/${pid}/fd`;
  const descriptors = await orNull(sys.readdir(folder), ['EACCES', 'EPERM']).catch(() => []);
  if (descriptors === null) return null;
  const targets = await Promise.all(
    // A descriptor may be closed meanwhile.
    descriptors.map((fd) => sys.readlink(`${folder}/${fd}`).catch(() => '')),
  );
  return new Set(targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []));
};

const listensByLsof = async (pid: number, address: string): Promise<Listening> => {
  const only = ['-a', '-p', String(pid), `-iTCP@${address}`, '-sTCP:LISTEN'];
  const more = { LC_ALL: 'C' };
  const call = { cwd: '/', env: process.env, more, timeout_ms: LSOF_MS, max_bytes: 64 * 1024 };
  const { code, stdout, stderr } = await captureOwn('lsof', ['-nPw', ...only, '-Fp'], call);
  if (code === 0) return stdout.toString().includes(`p${pid}\n`) ? 'yes' : 'no';
  // It ends with 1 if it finds nothing, and also if it fails: then it prints the reason.
  return code === 1 && stderr.length === 0 ? 'no' : 'unknown';
};
