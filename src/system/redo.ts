/**
 * ◆ The redo log of a process, a file of `<home>/redo`: small files of the home are written in place without a sync, and one sync of the log
 * makes all of them durable. First `{"v","at"}` (milliseconds), then a line for each write, in order: `{"path","bytes"}` (below the home;
 * base64), with `mode`: a file written once, else lines that were appended. After some time, or some bytes, the files are synced where they
 * lie and the log goes; that of a process which died is replayed by whoever opens the home next. What a power cut left half written and no
 * log has was reported to nobody, and goes.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { checkVersion, versioned, versionOf } from '../shared/problems.js';
import { appendAll, damaged, jsonOf, makingDir, onDisk, orNull, unlinkIfThere } from './durable.js';
import { refOf } from './hash.js';
import { isAlive, ownProcess, pidNamespace, type ProcessIdentity } from './process.js';
import type { Redo, Sys } from './sys.js';
import { together } from './turns.js';

const CUT_MS = 30_000; // bound: A log is cut so long after its first line: a start after a power cut has no more to replay.
const CUT_BYTES = 8 * 1024 * 1024; // bound: And before that where it is larger.
const CLOCK_SET_MS = 3_600_000; // bound: Half-written files are looked for from so long before a log on, as a clock may be set back.
const LATE_MOVES = 9; // bound: A directory of a replay that is late is emptied so often at most until it can be removed.

/** Where small files lie that are written once or line by line. */
const PLACES = ['blobs', 'records', 'calls', 'archive', 'transactions', 'locks'];
const redoDir = (home: string): string => join(home, 'redo');

/** Whose log it is, by its name. Null: no log, or one that was put aside, as `damaged` says. */
const ownerOf = (name: string) =>
  jsonOf(
    name.endsWith('.damaged') ? '' : Buffer.from(name.split('.')[0] ?? '', 'base64url').toString(),
  ) as (ProcessIdentity & { namespace: string | null }) | null;

const syncAll = async (sys: Sys, home: string, paths: ReadonlySet<string>): Promise<void> => {
  const dirs = new Set([home]);
  for (const path of paths)
    for (let dir = dirname(path); !dirs.has(dir); dir = dirname(dir)) dirs.add(dir);
  await together([...paths], (path) => orNull(sys.fsyncFile(path)));
  await together([...dirs], (dir) => orNull(sys.fsyncDir(dir)));
};

/**
 * Begins a log, durably: as long as a process writes without syncs there is one, by which the next one knows that it must look. `cut`: the
 * files are synced where they lie; `close`: another log begins only for what an activity writes that ends later.
 */
