/** Expands phases into files of their own (level 1), and stages of expanded phases (level 2). Pure: files in, files out. */
import {
  counted,
  linksOf,
  partFileText,
  refused,
  retargeted,
  sameParts,
  structureLine,
  summaryLines,
  treeOf,
} from './change.js';
import type { Change, Changed } from './change.js';
import { down, relink } from './links.js';
import { baseOf, folderOf, mainFile, overviewFile, partStem } from './names.js';
import { scoreReport } from './report.js';
import { splice } from './spans.js';
import type { Thresholds } from './thresholds.js';
import { isExpanded, isOverview, phaseOf, stageOf } from './tree.js';
import type { PartNode, PlanTree } from './tree.js';
import { addMarker } from './words.js';

/** Phase N: its text goes to `phase_N_name.md` in the plan's folder, which is made where it is the first. */
export function expandPhase(tree: PlanTree, number: number, values: Thresholds): Change {
  const node = phaseOf(tree, number);
  const refusal = refuseExpansion(tree.main.file, node, `Phase ${number}`);
  if (refusal !== null || node === undefined) return refusal ?? refused(tree.main.file, 1, 'no such phase');
  const score = scoreReport(node, { values });
  const unfolded = tree.place.inFolder ? tree : treeOf(intoFolder(tree));
  const path = mainFile(unfolded.place);
  const inside = phaseOf(unfolded, number);
  if (inside === undefined)
    return refused(tree.main.file, node.part.heading.line, 'the phase is lost where its links change');
  const file = `${folderOf(path)}/${partStem(inside.part.heading)}.md`;
  if (unfolded.files.has(file)) return refused(tree.main.file, node.part.heading.line, `expected no file ${file} yet`);
  const files = new Map(unfolded.files);
  files.set(file, partFileText(inside, bodyOf(inside), baseOf(path), score, unfolded.main.eol));
  const summary = summaryText(inside, summaryLines(inside, baseOf(file), score), unfolded.main.eol);
  files.set(path, splice(unfolded.main.source, [...summary, ...counted(unfolded.main, 1)]));
  return sameParts(tree, { ok: true, place: unfolded.place, files });
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
  const { path, source } = overview.file;
  const file = `${folderOf(path)}/${partStem(inside.part.heading)}.md`;
  if (unfolded.files.has(file)) return refused(path, inside.part.heading.line, `expected no file ${file} yet`);
  const files = new Map(unfolded.files);
  files.set(file, partFileText(inside, bodyOf(inside), baseOf(path), null, tree.main.eol));
  files.set(path, splice(source, summaryText(inside, summaryLines(inside, baseOf(file), null), tree.main.eol)));
  return sameParts(tree, { ok: true, place: tree.place, files });
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

/** The plan as a folder with the same document. */
function intoFolder({ place, main, files }: PlanTree): Omit<Changed, 'ok'> {
  const inFolder = { ...place, inFolder: true };
  const move = { folder: place.stem, self: baseOf(mainFile(place)) };
  const moved = new Map(files);
  moved.delete(mainFile(place));
  moved.set(
    mainFile(inFolder),
    splice(
      main.source,
      relink(linksOf(main.source), (target) => down(target, move)),
    ),
  );
  return { place: inFolder, files: moved };
}

/** The phase as a folder with its file as overview. */
function intoOverview({ place, main, files }: PlanTree, { part, file }: PartNode): Omit<Changed, 'ok'> {
  if (file === null) throw new Error('Only an expanded phase has an overview.');
  const folder = baseOf(file.path).replace(/\.md$/, '');
  const path = `${folderOf(file.path)}/${folder}/${overviewFile(part.heading.number)}`;
  const header = file.source.slice(0, file.header.to).trimEnd().length;
  const text = splice(file.source, [
    ...relink(linksOf(file.source), (target) => down(target, { folder, self: null })),
    { from: header, to: header, text: `${main.eol}${structureLine(file.stages.length)}` },
  ]);
  const moved = new Map(files);
  moved.delete(file.path);
  moved.set(path, text);
  return { place, files: retargeted(moved, file.path, path, `${folderOf(file.path)}/`) };
}
