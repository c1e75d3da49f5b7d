/** A file that is edited in regions: which lines a call is for, what it is shown of the rest, and what follows it. */
import type { Region, Json, Outline } from '../../edits/index.js';
import { joinOperations, operationsOf, withoutThinking } from '../../edits/internal.js';
import {
  claimedUnfinished,
  unfinishedInAll,
  type ClaimedUnfinished,
} from '../../shared/unfinished.js';
import type { AnswerFormat } from '../../shared/formats.js';
import { BOUNDS } from '../../shared/limits.js';
import type {
  FallbackStep,
  LinesAsked,
  ProposeInput,
  RegionPart,
} from '../../shared/step-activities.js';
import { getJson, putJson, type BlobStore } from '../../stores/ports.js';
import type { ActivityPorts } from '../frame/ports.js';
import type { Answered } from '../frame/model-call.js';
import { bytesOf, type LoadedTarget } from './prompt-inputs.js';

const OUTLINE_CHARS = 8 * 1024; // bound: Of the definitions of a file that is edited in regions this much is listed.
// bound: A file that is edited in regions is cut into so many at first, and a region that is cut off again into two, none shorter than this.
const REGIONS_FIRST = 4;

/** Kept as a blob: the regions of one file, in its order. */
interface RegionPlan {
  readonly regions: readonly Region[];
}
/** Kept as a blob: what the regions so far have said. */
interface RegionWork {
  readonly operations: readonly Json[];
  /** Of each region the tasks that its answer names as undone. */
  readonly unfinished: readonly (readonly ClaimedUnfinished[])[];
  /** Why regions that change nothing do not. */
  readonly reasons: readonly string[];
}
/** Kept as a blob: lines of a file that a model asked to be shown. */
interface WantedLines {
  readonly path: string;
  readonly ranges: readonly Region[];
}

export interface LoadedRegion extends RegionWork {
  readonly part: RegionPart;
  readonly regions: readonly Region[];
  readonly range: Region;
  readonly isLast: boolean;
}

const NO_WORK: RegionWork = { operations: [], unfinished: [], reasons: [] };

/** Null: the call is for whole files. */
export const loadRegion = async (
  blobs: BlobStore,
  { region: part }: ProposeInput,
): Promise<LoadedRegion | null> => {
  if (part === undefined) return null;
  const { regions } = await getJson<RegionPlan>(blobs, part.plan, 'regions');
  const range = regions[part.index];
  if (range === undefined) throw new Error(`the plan has no region ${part.index}`);
  const work =
    part.work === null ? NO_WORK : await getJson<RegionWork>(blobs, part.work, 'work of regions');
  return { part, regions, range, isLast: part.index === regions.length - 1, ...work };
};

/** What has been asked for, by path; empty where nothing was. */
export const loadWanted = async (
  blobs: BlobStore,
  { lines }: ProposeInput,
): Promise<ReadonlyMap<string, readonly Region[]>> => {
  if (lines === undefined) return new Map();
  const { path, ranges } = await getJson<WantedLines>(blobs, lines.ranges, 'wanted lines');
  return new Map([[path, ranges]]);
};

/** The next call's lines, with what was asked for before; null: it has been asked often enough. */
export async function wantedNext(
  blobs: BlobStore,
  input: ProposeInput,
  needs: { readonly path: string; readonly ranges: readonly Region[] },
): Promise<{ readonly lines: LinesAsked; readonly to: string } | null> {
  const asked = input.lines?.asked ?? 0;
  if (asked >= BOUNDS.needsLinesAsked) return null;
  const before = (await loadWanted(blobs, input)).get(needs.path) ?? [];
  const wanted: WantedLines = { path: needs.path, ranges: [...before, ...needs.ranges] };
  const told = needs.ranges.map(([from, to]) => `${from} to ${to}`).join(', ');
  return {
    lines: { ranges: await putJson(blobs, wanted), asked: asked + 1 },
    to: `lines ${told} of ${needs.path}, which the model asked for`,
  };
}

