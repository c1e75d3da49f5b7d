/**
 * The file of the index: blocks that are only appended, each `#<bytes> <checksum>` and then lines. A line is `R` and a row, `G` and the key
 * of a run that is gone, or `M` and the mark (`IndexMark`). One write adds a block, so what belongs together is there whole or not at all. A
 * block that is torn, cut or changed is not believed, and the reader goes on at the next one. The file is replaced when half of it is outdated.
 * It is written without a sync, and is believed only in the boot in which it was written.
 */
import { constants } from 'node:fs';
import { makingDir, tempName, unlinkIfThere } from '../../system/durable.js';
import { jsonOf } from '../../system/json.js';
import { fstat, read, rename, withFile, write, writeAll } from '../../system/fs.js';
import { sha256 } from '../../system/hash.js';
import { realSys } from '../../system/sys.js';
import { isRecord } from '../../shared/text.js';

const CHECKSUM_CHARS = 16; // bound: Hex digits of a block's checksum.
const BLOCK_ROWS = 500; // bound: Rows of one block.
const HEADER_BYTES = 64; // bound: A block's first line is shorter.

/** What the rows before it are worth. */
export interface IndexMark {
  readonly v: number;
  /** `Emend.store`: whose runs these are. */
  readonly store: string;
  /** Id of the machine's boot: what was written in another one may be lost in part. */
  readonly boot: string;
  /** `ArchiveChanges.position`: changes before it are in the rows. */
  readonly position: string;
  /** `Archive.namesStamp`: the rows are of these names; null: the store has none. */
  readonly names: string | null;
}

export const markOf = (text: string): IndexMark | null => {
  const mark = jsonOf(text);
  const isMark =
    isRecord(mark) &&
    typeof mark.v === 'number' &&
    [mark.store, mark.boot, mark.position].every((field) => typeof field === 'string') &&
    (mark.names === null || typeof mark.names === 'string');
  return isMark ? (mark as unknown as IndexMark) : null;
};

const LF = 0x0a;
const HASH = 0x23;
const checksumOf = (payload: Uint8Array): string => sha256(payload).slice(0, CHECKSUM_CHARS);

const blockOf = (lines: readonly string[]): Buffer => {
  const payload = Buffer.from(`${lines.join('\n')}\n`);
  // The first line end closes what a dead writer left half written.
  return Buffer.concat([Buffer.from(`\n#${payload.length} ${checksumOf(payload)}\n`), payload]);
};

/** In groups, each as long as a block may be. */
function* blocksOf(lines: Iterable<string>): Generator<Buffer> {
  let group: string[] = [];
  for (const line of lines) {
    group.push(line);
    if (group.length < BLOCK_ROWS) continue;
    yield blockOf(group);
    group = [];
  }
  if (group.length > 0) yield blockOf(group);
}

export interface Payload {
  readonly start: number;
  readonly end: number;
}
export interface Blocks {
  readonly payloads: readonly Payload[];
  /** The end of the last block; what follows may still be written. */
  readonly end: number;
  /** Something before `end` is no block. */
  readonly isDamaged: boolean;
}

/** Returns the blocks whose checksum is right. */
export const readBlocks = (bytes: Buffer): Blocks => {
  const payloads: Payload[] = [];
  let isDamaged = false;
  let end = 0;
  for (let offset = 0; offset < bytes.length;) {
    if (bytes[offset] === LF) offset += 1;
    else {
      const payload = payloadAt(bytes, offset);
      if (payload !== null) {
        // What is between two blocks is none.
        isDamaged ||= bytes.subarray(end, offset).some((byte) => byte !== LF);
        payloads.push(payload);
        end = payload.end;
      }
      const next = payload?.end ?? bytes.indexOf('\n#', offset + 1);
      offset = next < 0 ? bytes.length : next;
    }
  }
  return { payloads, end, isDamaged };
};

const payloadAt = (bytes: Buffer, offset: number): Payload | null => {
  const headerEnd = bytes.subarray(offset, offset + HEADER_BYTES).indexOf(LF);
  if (bytes[offset] !== HASH || headerEnd < 0) return null;
  const header = bytes.toString('latin1', offset + 1, offset + headerEnd);
  const [, length = '', checksum = ''] = /^(\d+) ([0-9a-f]+)$/.exec(header) ?? [];
  const start = offset + headerEnd + 1;
  const end = start + Number(length);
  return length !== '' && end <= bytes.length && checksumOf(bytes.subarray(start, end)) === checksum
    ? { start, end }
    : null;
};

/** A part of the file, and how the file is known again. */
export interface FilePart {
  /** Inode: a file that took its place has another. */
  readonly file: number;
  readonly from: number;
  readonly bytes: Buffer;
}

/** Reads what follows `known.end`, or all of a file that has replaced the known one. Throws errno errors. */
export const readPart = (
  path: string,
  known: { readonly file: number; readonly end: number } | null,
): Promise<FilePart> =>
  withFile(path, constants.O_RDONLY | constants.O_NONBLOCK, 0, async (descriptor) => {
    const { ino, size } = await fstat(descriptor);
    const from = known?.file === ino && known.end <= size ? known.end : 0;
    const bytes = Buffer.allocUnsafe(size - from);
    let length = 0;
    while (length < bytes.length) {
      const count = await read(descriptor, bytes.subarray(length), from + length);
      if (count === 0) break;
      length += count;
    }
    return { file: ino, from, bytes: bytes.subarray(0, length) };
  });

/** Appends the lines to this very file. False: another file has its place by now, or there is none. */
export const appendTo = (path: string, file: number, lines: readonly string[]): Promise<boolean> =>
  withFile(path, constants.O_WRONLY | constants.O_APPEND, 0, async (descriptor) => {
    if ((await fstat(descriptor)).ino !== file) return false;
    // A part that is missing, as the disk is full, is found by the next reader.
    await write(descriptor, Buffer.concat([...blocksOf(lines)]));
    return true;
  });

/** Puts a file with these lines in its place. */
export const replaceFile = async (path: string, lines: Iterable<string>): Promise<void> => {
  await makingDir(realSys, path, () => writeWhole(tempName(path), path, lines));
};

const writeWhole = async (temp: string, path: string, lines: Iterable<string>): Promise<void> => {
  try {
    await withFile(
      temp,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
      0o600,
      async (descriptor) => {
        for (const block of blocksOf(lines)) await writeAll(descriptor, block);
      },
    );
    await rename(temp, path);
  } catch (error) {
    await unlinkIfThere(realSys, temp);
    throw error;
  }
};
