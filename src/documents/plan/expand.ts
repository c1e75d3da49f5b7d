/** Moves the text of phases to files of their own (level 1), and that of the stages of expanded phases (level 2). Pure: files in, files out. */
import { anchorsOf } from './anchors.js';
import { hasAnchorLinks, relocateLinks } from './anchor-links.js';
import * as changes from './change.js';
import { copiesFor } from './link-definitions.js';
import { down, relink } from './links.js';
import * as paths from './plan-paths.js';
import * as trees from './plan-tree.js';
import { scoreReport, type ScoreReport } from './plan-report.js';
import { splice } from './text-spans.js';
import type { TextSplice } from './types.js';
import type { Thresholds } from './thresholds.js';
import { addMarker } from './headings.js';

/** Expands a phase. Its text moves to `phase_N_name.md` in the plan's folder. The first expansion creates this folder. */
export function expandPhase(
  tree: trees.PlanTree,
  number: number,
  values: Thresholds,
): changes.Change {
  const node = trees.phaseOf(tree, number);
  const refusal = refuseExpansion(tree.main.file, node, `Phase ${number}`);
  if (refusal !== null || node === undefined)
    return refusal ?? changes.refusal(tree.main.file, 1, 'no such phase');
  const score = scoreReport(node, { values });
  const unfolded = tree.place.inFolder ? tree : changes.treeOf(changes.movePlan(tree, true, down));
  const path = paths.mainFile(unfolded.place);
  const inside = trees.phaseOf(unfolded, number);
  if (inside === undefined)
    return changes.refusal(
      tree.main.file,
      node.part.heading.line,
      'the phase would be lost when its links change',
    );
  const file = `${paths.folderOf(path)}/${paths.partStem(inside.part.heading)}.md`;
  if (unfolded.files.has(file))
    return changes.refusal(tree.main.file, node.part.heading.line, `expected no file ${file} yet`);
  return changes.sameParts(
    tree,
    moveOut(unfolded, {
      node: inside,
      holder: path,
      file,
      score,
      more: changes.counterSplice(unfolded.main, 1),
    }),
  );
}

/** Expands a stage of an expanded phase. Its file is next to the overview of the phase, in a folder with the name of the phase's file. */
export function expandStage(tree: trees.PlanTree, phase: number, number: number): changes.Change {
  const node = trees.phaseOf(tree, phase);
  if (node?.file == null)
    return changes.refusal(
      tree.main.file,
      node?.part.heading.line ?? 1,
      `expected Phase ${phase} to be expanded before its stages`,
    );
  const stage = trees.stageOf(node, number);
  const refusal = refuseExpansion(node.file.path, stage, `Stage ${number} in Phase ${phase}`);
  if (refusal !== null) return refusal;
  const unfolded = trees.isOverview(node) ? tree : changes.treeOf(intoOverview(tree, node));
  const overview = trees.phaseOf(unfolded, phase);
  const inside = overview === undefined ? undefined : trees.stageOf(overview, number);
  if (overview?.file == null || inside === undefined)
    return changes.refusal(node.file.path, 1, 'the stage would be lost when its links change');
  const { path } = overview.file;
  const file = `${paths.folderOf(path)}/${paths.partStem(inside.part.heading)}.md`;
  if (unfolded.files.has(file))
    return changes.refusal(path, inside.part.heading.line, `expected no file ${file} yet`);
  return changes.sameParts(
    tree,
    moveOut(unfolded, { node: inside, holder: path, file, score: null, more: [] }),
  );
}

interface PartMove {
  readonly node: trees.PartNode;
  /** Path of the file with the heading. */
  readonly holder: string;
  /** Path of the new file next to it. */
  readonly file: string;
  readonly score: ScoreReport | null;
  readonly more: readonly TextSplice[];
}

/** Moves the text of a part to its file and writes a summary under the heading. Links and labels lead to the same places as before. */
function moveOut(
  { place, main: { eol }, files }: trees.PlanTree,
  { node, holder, file, score, more }: PartMove,
): changes.Changed {
  const { body, heading } = node.part;
  const lines = changes.summaryLines(node, paths.baseOf(file), score);
  const { header, summary } = copiesFor(files, holder, body, lines);
  const linesUnderHeading = summary.length === 0 ? lines : [...lines, '', ...summary];
  const text = changes.partFileText(node, {
    body: bodyOf(node),
    holder: paths.baseOf(holder),
    score,
    copies: header,
    eol,
  });
  const holderText = splice(node.source, [...summaryText(node, linesUnderHeading, eol), ...more]);
  const moved = new Map(files).set(holder, holderText).set(file, text);
  if (![...moved.values()].some(hasAnchorLinks)) return { ok: true, place, files: moved };
  const before = new Map([[holder, anchorsOf(node.source, heading.from, body, true)]]);
  const begin = text.length - (body.to - body.from);
  const after = new Map([
    // The holder has no text of the part any more.
    [holder, anchorsOf(holderText, -1, { from: 0, to: 0 }, true)],
    [file, anchorsOf(text, 0, { from: begin, to: text.length }, false)],
  ]);
  return {
    ok: true,
    place,
    files: relocateLinks(moved, { holder, file, way: 'out', before, after }),
  };
}

function refuseExpansion(
  file: string,
  node: trees.PartNode | undefined,
  what: string,
): changes.Change | null {
  if (node === undefined) return changes.refusal(file, 1, `${what} does not exist`);
  const { line } = node.part.heading;
  if (trees.isExpanded(node)) return changes.refusal(file, line, `${what} is already expanded`);
  return bodyOf(node).trim() === ''
    ? changes.refusal(file, line, `${what} has no text to move`)
    : null;
}

const bodyOf = ({ part: { body }, source }: trees.PartNode): string =>
  source.slice(body.from, body.to);

const summaryText = ({ part, source }: trees.PartNode, lines: readonly string[], eol: string) => [
  ...addMarker(part.heading, 'EXPANDED'),
  { ...part.body, text: lines.join(eol) + eol + (part.body.to < source.length ? eol : '') },
];

/** Returns the files in which the phase is a folder with its file as overview. */
function intoOverview(
  { place, main, files }: trees.PlanTree,
  { part, file }: trees.PartNode,
): Omit<changes.Changed, 'ok'> {
  if (file === null) throw new Error('Only an expanded phase has an overview.');
  const folder = paths.baseOf(file.path).replace(/\.md$/, '');
  const path = `${paths.folderOf(file.path)}/${folder}/${paths.overviewFile(part.heading.number)}`;
  // The new line comes after the last field, and before the copies of link definitions.
  const fields = file.fields.filter(({ to }) => to <= file.header.to);
  const header = fields.at(-1)?.to ?? file.source.slice(0, file.header.to).trimEnd().length;
  const text = splice(file.source, [
    ...relink(changes.linksOf(file.source), (target) => down(target, { folder, self: null })),
    { from: header, to: header, text: `${main.eol}${changes.structureLine(file.stages.length)}` },
  ]);
  const moved = new Map(files);
  moved.delete(file.path);
  moved.set(path, text);
  return {
    place,
    files: changes.retargetLinks(moved, file.path, path, `${paths.folderOf(file.path)}/`),
  };
}
