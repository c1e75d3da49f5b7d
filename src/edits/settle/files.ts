/** Plans become bytes: base hashes are checked, every plan is settled, guards look at the whole; one reason refuses everything. */
import type { FilePlan, LinesPlan } from '../text/changes.js';
import { withoutFence } from '../text/fence.js';
import { indexOf, indexOfLines, type LineIndex, NO_LINES, type Text } from '../text/lines.js';
import { quotesItsBom, spliced, type Spliced } from '../text/to-splices.js';
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { listingReasons } from '../listing.js';
import { toleranceOn } from '../locate/likeness.js';
import { type GuardedFile, guardFindings } from '../guards/index.js';
import { checkPath, type LookedUp, lookUp, lookUpWhole, pathsThere } from '../paths.js';
import { decodeFile, type SpliceBase } from '../text/codec.js';
import type { Finding } from '../../shared/formats.js';
import type {
  AnswerOutcome,
  ApplyOptions,
  ContextFile,
  OfferedFile,
  Reading,
  Reason,
  ResultFile,
  Splice,
  UsedTolerance,
} from '../types.js';

type Offered = ContextFile & { readonly base: SpliceBase | null };
export type OfferedFiles = ReadonlyMap<string, Offered>;

/** If `text` is null and `bytes` are not, the file cannot be edited, which is a reason as soon as an answer names it. */
export const decodeOffered = (files: ReadonlyMap<string, OfferedFile>): OfferedFiles => {
  const offered = new Map<string, Offered>();
  for (const [path, file] of files) {
    const decoded = file.bytes === null ? null : decodeFile(file.bytes, file.encoding);
    const checked = checkPath(path);
    const base = decoded?.ok === true ? decoded : null;
    const problem = decoded?.ok === false ? decoded.problem : null;
    offered.set(checked.ok ? checked.path : path, {
      ...file,
      text: base?.text ?? null,
      base,
      hasBom: base !== null && quotesItsBom(base),
      ...(problem && {
        unreadable: {
          code: problem.code === 'target_binary' ? 'binary' : 'encoding',
          why: problem.message,
        },
      }),
    });
  }
  return offered;
};

type Plans = Extract<Reading, { kind: 'plans' | 'refused' }>;

/** Makes the files of a reading, or says why not: nothing in between. */
export const makeFiles = (
  reading: Plans,
  offered: OfferedFiles,
  options: ApplyOptions,
  earlierNotes: readonly Reason[],
): AnswerOutcome => {
  const refused = (reasons: readonly Reason[]): AnswerOutcome => ({ outcome: 'refused', reasons });
  const otherBase = baseReasons(offered, options.base);
  if (otherBase.length > 0) return refused(otherBase);
  if (reading.kind === 'refused') return refused(reading.reasons);

  const work = new Work(offered, options).takeAll(reading.plans);
  if (work.reasons.length > 0) return refused(work.reasons);
  const { files, splices, moves } = work;
  const tolerances = [...reading.tolerances, ...work.tolerances];
  const fenced = tolerances.filter(({ tolerance }) => tolerance === 'fenced_body');
  if (fenced.length > 0 && !toleranceOn('fenced_body', options.tolerances))
    return refused(fenced.map(fencedBody));
  const notes = [...earlierNotes, ...reading.notes];
  if (files.size === 0) return { outcome: 'unchanged', reasons: notes };

  const findings = findingsOf(work, offered, options);
  const refusing = refusingFindings(findings, reading.tolerances);
  if (refusing.length > 0)
    return refused(refusing.map(({ guard: code, path, message }) => ({ code, path, message })));
  const renames = [...moves].map(([to, from]) => ({ from, to }));
  const { summary } = reading;
  return {
    outcome: 'edited',
    files,
    renames,
    splices,
    tolerances,
    findings,
    notes,
    ...(summary === undefined ? {} : { summary }),
  };
};

/** What the guards find in all files that the response leaves. */
const findingsOf = (
  { files, changes, moves, proven }: Work,
  offered: OfferedFiles,
  options: ApplyOptions,
): readonly Finding[] => {
  const movedAway = new Set(moves.values());
  const guarded = [...files]
    .filter(([path, result]) => result !== 'absent' || !movedAway.has(path))
    .map(([path, result]): GuardedFile => {
      const base = offered.get(moves.get(path) ?? path);
      const written = result === 'absent' ? null : result;
      return {
        path,
        base: base?.bytes ?? null,
        baseMode: base?.mode,
        encoding: base?.encoding,
        result: written?.bytes ?? null,
        resultMode: written?.mode,
        isProven: proven.has(path),
        ...changes.get(path),
      };
    });
  return guardFindings(guarded, {
    ...options,
    movedTo: [...moves.keys()],
    movedAway: [...movedAway],
    beside: pathsThere(offered, options),
  });
};

