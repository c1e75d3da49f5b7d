/**
 * ◆ The redo log of a process, a file of `<home>/redo`: small files of the home are written in place without a sync, and one sync of the log
 * makes all of them durable. First `{"v","at"}` (milliseconds), then a line for each write, in order: `{"path","bytes"}` (below the home;
 * base64), with `mode`: a file written once, else lines that were appended. After some time, or some bytes, the files are synced where they
 * lie and the log goes; that of a process which died is replayed by whoever opens the home next. What a power cut left half written and no
 * log has was reported to nobody, and goes.
 */
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { checkVersion, versioned } from '../shared/problems.js';
import { appendAll, jsonOf, onDisk, orNull, tempName, unlinkIfThere, writeTemp } from './durable.js';
import { refOf } from './hash.js';
import { isAlive, ownProcess, pidNamespace, type ProcessIdentity } from './process.js';
import type { Redo, Sys } from './sys.js';
import { together } from './turns.js';

const CUT_MS = 30_000; // bound: A log is cut so long after its first line: a start after a power cut has no more to replay.
const CUT_BYTES = 8 * 1024 * 1024; // bound: And before that where it is larger.
const CLOCK_SET_MS = 3_600_000; // bound: Half-written files are looked for from so long before a log on, as a clock may be set back.

/** Where small files lie that are written once or line by line. */
const PLACES = ['blobs', 'records', 'calls', 'archive', 'transactions', 'locks'];
const redoDir = (home: string): string => join(home, 'redo');

/** Whose log it is, by its name. Null: no log. */
const ownerOf = (name: string) =>
  jsonOf(Buffer.from(name.split('.')[0] ?? '', 'base64url').toString()) as
    | (ProcessIdentity & { namespace: string | null })
    | null;

const syncAll = async (sys: Sys, home: string, paths: ReadonlySet<string>): Promise<void> => {
  const dirs = new Set([home]);
  for (const path of paths) for (let dir = dirname(path); !dirs.has(dir); dir = dirname(dir)) dirs.add(dir);
  await together([...paths], (path) => orNull(sys.fsyncFile(path)));
  await together([...dirs], (dir) => orNull(sys.fsyncDir(dir)));
};

/**
 * Begins a log, durably: as long as a process writes without syncs there is one, by which the next one knows that it must look. `cut`: the
 * files are synced where they lie; `close`: another log begins only for what an activity writes that ends later.
 */
export const openRedo = async (sys: Sys, home: string) => {
  const owner = { ...(await ownProcess(sys)), namespace: await pidNamespace(sys) };
  let at = 0;
  const begin = async () => {
    // The logs of one process are replayed in their order, also those of one instant.
    at = Math.max(Date.now(), at + 1);
    const name = `${Buffer.from(JSON.stringify(owner)).toString('base64url')}.${randomBytes(6).toString('hex')}`;
    const path = join(redoDir(home), name);
    await orNull(sys.mkdir(redoDir(home), 0o700), ['EEXIST']);
    await appendAll(sys, path, Buffer.from(`${JSON.stringify(versioned({ at }))}\n`));
    for (const dir of [redoDir(home), home]) await sys.fsyncDir(dir);
    return { path, named: new Set<string>(), bytes: 0, isOver: false };
  };
  let log = await begin();
  /** Lines, each with its path. */
  let waiting: (readonly [path: string, line: string])[] = [];
  let writing: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | null = null;
  let retiring: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const mine = writing.then(() => onDisk(`Writing the redo log of ${home}`, work));
    writing = mine.catch(() => undefined);
    return mine;
  };
  /** One whose files cannot be synced stays, and is replayed at the next start. */
  const retire = ({ path, named }: typeof log): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const synced = syncAll(sys, home, named).then(() => unlinkIfThere(sys, path));
    return (retiring = synced.catch(() => undefined));
  };
  const renew = async (): Promise<void> => {
    const old = log;
    log = await begin();
    void retire(old);
  };
  const cut = (): Promise<void> =>
    inTurn(renew)
      .then(() => retiring)
      .catch(() => undefined);
  const write = async (): Promise<void> => {
    next = null;
    if (waiting.length === 0) return;
    // Nothing may follow half a line, or stand in a log that was removed: it would have no head.
    if (log.isOver || (await orNull(sys.lstat(log.path))) === null) await renew();
    const now = waiting;
    waiting = [];
    try {
      const bytes = Buffer.from(now.map(([, line]) => line).join(''));
      await appendAll(sys, log.path, bytes);
      log.bytes += bytes.length;
    } catch (error) {
      log.isOver = true;
      waiting = [...now, ...waiting];
      throw error;
    }
    for (const [path] of now) log.named.add(path);
    timer ??= setTimeout(() => void cut(), CUT_MS).unref();
    if (log.bytes > CUT_BYTES) void cut();
  };
  const flush = (): Promise<void> => (next ??= inTurn(write));
  const places = PLACES.map((place) => `${join(home, place)}/`);
  const covers = (path: string): boolean => places.some((place) => path.startsWith(place));
  const close = (): Promise<void> =>
    inTurn(async () => {
      await write();
      log.isOver = true;
      await retire(log);
    }).catch(() => undefined);
  const add: Redo['add'] = (path, bytes, mode) => {
    const line = { path: relative(home, path), mode, bytes: Buffer.from(bytes).toString('base64') };
    waiting.push([path, `${JSON.stringify(line)}\n`]);
  };
  return { covers, add, flush, cut, close };
};

