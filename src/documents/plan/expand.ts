/** Expands phases into files of their own (level 1), and stages of expanded phases (level 2). Pure: files in, files out. */
import { anchorsOf, hasAnchorLinks, relocated } from './anchors.js';
import {
  counted,
  linksOf,
  partFileText,
  placed,
  refused,
  retargeted,
  sameParts,
  structureLine,
  summaryLines,
  treeOf,
  type Change,
  type Changed,
} from './change.js';
import { copiesFor, down, relink } from './links.js';
import {
  baseOf,
  folderOf,
  mainFile,
  overviewFile,
  partStem,
  isExpanded,
  isOverview,
  phaseOf,
  stageOf,
  type PartNode,
  type PlanTree,
} from './tree.js';
import { scoreReport, type ScoreReport } from './report.js';
import { splice, type TextSplice } from './types.js';
import type { Thresholds } from './score.js';
import { addMarker } from './reading.js';

/** Phase N: its text goes to `phase_N_name.md` in the plan's folder, which is made where it is the first. */
export function expandPhase(tree: PlanTree, number: number, values: Thresholds): Change {
  const node = phaseOf(tree, number);
  const refusal = refuseExpansion(tree.main.file, node, `Phase ${number}`);
  if (refusal !== null || node === undefined) return refusal ?? refused(tree.main.file, 1, 'no such phase');
  const score = scoreReport(node, { values });
  const unfolded = tree.place.inFolder ? tree : treeOf(placed(tree, true, down));
  const path = mainFile(unfolded.place);
  const inside = phaseOf(unfolded, number);
  if (inside === undefined)
    return refused(tree.main.file, node.part.heading.line, 'the phase is lost where its links change');
  const file = `${folderOf(path)}/${partStem(inside.part.heading)}.md`;
  if (unfolded.files.has(file)) return refused(tree.main.file, node.part.heading.line, `expected no file ${file} yet`);
  return sameParts(
    tree,
    movedOut(unfolded, { node: inside, holder: path, file, score, more: counted(unfolded.main, 1) }),
  );
}

/** Stage M of an expanded phase: its file lies beside the phase's overview, in a folder named after the phase's file. */
export function expandStage(tree: PlanTree, phase: number, number: number): Change {
  const node = phaseOf(tree, phase);
  if (node?.file == null)
    return refused(
      tree.main.file,
      node?.part.heading.line ?? 1,
      `expected Phase ${phase} to be expanded before its stages`,
    );
  const stage = stageOf(node, number);
  const refusal = refuseExpansion(node.file.path, stage, `Stage ${number} in Phase ${phase}`);
  if (refusal !== null) return refusal;
  const unfolded = isOverview(node) ? tree : treeOf(intoOverview(tree, node));
  const overview = phaseOf(unfolded, phase);
  const inside = overview === undefined ? undefined : stageOf(overview, number);
  if (overview?.file == null || inside === undefined)
    return refused(node.file.path, 1, 'the stage is lost where its links change');
  const { path } = overview.file;
  const file = `${folderOf(path)}/${partStem(inside.part.heading)}.md`;
  if (unfolded.files.has(file)) return refused(path, inside.part.heading.line, `expected no file ${file} yet`);
  return sameParts(tree, movedOut(unfolded, { node: inside, holder: path, file, score: null, more: [] }));
}

interface Going {
  readonly node: PartNode;
  /** Path of the file with its heading, and of the one that it gets beside it. */
  readonly holder: string;
  readonly file: string;
  readonly score: ScoreReport | null;
  readonly more: readonly TextSplice[];
}

/** The part's text in its file, and what stands under its heading instead; links and labels lead where they led. */
function movedOut({ place, main: { eol }, files }: PlanTree, { node, holder, file, score, more }: Going): Changed {
  const { body, heading } = node.part;
  const lines = summaryLines(node, baseOf(file), score);
  const { header, summary } = copiesFor(files, holder, body, lines);
  const all = summary.length === 0 ? lines : [...lines, '', ...summary];
  const text = partFileText(node, { body: bodyOf(node), holder: baseOf(holder), score, copies: header, eol });
  const left = splice(node.source, [...summaryText(node, all, eol), ...more]);
  const moved = new Map(files).set(holder, left).set(file, text);
  if (![...moved.values()].some(hasAnchorLinks)) return { ok: true, place, files: moved };
  const before = new Map([[holder, anchorsOf(node.source, heading.from, body, true)]]);
  const begin = text.length - (body.to - body.from);
  const after = new Map([
    // Of what stays behind nothing is in the part's text any more.
    [holder, anchorsOf(left, -1, { from: 0, to: 0 }, true)],
    [file, anchorsOf(text, 0, { from: begin, to: text.length }, false)],
  ]);
  return { ok: true, place, files: relocated(moved, { holder, file, way: 'out', before, after }) };
}

function refuseExpansion(file: string, node: PartNode | undefined, what: string): Change | null {
  if (node === undefined) return refused(file, 1, `there is no ${what}`);
  const { line } = node.part.heading;
  if (isExpanded(node)) return refused(file, line, `${what} is expanded already`);
  return bodyOf(node).trim() === '' ? refused(file, line, `${what} has no text that could be moved`) : null;
}

const bodyOf = ({ part: { body }, source }: PartNode): string => source.slice(body.from, body.to);

const summaryText = ({ part, source }: PartNode, lines: readonly string[], eol: string) => [
  ...addMarker(part.heading, 'EXPANDED'),
  { ...part.body, text: lines.join(eol) + eol + (part.body.to < source.length ? eol : '') },
];

/** The phase as a folder with its file as overview. */
function intoOverview({ place, main, files }: PlanTree, { part, file }: PartNode): Omit<Changed, 'ok'> {
  if (file === null) throw new Error('Only an expanded phase has an overview.');
  const folder = baseOf(file.path).replace(/\.md$/, '');
  const path = `${folderOf(file.path)}/${folder}/${overviewFile(part.heading.number)}`;
  // Behind the fields, before what follows them: labels that were copied.
  const fields = file.fields.filter(({ to }) => to <= file.header.to);
  const header = fields.at(-1)?.to ?? file.source.slice(0, file.header.to).trimEnd().length;
  const text = splice(file.source, [
    ...relink(linksOf(file.source), (target) => down(target, { folder, self: null })),
    { from: header, to: header, text: `${main.eol}${structureLine(file.stages.length)}` },
  ]);
  const moved = new Map(files);
  moved.delete(file.path);
  moved.set(path, text);
  return { place, files: retargeted(moved, file.path, path, `${folderOf(file.path)}/`) };
}
