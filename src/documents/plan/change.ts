/**
 * Helpers of expanding and collapsing: the files of a plan while they change, refusals, and the lines that Emend writes and later recognizes.
 */
import { BODY_LINE, type PartFile } from './part-file.js';
import { baseOf, mainFile, type PlanPlace } from './plan-paths.js';
import { readTree, type PartNode, type PlanTree } from './plan-tree.js';
import { type Move, relink, retarget, urlOf } from './links.js';
import { outlineOf } from './plan-document.js';
import type { ScoreReport } from './plan-report.js';
import { splice } from './text-spans.js';
import type { Fault, Link, PlanDocument, TextSplice } from './types.js';

/** The plan after a change. `files` has all files of the plan, so a removed file is not in it. */
export interface Changed {
  readonly ok: true;
  readonly place: PlanPlace;
  readonly files: ReadonlyMap<string, string>;
}
export type Change = Changed | { readonly ok: false; readonly faults: readonly Fault[] };

export const refusal = (file: string, line: number, message: string): Change => ({
  ok: false,
  faults: [{ file, line, message }],
});

/** Reads the changed plan again. Its faults name files by their paths. */
export const treeOf = ({ place, files }: Omit<Changed, 'ok'>): PlanTree =>
  readTree(
    place,
    (path) => {
      const text = files.get(path);
      return text === undefined
        ? { reason: `expected a file ${path}, but it does not exist` }
        : { text };
    },
    (path) => path,
  );

/** Moves the document of the plan into its folder, or out of it. `rewrite` adapts a link of the document to its new place. */
export function movePlan(
  { place, main, files }: PlanTree,
  inFolder: boolean,
  rewrite: (target: string, move: Move) => string,
): Omit<Changed, 'ok'> {
  const newPlace = { ...place, inFolder };
  const move = { folder: place.stem, self: baseOf(mainFile(place)) };
  const links = relink(linksOf(main.source), (target) => rewrite(target, move));
  const moved = new Map(files);
  moved.delete(mainFile(place));
  moved.set(mainFile(newPlace), splice(main.source, links));
  return { place: newPlace, files: moved };
}

/**
 * Returns the change if the plan still has the same phases and stages in the same order, and a refusal otherwise. A text with an open fence could
 * swallow some of them.
 */
export function sameParts(before: PlanTree, after: Change): Change {
  if (!after.ok) return after;
  const names = ({ part: { heading }, stages }: PartNode): unknown => [
    heading.number,
    heading.name,
    stages.map(names),
  ];
  const tree = treeOf(after);
  const isSame =
    JSON.stringify(tree.phases.map(names)) === JSON.stringify(before.phases.map(names));
  if (isSame && tree.faults.length === 0) return after;
  const [first] = tree.faults;
  const message =
    first === undefined
      ? 'the phases would change; is a code fence or comment unclosed?'
      : first.message;
  return refusal(first?.file ?? mainFile(before.place), first?.line ?? 1, message);
}

/** Returns the splice that raises or lowers the counter of expanded phases. The list is empty if the document has no counter. */
export const counterSplice = (
  { counter }: PlanDocument,
  difference: 1 | -1,
): readonly TextSplice[] =>
  counter === null
    ? []
    : [
        {
          from: counter.from,
          to: counter.to,
          text: String(Math.max(0, counter.value + difference)),
        },
      ];

const linkTo = (name: string, target = name): string => `[${name}](${urlOf(target)})`;

const several = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

/** Returns the lines under the heading of an expanded part. `score` is null for a stage, which has no score. */
export function summaryLines(
  node: PartNode,
  path: string,
  score: ScoreReport | null,
): readonly string[] {
  const { objective, tasks } = node.part;
  const files = score?.files.paths.length ?? 0;
  return [
    `**See**: ${linkTo(baseOf(path), path)}`,
    ...(objective === null ? [] : [`**Summary**: ${objective}`]),
    ...(score === null ? [] : [complexityLine(score)]),
    `**Tasks**: ${several(tasks.length, 'task')}${files === 0 ? '' : ` across ${several(files, 'file')}`}`,
  ];
}
const complexityLine = ({ score, label }: ScoreReport): string =>
  `**Complexity**: ${score} (${label})`;
export const structureLine = (stages: number): string =>
  `**Structure**: ${several(stages, 'stage')}`;