interface Entry {
  readonly bytes: Buffer;
  readonly mode?: number;
}

/**
 * Brings back what a power cut took of a file, all of it at once; where nothing is missing it touches nothing. What follows the lost part and is
 * in no log was reported to nobody: a stream with a gap would be taken for whole.
 */
const restore = async (sys: Sys, path: string, entries: readonly Entry[], log: string): Promise<void> => {
  const now = Buffer.from((await orNull(sys.readFile(path))) ?? []);
  // What is lost reads as zeros, which no line holds, or as the end of the file.
  const lost = now.indexOf(0);
  let whole = now.subarray(0, now.subarray(0, lost < 0 ? now.length : lost).lastIndexOf('\n') + 1);
  let mode: number | undefined;
  for (const { bytes, ...entry } of entries) {
    if ((mode = entry.mode) !== undefined) whole = Buffer.from(bytes);
    if (whole.includes(bytes)) continue;
    // The first lines of these may be there.
    let there = bytes.length;
    while (there > 1 && !whole.subarray(-there).equals(bytes.subarray(0, there)))
      there = bytes.subarray(0, there - 1).lastIndexOf('\n') + 1;
    whole = Buffer.concat([whole, bytes.subarray(there)]);
  }
  if (mode === undefined ? entries.every(({ bytes }) => now.includes(bytes)) : now.equals(whole)) return;
  const temp = await writeTemp(sys, path, whole, { mode });
  // Another opener removes the logs once all is back, and may have added to the file since.
  if ((await orNull(sys.lstat(log))) === null) return unlinkIfThere(sys, temp);
  await sys.rename(temp, path);
};

const dropTorn = async (sys: Sys, dir: string, since_ns: bigint): Promise<void> => {
  const found = (await orNull(readdir(dir, { withFileTypes: true }))) ?? [];
  const changed = found.length > 0 && (await sys.stat(dir)).changed_ns >= since_ns;
  await together(found, async (entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return dropTorn(sys, path, since_ns);
    if (!changed || (await sys.lstat(path)).changed_ns < since_ns || !isTorn(path, await sys.readFile(path))) return;
    // Another opener may have made it anew meanwhile: what is taken away is looked at again.
    const aside = tempName(path);
    await sys.rename(path, aside);
    if (!isTorn(path, await sys.readFile(aside))) await orNull(sys.link(aside, path), ['EEXIST']);
    await unlinkIfThere(sys, aside);
  });
};

const isTorn = (path: string, bytes: Uint8Array): boolean =>
  /\/[0-9a-f]{64}$/.test(path)
    ? !path.endsWith(refOf(bytes).slice('sha256:'.length))
    : /\.jsonl?$/.test(path) && !Buffer.from(bytes).toString().split('\n').some(jsonOf);

/**
 * To be called before anything below the home is read; by several at once: each restores the same. Pids of another namespace say nothing,
 * those of another boot are gone. Throws ProblemError `disk`, `version_unknown`.
 */
export const replayRedo = (sys: Sys, home: string): Promise<void> =>
  onDisk(`Replaying the redo logs of ${home}`, async () => {
    const names = (await orNull(sys.readdir(redoDir(home)))) ?? [];
    if (names.length === 0) return;
    const own = { ...(await ownProcess(sys)), namespace: await pidNamespace(sys) };
    const logs: { path: string; at: number; rest: readonly { path: string; bytes: string; mode?: number }[] }[] = [];
    let since_ms = Infinity;
    for (const name of names) {
      const owner = ownerOf(name);
      const path = join(redoDir(home), name);
      if (owner === null) continue;
      if (owner.boot === own.boot && (owner.namespace !== own.namespace || (await isAlive(sys, owner)))) continue;
      const text = Buffer.from((await orNull(sys.readFile(path))) ?? []).toString();
      const lines = text.split('\n').slice(0, -1).map(jsonOf);
      // Nobody was told of what comes after a line that is not whole.
      const [head, ...rest] = lines.slice(0, lines.includes(null) ? lines.indexOf(null) : undefined);
      if (head != null) checkVersion(head, path);
      const { at } = (head ?? { at: Infinity }) as { at: number };
      if (owner.boot !== own.boot || own.boot === '-') since_ms = Math.min(since_ms, at);
      logs.push({ path, at, rest: rest as (typeof logs)[number]['rest'] });
    }
    logs.sort((a, b) => a.at - b.at);
    const since_ns = since_ms === Infinity ? null : BigInt(since_ms - CLOCK_SET_MS) * 1_000_000n;
    if (since_ns !== null) for (const place of PLACES) await dropTorn(sys, join(home, place), since_ns);
    const files = new Map<string, Entry[]>();
    for (const { path: below, bytes, ...how } of logs.flatMap(({ rest }) => rest)) {
      const path = join(home, below);
      files.set(path, files.get(path) ?? []);
      files.get(path)?.push({ ...how, bytes: Buffer.from(bytes, 'base64') });
    }
    for (const [path, entries] of files) await restore(sys, path, entries, logs[0]?.path ?? '');
    await syncAll(sys, home, new Set(files.keys()));
    for (const { path } of logs) await unlinkIfThere(sys, path);
  });
