/** What expanding and collapsing share: a plan's files while they are changed, refusals, and the lines that Emend writes and knows again. */
import { BODY_LINE, type PartFile } from './parse.js';
import {
  baseOf,
  mainFile,
  type PlanPlace,
  readTree,
  type PartNode,
  type PlanTree,
} from './tree.js';
import { type Move, relink, retarget, urlOf } from './links.js';
import { outlineOf } from './reading.js';
import type { ScoreReport } from './report.js';
import { splice, type Fault, type Link, type PlanDocument, type TextSplice } from './types.js';

/** The plan after a change; files that are gone are not in `files`. */
export interface Changed {
  readonly ok: true;
  readonly place: PlanPlace;
  readonly files: ReadonlyMap<string, string>;
}
export type Change = Changed | { readonly ok: false; readonly faults: readonly Fault[] };

export const refused = (file: string, line: number, message: string): Change => ({
  ok: false,
  faults: [{ file, line, message }],
});

/** Reads the changed plan again; faults name files by their paths. */
export const treeOf = ({ place, files }: Omit<Changed, 'ok'>): PlanTree =>
  readTree(
    place,
    (path) => {
      const text = files.get(path);
      return text === undefined
        ? { why: `expected a file ${path}, but it does not exist` }
        : { text };
    },
    (path) => path,
  );

/** The plan as a folder with its document inside, or as one file next to the folder; `relinked`: a link of the document from its new place. */
export function placed(
  { place, main, files }: PlanTree,
  inFolder: boolean,
  relinked: (target: string, move: Move) => string,
): Omit<Changed, 'ok'> {
  const now = { ...place, inFolder };
  const move = { folder: place.stem, self: baseOf(mainFile(place)) };
  const links = relink(linksOf(main.source), (target) => relinked(target, move));
  const moved = new Map(files);
  moved.delete(mainFile(place));
  moved.set(mainFile(now), splice(main.source, links));
  return { place: now, files: moved };
}

/** Are the same phases and stages there as before, in the same order? A body that holds an open fence would swallow some. */
export function sameParts(before: PlanTree, after: Change): Change {
  if (!after.ok) return after;
  const names = ({ part: { heading }, stages }: PartNode): unknown => [
    heading.number,
    heading.name,
    stages.map(names),
  ];
  const tree = treeOf(after);
  const same = JSON.stringify(tree.phases.map(names)) === JSON.stringify(before.phases.map(names));
  if (same && tree.faults.length === 0) return after;
  const [first] = tree.faults;
  const why =
    first === undefined
      ? 'the phases would change; is a code fence or comment unclosed?'
      : first.message;
  return refused(first?.file ?? mainFile(before.place), first?.line ?? 1, why);
}

/** The counter as it is after one more or one less, where the document has one. */
export const counted = ({ counter }: PlanDocument, by: 1 | -1): readonly TextSplice[] =>
  counter === null
    ? []
    : [{ from: counter.from, to: counter.to, text: String(Math.max(0, counter.value + by)) }];

const linkTo = (name: string, target = name): string => `[${name}](${urlOf(target)})`;

const several = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

/** The lines under the heading of an expanded part. `score` null: a stage, of which none is told. */
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

export interface PartText {
  readonly body: string;
  /** The name of the file with the part's heading, which is next to it. */
  readonly holder: string;
  readonly score: ScoreReport | null;
  readonly copies: readonly string[];
  readonly eol: string;
}

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

const GENERATED = [
  /^$/,
  /^\*\*Complexity\*\*: \d+(?:\.\d)? \((?:Low|Medium|High)\)$/,
  /^\*\*Tasks\*\*: \d+ tasks?(?: across \d+ files?)?$/,
  /^\*\*Structure\*\*: \d+ stages?$/,
  /^\*\*Part of\*\*: \[[^\]]*\]\([^)]*\)$/,
];

const withoutTargets = (text: string): string => text.replace(/\]\([^)]{0,1000}\)/g, ']()');

/** Lines of a header or summary that Emend did not write: a person's, to be kept. `copies`: definitions that stand elsewhere. */
export function personLines(
  text: string,
  file: PartFile,
  name: string,
  copies: ReadonlySet<string>,
): readonly string[] {
  const summary = `**Summary**: ${file.objective ?? ''}`;
  // In a block of HTML `[a](b)` is no link and stays as it is, while in the one line of the summary it is one and follows its file.
  const isSummary = (line: string): boolean =>
    summary.includes('<') && withoutTargets(line) === withoutTargets(summary);
  const known = new Set([...copies, summary, `**Estimated Time**: ${file.estimatedTime ?? ''}`]);
  let see = false;
  return text.split(/\r\n|\n|\r/).flatMap((line) => {
    const bare = line.trim();
    const title = /^# (?:Phase|Stage) \d+: (.*)$/.exec(bare);
    if (title !== null) return title[1]?.startsWith(name) === true ? [] : [title[1] ?? ''];
    if (!see && bare.startsWith('**See**:')) {
      see = true;
      return [];
    }
    return known.has(bare) || isSummary(bare) || GENERATED.some((pattern) => pattern.test(bare))
      ? []
      : [line];
  });
}

/** Behind the text and before the blank lines that end it. */
export function withLines(text: string, lines: readonly string[], eol: string): string {
  if (lines.length === 0) return text;
  const words = text.trimEnd();
  const tail = text.slice(words.length);
  return `${words}${words === '' ? '' : eol + eol}${lines.join(eol)}${tail === '' ? eol : tail}`;
}

/** Every link in the files that leads to `from` leads to `to`. */
export function retargeted(
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

/** What is to be spliced into the files of a plan, by path. */
export class Edits {
  readonly #splices = new Map<string, TextSplice[]>();
  add(path: string, ...splices: readonly TextSplice[]): void {
    this.#splices.set(path, [...(this.#splices.get(path) ?? []), ...splices]);
  }
  made({ place, files }: PlanTree): Changed & { readonly files: Map<string, string> } {
    const made = new Map(files);
    for (const [path, splices] of this.#splices)
      made.set(path, splice(made.get(path) ?? '', splices));
    return { ok: true, place, files: made };
  }
}
