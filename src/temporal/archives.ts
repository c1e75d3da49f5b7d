/** Takes one file out of a release archive, by our own reading: neither `tar` nor `unzip` need be installed. */
import { gunzipSync, inflateRawSync } from 'node:zlib';

/** The file's bytes, or null when no entry's name matches. */
type Extract = (archive: Buffer, wanted: RegExp) => Buffer | null;

const TAR_BLOCK = 512;

/** gzip'ed tar (ustar: name at 0, size in octal at 124, type at 156). */
export const fromTarGz: Extract = (archive, wanted) => {
  const tar = gunzipSync(archive);
  const text = (at: number, length: number): string => tar.toString('latin1', at, at + length).replace(/\0.*$/s, '');
  for (let at = 0; at + TAR_BLOCK <= tar.length;) {
    const name = text(at, 100);
    if (name === '') return null;
    const size = Number.parseInt(text(at + 124, 12), 8);
    const start = at + TAR_BLOCK;
    const isFile = ['', '0'].includes(text(at + 156, 1));
    if (isFile && wanted.test(name)) return tar.subarray(start, start + size);
    at = start + Math.ceil(size / TAR_BLOCK) * TAR_BLOCK;
  }
  return null;
};

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const END_MIN_BYTES = 22;
const DEFLATED = 8;

/** zip (a wheel): the directory at the end names offset, sizes and method of each entry. */
export const fromZip: Extract = (archive, wanted) => {
  let end = archive.length - END_MIN_BYTES;
  while (end >= 0 && archive.readUInt32LE(end) !== END_OF_DIRECTORY) end--;
  if (end < 0) return null;
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0 && archive.readUInt32LE(at) === DIRECTORY_ENTRY; left--) {
    const nameLength = archive.readUInt16LE(at + 28);
    if (wanted.test(archive.toString('utf8', at + 46, at + 46 + nameLength))) {
      const local = archive.readUInt32LE(at + 42);
      const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
      const stored = archive.subarray(start, start + archive.readUInt32LE(at + 20));
      return archive.readUInt16LE(at + 10) === DEFLATED ? inflateRawSync(stored) : stored;
    }
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return null;
};