/** Tolerances that shift lines as a whole. */
const SHIFTING: ReadonlySet<string> = new Set(['indent', 'tabs']);

/** Findings that refuse a response: those set so, and broken syntax where lines were shifted as a whole. */
const refusingFindings = (
  findings: readonly Finding[],
  tolerances: readonly UsedTolerance[],
): readonly Finding[] => {
  const shifted = new Set(
    tolerances.filter(({ tolerance }) => SHIFTING.has(tolerance)).map(({ path }) => path),
  );
  return findings.filter(({ severity, guard, path }) => {
    const isOfSyntax = guard === 'syntax' || guard === 'lost_symbol';
    return severity === 'refuse' || (severity === 'ask' && shifted.has(path) && isOfSyntax);
  });
};

const fencedBody = ({ path, index }: UsedTolerance): Reason => {
  const message = `The content of ${path} is in a code fence. Send it without one, or turn on the tolerance fenced_body, which removes the fence.`;
  return { code: 'fenced_body', path, message, ...(index === undefined ? {} : { index }) };
};

const baseReasons = (
  offered: OfferedFiles,
  expected: ReadonlyMap<string, string> | undefined,
): Reason[] => {
  const reasons: Reason[] = [];
  for (const [path, hash] of expected ?? []) {
    const file = offered.get(path);
    if (file === undefined) continue;
    const own =
      file.bytes === null ? 'absent' : createHash('sha256').update(file.bytes).digest('hex');
    const message = `${path} is not the version that the answer was made for: expected sha-256 ${hash.slice(0, 12)}…, found ${own.slice(0, 12)}…. Ask again with the current file.`;
    if (own !== hash.toLowerCase()) reasons.push({ code: 'base', path, message });
  }
  return reasons;
};

/** Is it git's hash (SHA-1) of the bytes, as they are or, as with `core.autocrlf`, without carriage returns? */
const isBlob = (blob: string, bytes: Uint8Array): boolean => {
  const isOf = (candidate: Uint8Array): boolean =>
    createHash('sha1')
      .update(`blob ${candidate.length}\0`)
      .update(candidate)
      .digest('hex')
      .startsWith(blob);
  return (
    isOf(bytes) ||
    isOf(Buffer.from(Buffer.from(bytes).toString('latin1').replaceAll('\r\n', '\n'), 'latin1'))
  );
};

type WrittenFile = Extract<Spliced, { ok: true }>;

class Work {
  readonly #offered: OfferedFiles;
  readonly #options: ApplyOptions;
  readonly files = new Map<string, ResultFile | 'absent'>();
  readonly splices = new Map<string, readonly Splice[]>();
  /** What the guards look at, by path. */
  readonly changes = new Map<string, Pick<GuardedFile, 'made' | 'rewritten'>>();
  /** Paths whose text git's hash proves. */
  readonly proven = new Set<string>();
  /** By the new path. */
  readonly moves = new Map<string, string>();
  readonly reasons: Reason[] = [];
  readonly tolerances: UsedTolerance[] = [];
  readonly #taken = new Set<string>();
  /** Paths that files are moved away from; another may come there. */
  readonly #vacated = new Set<string>();

  constructor(offered: OfferedFiles, options: ApplyOptions) {
    this.#offered = offered;
    this.#options = options;
  }

  /** Lines plans for the target of a move are settled against the bytes of its source, so moves are taken before them, all at once. */
  takeAll(plans: readonly FilePlan[]): this {
    for (const plan of plans) if (plan.kind === 'move') this.#take(plan);
    for (const [to, from] of this.moves) {
      if (!this.moves.has(from)) this.files.set(from, 'absent');
      const isFree = from !== to && this.#vacated.has(to);
      if (!isFree && (this.#offered.get(to)?.bytes ?? null) !== null)
        this.#refuse('move_onto_file', to, `${from} cannot be moved to ${to}: that file exists.`);
    }
    for (const plan of plans) if (plan.kind !== 'move') this.#take(plan);
    for (const [to, from] of this.moves) this.#keepContent(to, this.#offered.get(from));
    for (const [path, result] of this.files) if (result !== 'absent') this.#checkFolders(path);
    return this;
  }

  /** A file that only moves keeps its bytes. */
  #keepContent(path: string, base: Offered | undefined): void {
    if (base?.bytes === undefined || base.bytes === null || this.files.has(path)) return;
    const { bytes, mode } = base;
    this.files.set(path, withMode(bytes, mode));
  }

  /** No file is below another. */
  #checkFolders(path: string): void {
    const isFile = (folder: string): boolean =>
      (this.files.get(folder) ?? this.#offered.get(folder)?.bytes ?? 'absent') !== 'absent';
    const folders = [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index));
    const file = folders.find(isFile);
    if (file === undefined) return;
    const message = `${path} would be below ${file}, which is a file. Choose another path.`;
    this.#refuse('bad_path', path, message);
  }