interface PartText {
  readonly body: string;
  /** Name of the file with the part's heading. It is in the same folder. */
  readonly holder: string;
  readonly score: ScoreReport | null;
  readonly copies: readonly string[];
  readonly eol: string;
}

/** Returns the text of the file of an expanded part. */
export function partFileText(
  node: PartNode,
  { body, holder, score, copies, eol }: PartText,
): string {
  const { heading, estimatedTime } = node.part;
  const lines = [
    `# ${heading.kind === 'phase' ? 'Phase' : 'Stage'} ${heading.number}: ${heading.name}`,
    '',
    `**Part of**: ${linkTo(holder)}`,
    ...(score === null ? [] : [complexityLine(score)]),
    ...(estimatedTime === null ? [] : [`**Estimated Time**: ${estimatedTime}`]),
    ...(copies.length === 0 ? [] : ['', ...copies]),
    '',
    BODY_LINE,
    body,
  ];
  return lines.join(eol);
}

/** Lines that Emend writes into headers and summaries. */
const GENERATED = [
  /^$/,
  /^\*\*Complexity\*\*: \d+(?:\.\d)? \((?:Low|Medium|High)\)$/,
  /^\*\*Tasks\*\*: \d+ tasks?(?: across \d+ files?)?$/,
  /^\*\*Structure\*\*: \d+ stages?$/,
  /^\*\*Part of\*\*: \[[^\]]*\]\([^)]*\)$/,
];

const withoutTargets = (text: string): string => text.replace(/\]\([^)]{0,1000}\)/g, ']()');

/** Returns the lines of a header or summary that Emend did not write and must keep. `copies` are copies of link definitions. */
export function personLines(
  text: string,
  file: PartFile,
  name: string,
  copies: ReadonlySet<string>,
): readonly string[] {
  const summary = `**Summary**: ${file.objective ?? ''}`;
  // `[a](b)` in a block of HTML is no link, so its target does not change when the file moves. In the line of the summary it is a link, and
  // its target changes. So the comparison ignores targets.
  const isSummary = (line: string): boolean =>
    summary.includes('<') && withoutTargets(line) === withoutTargets(summary);
  const known = new Set([...copies, summary, `**Estimated Time**: ${file.estimatedTime ?? ''}`]);
  let hasSee = false;
  return text.split(/\r\n|\n|\r/).flatMap((line) => {
    const bare = line.trim();
    const title = /^# (?:Phase|Stage) \d+: (.*)$/.exec(bare);
    if (title !== null) return title[1]?.startsWith(name) === true ? [] : [title[1] ?? ''];
    if (!hasSee && bare.startsWith('**See**:')) {
      hasSee = true;
      return [];
    }
    return known.has(bare) || isSummary(bare) || GENERATED.some((pattern) => pattern.test(bare))
      ? []
      : [line];
  });
}

/** Returns the text with lines added after its last line, and before the blank lines at its end. */
export function withLines(text: string, lines: readonly string[], eol: string): string {
  if (lines.length === 0) return text;
  const words = text.trimEnd();
  const tail = text.slice(words.length);
  return `${words}${words === '' ? '' : eol + eol}${lines.join(eol)}${tail === '' ? eol : tail}`;
}

/** Returns the files in which every link to `from` leads to `to`. `kept` is the beginning of both paths. */
export function retargetLinks(
  files: ReadonlyMap<string, string>,
  from: string,
  to: string,
  kept: string,
): ReadonlyMap<string, string> {
  return new Map(
    [...files].map(([path, text]) => {
      const name = baseOf(from);
      if (!text.includes(name)) return [path, text];
      return [
        path,
        splice(
          text,
          relink(linksOf(text), (target) => retarget(path, target, { from, to, kept })),
        ),
      ];
    }),
  );
}

export const linksOf = (text: string): readonly Link[] => outlineOf(text).links;

/** Collects splices for the files of a plan, by path. */
export class Edits {
  readonly #splices = new Map<string, TextSplice[]>();
  add(path: string, ...splices: readonly TextSplice[]): void {
    this.#splices.set(path, [...(this.#splices.get(path) ?? []), ...splices]);
  }
  /** Returns the plan after all splices. */
  applyTo({ place, files }: PlanTree): Changed & { readonly files: Map<string, string> } {
    const changed = new Map(files);
    for (const [path, splices] of this.#splices)
      changed.set(path, splice(changed.get(path) ?? '', splices));
    return { ok: true, place, files: changed };
  }
}
