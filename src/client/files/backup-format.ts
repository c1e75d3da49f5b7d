/**
 * ◆ The file of a backup: a line about the backup; for each file a line with its path, mode and size, its bytes, and a line with their hash;
 * then a line with the number of files. Each line is JSON with a checksum.
 */
import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { checkVersion, fail, versioned } from '../../shared/problems.js';
import { sealed, unsealed } from '../../system/sealed.js';
import { errnoOf } from '../../system/sys.js';

const CHUNK_BYTES = 1_048_576; // bound: A file is copied by so many bytes at a time.
const LINE_BYTES = 65_536; // bound: Maximum length of a line of a backup.
const LF = 0x0a;

export interface BackupHead {
  readonly kind: 'emend-backup';
  /** ISO time at which the copy began. */
  readonly createdAt: string;
  /** Where the home was. */
  readonly home: string;
  /** Id of its host. */
  readonly host: string;
}
export interface FileHead {
  /** Relative to the home. */
  readonly path: string;
  readonly mode: number;
  readonly bytes: number;
}

export class BackupWriter {
  readonly #file: FileHandle;
  #files = 0;
  #end = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Throws an errno error if the file exists. */
  static async create(path: string, head: BackupHead): Promise<BackupWriter> {
    const writer = new BackupWriter(await open(path, 'wx', 0o600));
    await writer.#line(versioned(head));
    return writer;
  }

  get bytes(): number {
    return this.#end;
  }
  get files(): number {
    return this.#files;
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const rest = bytes.length - done;
      done += (await this.#file.write(bytes, done, rest, this.#end + done)).bytesWritten;
    }
    this.#end += bytes.length;
  }

  #line(value: object): Promise<void> {
    return this.#write(Buffer.from(`${sealed(value)}\n`));
  }

  /** Copies what the file has now; what is appended meanwhile is left out. Returns its hash; null: it is gone. */
  async add(
    source: string,
    { path, mode }: Pick<FileHead, 'path' | 'mode'>,
    onChunk: (chunk: Buffer) => void = () => undefined,
  ): Promise<string | null> {
    const file = await open(source, 'r').catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return null;
      throw error;
    });
    if (file === null) return null;
    try {
      const { size } = await file.stat();
      await this.#line({ path, mode, bytes: size });
      const sha256 = await this.#copy(file, size, onChunk);
      await this.#line({ sha256 });
      this.#files += 1;
      return sha256;
    } finally {
      await file.close();
    }
  }

  async #copy(file: FileHandle, size: number, onChunk: (chunk: Buffer) => void): Promise<string> {
    const hash = createHash('sha256');
    for (let remaining = size; remaining > 0;) {
      const buffer = Buffer.alloc(Math.min(remaining, CHUNK_BYTES));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, size - remaining);
      if (bytesRead === 0) fail('busy', 'A file became shorter while it was copied.', 'Try again.');
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      onChunk(chunk);
      await this.#write(chunk);
      remaining -= bytesRead;
    }
    return hash.digest('hex');
  }

  /** A moment to which `rewind` goes back. */
  mark(): { readonly end: number; readonly files: number } {
    return { end: this.#end, files: this.#files };
  }
  async rewind({ end, files }: { readonly end: number; readonly files: number }): Promise<void> {
    await this.#file.truncate(end);
    this.#end = end;
    this.#files = files;
  }

  /** Ends the backup durably. */
  async finish(): Promise<void> {
    await this.#line({ files: this.#files });
    await this.#file.sync();
  }
  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Reads a backup from its begin to its end. All throw ProblemError `disk` for a file that is damaged or cut off. */
export class BackupReader {
  readonly #file: FileHandle;
  readonly #path: string;
  #at = 0;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  static async open(path: string): Promise<{ reader: BackupReader; head: BackupHead }> {
    const reader = new BackupReader(path, await open(path, 'r'));
    try {
      const line = await reader.#line();
      checkVersion(line, path);
      if ((line as { kind?: unknown }).kind !== 'emend-backup') reader.#damaged('it is no backup');
      return { reader, head: line as BackupHead };
    } catch (error) {
      await reader.close();
      throw error;
    }
  }

  #damaged(reason: string): never {
    return fail(
      'disk',
      `The backup ${this.#path} cannot be restored: ${reason} (byte ${this.#at}).`,
      'Nothing was restored. Use another copy of the backup.',
    );
  }

  async #line(): Promise<object> {
    const buffer = Buffer.alloc(LINE_BYTES);
    const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, this.#at);
    const end = buffer.subarray(0, bytesRead).indexOf(LF);
    const line = end < 0 ? 'torn' : unsealed(buffer.toString('utf8', 0, end));
    if (end < 0) return this.#damaged('it ends too early, or is no backup');
    if (typeof line === 'string') return this.#damaged('a line is damaged, or it is no backup');
    this.#at += end + 1;
    return line;
  }

  /** The next file. Null: there are no more, and none is missing; `files`: how many were read. */
  async next(files: number): Promise<FileHead | null> {
    const line = (await this.#line()) as Partial<FileHead> & { readonly files?: number };
    if (line.files === files) return null;
    const { path, mode, bytes } = line;
    if (typeof path !== 'string' || typeof mode !== 'number' || !Number.isSafeInteger(bytes))
      return this.#damaged('a file is missing, or a line is no file');
    return { path, mode, bytes: bytes ?? 0 };
  }

  /** Hands over the bytes of the file that `next` named. */
  async content(
    { path, bytes }: FileHead,
    use: (chunk: Uint8Array) => Promise<void>,
  ): Promise<void> {
    const hash = createHash('sha256');
    for (let remaining = bytes; remaining > 0;) {
      const buffer = Buffer.alloc(Math.min(remaining, CHUNK_BYTES));
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, this.#at);
      if (bytesRead === 0) return this.#damaged('it ends too early');
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      await use(chunk);
      this.#at += bytesRead;
      remaining -= bytesRead;
    }
    const { sha256 } = (await this.#line()) as { readonly sha256?: string };
    if (sha256 !== hash.digest('hex')) this.#damaged(`${path} does not match its hash`);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