  #take(plan: FilePlan): void {
    const look = plan.kind === 'lines' ? lookUp : lookUpWhole;
    const path = this.#lookUp(plan.path, look)?.path;
    if (path === undefined) return;
    if (plan.kind === 'move') this.#move(plan.from, path);
    else if (!this.#claim(path)) return;
    else if (plan.kind === 'delete') this.#delete(path);
    else this.#settle(path, plan);
  }

  #lookUp(path: string, look: typeof lookUp): Extract<LookedUp, { ok: true }> | null {
    const looked = look(path, { files: this.#offered, options: this.#options });
    if (looked.ok) return looked;
    this.reasons.push(looked.reason);
    return null;
  }
  #refuse(code: string, path: string, message: string): void {
    this.reasons.push({ code, path, message });
  }

  /** A file's content is said once. */
  #claim(path: string): boolean {
    const isTaken = this.#taken.has(path) || this.files.get(path) === 'absent';
    if (isTaken)
      this.#refuse(
        'file_twice',
        path,
        `${path} is changed twice. Put all changes of a file in one place.`,
      );
    this.#taken.add(path);
    return !isTaken;
  }

  #move(from: string, to: string): void {
    const source = this.#lookUp(from, lookUpWhole);
    if (source === null) return;
    if (source.file.bytes === null)
      this.#refuse('move_absent', to, `${from} does not exist, so it cannot be moved.`);
    else if (this.#vacated.has(source.path) || this.moves.has(to))
      this.#refuse('file_twice', to, `${to} is created twice.`);
    else {
      this.#vacated.add(source.path);
      this.moves.set(to, source.path);
    }
  }

  #delete(path: string): void {
    if (this.#options.allowDelete === true) this.files.set(path, 'absent');
    else
      this.#refuse(
        'delete_not_allowed',
        path,
        `${path} may not be deleted here. Change its content instead.`,
      );
  }

  /** All of a file's text without a fence round it. */
  #unfenced(path: string, plan: LinesPlan, base: LineIndex): LinesPlan {
    const body =
      'result' in plan ? plan.result : indexOfLines(plan.changes.flatMap(({ lines }) => lines));
    const where = { path, ...(plan.index === undefined ? {} : { index: plan.index }) };
    const plain = withoutFence(path, body, base);
    if ('code' in plain) this.reasons.push({ ...plain, ...where });
    else if (plain !== body) this.tolerances.push({ tolerance: 'fenced_body', ...where });
    if ('code' in plain || plain === body) return plan;
    return 'result' in plan
      ? { ...plan, result: plain }
      : { ...plan, changes: [{ from: 0, to: 0, lines: plain.all }] };
  }

  #settle(path: string, plan: LinesPlan): void {
    const file = this.#offered.get(this.moves.get(path) ?? path);
    const text = (plan.exact ?? file?.base)?.text ?? null;
    const written = this.#write(path, plan, text, file);
    if (written === null) return;
    const { bytes, splices, changes } = written;
    const mode = plan.mode ?? file?.mode;
    if (splices.length === 0 && mode === file?.mode && this.#isKept(path, file)) return;
    this.files.set(path, withMode(bytes, mode));
    this.splices.set(path, splices);
    // An exact plan counts in other lines than guards do.
    if (plan.exact === undefined)
      this.changes.set(path, {
        made: { base: text, changes },
        rewritten: plan.rewritten ?? false,
      });
  }

  /** Was there a file under this path before, which stays there? */
  #isKept(path: string, file: Offered | undefined): boolean {
    return file !== undefined && file.bytes !== null && !this.moves.has(path);
  }

  /** Returns a file's new bytes; null: its lines are refused. */
  #write(
    path: string,
    plan: LinesPlan,
    text: Text | null,
    file: Offered | undefined,
  ): WrittenFile | null {
    const { blob } = plan;
    const write = (lines: LinesPlan): Spliced => spliced(file?.base ?? null, lines, this.#options);
    const stated = blob === undefined ? null : write(plan);
    // Where git's hash proves the text, a fence is the file's own, and no line of it stands for others.
    const isProven = blob !== undefined && stated?.ok === true && isBlob(blob, stated.bytes);
    const base = text === null ? NO_LINES : indexOf(text);
    const isWhole = plan.rewritten === true || base.length === 0;
    const plain = isWhole && !isProven ? this.#unfenced(path, plan, base) : plan;
    const written = stated !== null && plain === plan ? stated : write(plain);
    if (!written.ok) {
      this.reasons.push(...written.reasons);
      return null;
    }
    if (isProven) this.proven.add(path);
    else this.reasons.push(...listingReasons(path, text, written.changes));
    return written;
  }
}

const withMode = (bytes: Uint8Array, mode: number | undefined): ResultFile =>
  mode === undefined ? { bytes } : { bytes, mode };