export const openRedo = async (sys: Sys, home: string) => {
  const owner = { ...(await ownProcess(sys)), namespace: await pidNamespace(sys) };
  const pathFor = (who: object): string =>
    join(
      redoDir(home),
      `${Buffer.from(JSON.stringify(who)).toString('base64url')}.${randomBytes(6).toString('hex')}`,
    );
  let at = 0;
  let timer: NodeJS.Timeout | undefined;
  const begin = async () => {
    clearTimeout(timer);
    timer = undefined;
    // The logs of one process are replayed in their order, also those of one instant.
    at = Math.max(Date.now(), at + 1);
    const path = pathFor(owner);
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

  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const mine = writing.then(() => onDisk(`Writing the redo log of ${home}`, work));
    writing = mine.catch(() => undefined);
    return mine;
  };
  /** One whose files cannot be synced is left to the next boot, which sees what is on the disk: another sync might say falsely that all is. */
  const retire = ({ path, named }: typeof log): Promise<void> => {
    const synced = syncAll(sys, home, named).then(() => unlinkIfThere(sys, path));
    const keep = () => sys.rename(path, pathFor({ ...owner, namespace: 'unsynced' }));
    return (retiring = synced.catch(keep).catch(() => undefined));
  };
  const renew = async (): Promise<void> => {
    const old = log;
    log = await begin();
    void retire(old);
  };
  const cut = (): Promise<void> =>
    inTurn(() => (log.isOver ? Promise.resolve() : renew()))
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

/** A write, as the head of this file says. */
interface Line {
  readonly path: string;
  readonly bytes: string;
  readonly mode?: number;
}
/** What it names is written: that lies where small files do. */
const isLine = (line: Partial<Record<keyof Line, unknown>> | null | undefined): boolean => {
  const { path = '', bytes, mode = 0 } = line ?? {};
  const isIn = (place: string): boolean => join('/', String(path)).startsWith(`/${place}/`);
  return PLACES.some(isIn) && typeof bytes === 'string' && Number.isSafeInteger(mode);
};

/** Milliseconds since 1970. `at`: its begin (Infinity: nobody was told of what is in it); `changed_ms`: before that where the clock was set back. */
const readLog = async (sys: Sys, path: string) => {
  const changed_ms = Number(((await orNull(sys.lstat(path)))?.changed_ns ?? 0n) / 1_000_000n);
  const text = Buffer.from((await orNull(sys.readFile(path))) ?? []).toString();
  const all = text.split('\n').slice(0, -1).map(jsonOf);
  // Nobody was told of what comes after a line that is not whole.
  const [head, ...lines] = all.slice(0, all.includes(null) ? all.indexOf(null) : undefined);
  if (typeof versionOf(head) === 'number') checkVersion(head, path);
  const { at = 0.5, v } = (head ?? { at: Infinity, v: 0 }) as {
    readonly at?: number;
    readonly v?: unknown;
  };
  const isHead = typeof v === 'number' && [Infinity, Math.trunc(at)].includes(at);
  if (!isHead || !lines.every(isLine)) damaged(path, 'a line of it is not of a redo log');
  return { path, changed_ms, at, lines: lines as readonly Line[] };
};
type Log = Awaited<ReturnType<typeof readLog>>;

const pathsIn = (home: string, logs: readonly Log[]): ReadonlySet<string> =>
  new Set(logs.flatMap(({ lines }) => lines.map(({ path }) => join(home, path))));

/** The home's files that a log names: whoever removes one finds it again after a power cut. Throws ProblemError `disk`, `version_unknown`. */
export const loggedFiles = (sys: Sys, home: string): Promise<ReadonlySet<string>> =>
  onDisk(`Reading the redo logs of ${home}`, async () => {
    const names = (await orNull(sys.readdir(redoDir(home)))) ?? [];
    const logs = await together(names.filter(ownerOf), (name) =>
      readLog(sys, join(redoDir(home), name)),
    );
    // Nor may a log come back that was removed.
    await orNull(sys.fsyncDir(redoDir(home)));
    return pathsIn(home, logs);
  });

/**
 * Brings back what a power cut took of a file, all of it at once; where nothing is missing it touches nothing. What follows the lost part and is
 * in no log was reported to nobody: a stream with a gap would be taken for whole. `temp`: a free name.
 */
const restore = async (
  sys: Sys,
  path: string,
  lines: readonly Line[],
  temp: string,
): Promise<void> => {
  const now = Buffer.from((await orNull(sys.readFile(path))) ?? []);
  const entries = lines.map((line) => ({ ...line, bytes: Buffer.from(line.bytes, 'base64') }));
  // What is lost reads as zeros, which no line holds, or as the end of the file.
  const lost = now.indexOf(0);
  let whole = now.subarray(0, now.subarray(0, lost < 0 ? now.length : lost).lastIndexOf('\n') + 1);
  let mode: number | undefined;
  for (const { bytes, ...entry } of entries) {
    if ((mode = entry.mode) !== undefined) whole = bytes;
    if (whole.includes(bytes)) continue;
    // The first lines of these may be there.
    let there = bytes.length;
    while (there > 1 && !whole.subarray(-there).equals(bytes.subarray(0, there)))
      there = bytes.subarray(0, there - 1).lastIndexOf('\n') + 1;
    whole = Buffer.concat([whole, bytes.subarray(there)]);
  }
  if (mode === undefined ? entries.every(({ bytes }) => now.includes(bytes)) : now.equals(whole))
    return;
  await sys.writeExclusive(temp, whole, { mode: mode ?? 0o600 });
  await makingDir(sys, path, () => sys.rename(temp, path));
};

const tornIn = async (sys: Sys, dir: string, since_ns: bigint): Promise<readonly string[]> => {
  const found = (await orNull(readdir(dir, { withFileTypes: true }))) ?? [];
  const changed = found.length > 0 && (await sys.stat(dir)).changed_ns >= since_ns;
  const torn = await together(found, async (entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return (await orNull(tornIn(sys, path, since_ns))) ?? [];
    // Gone by now: another opener was here.
    const isNew = changed && ((await orNull(sys.lstat(path)))?.changed_ns ?? 0n) >= since_ns;
    const bytes = isNew ? await orNull(sys.readFile(path)) : null;
    return bytes !== null && isTorn(path, bytes) ? [path] : [];
  });
  return torn.flat();
};

const isTorn = (path: string, bytes: Uint8Array): boolean =>
  /\/[0-9a-f]{64}$/.test(path)
    ? !path.endsWith(refOf(bytes).slice('sha256:'.length))
    : /\.jsonl?$/.test(path) && !Buffer.from(bytes).toString().split('\n').some(jsonOf);

/**
 * What a replay moves goes through a directory of its own in each place. Whoever has brought all back removes those of others: one that is late
 * moves nothing any more, as files may be added to by then.
 */
const LANE = /^REPLAY-[0-9a-f]{12}$/;
/** Of a log that is only to be removed: what it names is there. */
const DONE = '.done';

/** After a power cut: removes what is half written and in no log, and brings back what the logs say, in their order. */
const bringBack = async (sys: Sys, home: string, logs: readonly Log[]): Promise<void> => {
  const lane = `REPLAY-${randomBytes(6).toString('hex')}`;
  for (const dir of PLACES.map((place) => join(home, place, lane)))
    await makingDir(sys, dir, () => sys.mkdir(dir, 0o700));
  const inLane = (path: string): string =>
    join(home, relative(home, path).split('/')[0] ?? '', lane, randomBytes(6).toString('hex'));
  // Whoever marked it may have looked for the directories of others before ours were there.
  const [first] = logs;
  if (first === undefined || (await orNull(sys.lstat(first.path))) === null) return;
  const files = new Map([...pathsIn(home, logs)].map((path) => [path, [] as Line[]]));
  for (const line of logs.flatMap(({ lines }) => lines))
    files.get(join(home, line.path))?.push(line);
  const drop = async (path: string): Promise<void> => {
    const aside = inLane(path);
    await sys.rename(path, aside);
    // Without a boot id others may write already.
    if (!isTorn(path, await sys.readFile(aside))) await orNull(sys.link(aside, path), ['EEXIST']);
  };
  if (first.at !== Infinity) {
    const since_ms = Math.min(first.at, ...logs.map(({ changed_ms }) => changed_ms)) - CLOCK_SET_MS;
    for (const place of PLACES)
      for (const path of await tornIn(sys, join(home, place), BigInt(since_ms) * 1_000_000n))
        if (!files.has(path)) await orNull(drop(path));
  }
  for (const [path, lines] of files) await orNull(restore(sys, path, lines, inLane(path)));
};

/**
 * To be called before anything below the home is read; by several at once: each restores the same. Pids of another namespace say nothing,
 * those of another boot are gone, and only that lost anything. Throws ProblemError `disk`, `version_unknown`.
 */
export const replayRedo = (sys: Sys, home: string): Promise<void> =>
  onDisk(`Replaying the redo logs of ${home}`, async () => {
    const names = (await orNull(sys.readdir(redoDir(home)))) ?? [];
    if (names.length === 0) return;
    const own = { ...(await ownProcess(sys)), namespace: await pidNamespace(sys) };
    const whole: Log[] = [];
    const lost: Log[] = [];
    for (const name of names) {
      const owner = ownerOf(name);
      const isSameBoot = owner?.boot === own.boot && own.boot !== '-';
      if (
        owner === null ||
        (isSameBoot && owner.namespace !== own.namespace) ||
        (await isAlive(sys, owner))
      )
        continue;
      (isSameBoot || name.endsWith(DONE) ? whole : lost).push(
        await readLog(sys, join(redoDir(home), name)),
      );
    }
    if (whole.length + lost.length === 0) return;
    lost.sort((a, b) => a.at - b.at);
    if (lost.length > 0) await bringBack(sys, home, lost);
    await syncAll(sys, home, pathsIn(home, [...whole, ...lost]));
    for (const { path } of lost) await orNull(sys.rename(path, `${path}${DONE}`));
    for (const place of PLACES.map((each) => join(home, each)))
      for (const lane of ((await orNull(sys.readdir(place))) ?? []).filter((name) =>
        LANE.test(name),
      ))
        await rm(join(place, lane), { recursive: true, force: true, maxRetries: LATE_MOVES });
    for (const { path } of whole) await unlinkIfThere(sys, path);
    for (const { path } of lost) await unlinkIfThere(sys, `${path}${DONE}`);
  });