const describeRegion = (regions: readonly Region[], index: number): string => {
  const [from, to] = regions[index] ?? [0, 0];
  return `region ${index + 1} of ${regions.length} (lines ${from} to ${to})`;
};

/** What of a judged answer is kept. */
type Said = Pick<Answered, 'answer' | 'written' | 'nonce'> & {
  readonly reason: string | undefined;
};

/** What the last region is judged by: everything that was said, as one answer. */
export const joined = (region: LoadedRegion, said: Said): string => {
  const { operations, reasons } = workAfter(region, said);
  return joinOperations(operations, [...new Set(reasons)].join('; '));
};

const workAfter = (before: RegionWork, { answer, written, nonce, reason }: Said): RegionWork => ({
  operations: [...before.operations, ...operationsOf(answer.text, nonce)],
  unfinished: [...before.unfinished, unfinishedIn({ written, nonce }, 'structured-edit')],
  reasons: [...before.reasons, ...(reason === undefined ? [] : [reason])],
});

/** What every region names as undone nobody has done. `answer`: the last one's. */
export const unfinishedOfRegions = (
  { unfinished }: LoadedRegion,
  answer: Pick<Answered, 'written' | 'nonce'>,
): readonly ClaimedUnfinished[] =>
  unfinishedInAll([...unfinished, unfinishedIn(answer, 'structured-edit')]);

/** The tasks that a response names as not done, outside of its thinking. */
export const unfinishedIn = (
  { written, nonce }: Pick<Answered, 'written' | 'nonce'>,
  format: AnswerFormat,
): readonly ClaimedUnfinished[] => claimedUnfinished(withoutThinking(written, format, nonce).text);

export async function regionAfter(
  blobs: BlobStore,
  before: LoadedRegion,
  said: Said,
): Promise<{ readonly region: RegionPart; readonly to: string }> {
  const { part, regions } = before;
  const index = part.index + 1;
  const work = await putJson(blobs, workAfter(before, said));
  return { region: { plan: part.plan, index, work }, to: describeRegion(regions, index) };
}

export const outlineOf = (
  { edits }: ActivityPorts,
  target: LoadedTarget,
  signal: AbortSignal,
): Promise<Outline> => edits.run('outline', bytesOf(target), signal);

/** In the place of `exhausted`: the file in regions, or the region in two. Null: it is too short for that. */
export async function regionsNext(
  ports: ActivityPorts,
  target: LoadedTarget,
  {
    region,
    outputBudget_tokens,
  }: { readonly region: LoadedRegion | null; readonly outputBudget_tokens: number },
  signal: AbortSignal,
): Promise<FallbackStep | null> {
  const parts = region === null ? REGIONS_FIRST : 2;
  const wanted = { file: bytesOf(target), range: region?.range ?? null, parts };
  const cut = await ports.edits.run('regions', wanted, signal);
  if (cut.length < 2) return null;
  const index = region?.part.index ?? 0;
  const regions = region === null ? cut : region.regions.toSpliced(index, 1, ...cut);
  const plan: RegionPlan = { regions };
  return {
    kind: 'regions',
    format: 'structured-edit',
    outputBudget_tokens,
    region: { plan: await putJson(ports.blobs, plan), index, work: region?.part.work ?? null },
    to: describeRegion(regions, index),
  };
}

/** The file's definitions with their lines, as many as fit; '' where its language is not known. */
export const outlineText = (outline: Outline): string => {
  if (outline.kind === 'unread') return '';
  let left = OUTLINE_CHARS;
  const rows: string[] = [];
  for (const { qualified, kind, lead, to } of outline.symbols) {
    const row = `${lead + 1}-${to} ${kind} ${qualified}`;
    left -= row.length + 1;
    if (left < 0) return [...rows, '...'].join('\n');
    rows.push(row);
  }
  return rows.join('\n');
};
