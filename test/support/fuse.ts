/**
 * A file system that a test serves through FUSE: one empty directory. It is mounted, under any type, only for the command that looks at it,
 * in a mount namespace of its own, so nothing has to be unmounted.
 */
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, read, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { errnoOf } from '../../src/system/sys.js';

/** Null: a mount of FUSE is possible here. */
export const whyNoFuse = (): string | null => {
  try {
    accessSync('/dev/fuse', constants.W_OK);
  } catch {
    return 'a mount of FUSE needs /dev/fuse and the right to open it';
  }
  const { status } = spawnSync('unshare', ['--mount', 'true'], { timeout: 10_000 });
  return status === 0 ? null : 'a mount of FUSE needs unshare and the right to mount (run as root)';
};

// Numbers of <linux/fuse.h>.
const LOOKUP = 1;
const FORGET = 2;
const GETATTR = 3;
const INIT = 26;
const INTERRUPT = 36;
const BATCH_FORGET = 42;
const HEADER_BYTES = 16;
const REQUEST_BYTES = 1024 * 1024;
const ENOENT = 2;
const ENOSYS = 38;

const versionBytes = (): Buffer => {
  const bytes = Buffer.alloc(64);
  bytes.writeUInt32LE(7, 0);
  bytes.writeUInt32LE(31, 4);
  bytes.writeUInt32LE(4096, 20);
  return bytes;
};

/** Attributes of a directory of root that only root may enter. */
const directoryBytes = (): Buffer => {
  const bytes = Buffer.alloc(104);
  bytes.writeBigUInt64LE(1n, 16);
  bytes.writeUInt32LE(0o40700, 16 + 60);
  bytes.writeUInt32LE(2, 16 + 64);
  return bytes;
};

/** Null: the kernel expects no reply. */
const replyTo = (opcode: number): { readonly error: number; readonly body: Buffer } | null => {
  const none = Buffer.alloc(0);
  if ([FORGET, BATCH_FORGET, INTERRUPT].includes(opcode)) return null;
  if (opcode === INIT) return { error: 0, body: versionBytes() };
  if (opcode === GETATTR) return { error: 0, body: directoryBytes() };
  return { error: opcode === LOOKUP ? -ENOENT : -ENOSYS, body: none };
};

const RETRY_MS = 10;

/** Resolves with whether a request was read: none can be before the mount, and none comes after it (ENODEV). */
const readRequest = async (device: number, request: Buffer, isOver: () => boolean) => {
  for (;;) {
    const errno = await promisify(read)(device, request, 0, request.length, null).then(
      () => null,
      (error: unknown) => errnoOf(error),
    );
    if (errno === null) return true;
    if (errno !== 'EPERM' || isOver()) return false;
    await sleep(RETRY_MS);
  }
};

/** Answers until the file system is unmounted, or `isOver` before it is mounted. */
const serve = async (device: number, isOver: () => boolean): Promise<void> => {
  const request = Buffer.alloc(REQUEST_BYTES);
  while (await readRequest(device, request, isOver)) {
    const reply = replyTo(request.readUInt32LE(4));
    if (reply === null) continue;
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32LE(HEADER_BYTES + reply.body.length, 0);
    header.writeInt32LE(reply.error, 4);
    header.writeBigUInt64LE(request.readBigUInt64LE(8), 8);
    writeSync(device, Buffer.concat([header, reply.body]));
  }
};

interface Printed {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command that sees a file system of this type and source at `point`, an existing directory. */
export const runOnFuse = async (
  { type, source, point }: Readonly<Record<'type' | 'source' | 'point', string>>,
  command: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<Printed> => {
  const device = openSync('/dev/fuse', 'r+');
  const mount = 'mount -i -t "$0" -o fd=3,rootmode=40000,user_id=0,group_id=0 "$1" "$2"';
  const child = spawn(
    'unshare',
    ['--mount', 'sh', '-ec', `${mount}; shift 2; exec "$@" 3<&-`, type, source, point, ...command],
    { env, stdio: ['ignore', 'pipe', 'pipe', device] },
  );
  let isOver = false;
  const served = serve(device, () => isOver);
  let [out, err] = ['', ''];
  child.stdout!.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  isOver = true;
  await served;
  closeSync(device);
  return { code, out, err };
};
