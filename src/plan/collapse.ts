/** Collapses expanded phases and stages: their own bytes come back where they were. Pure: files in, files out. */
import { counted, linksOf, personLines, refused, retargeted, sameParts, treeOf, withLines } from './change.js';
import type { Change, Changed } from './change.js';
import { relink, up } from './links.js';
import { baseOf, folderOf, mainFile } from './names.js';
import type { PartFile } from './part-file.js';
import { readMarkdown } from './markdown.js';
import { splice } from './spans.js';
import { isExpanded, isOverview, isPlanExpanded, listExpanded, phaseOf, stageOf } from './tree.js';
import type { PartNode, PlanTree } from './tree.js';
import type { PartHeading, TextSplice } from './types.js';
import { removeMarker } from './words.js';

/** Phase N: where it was the last expanded one, the plan is one file again. */
export function collapsePhase(given: PlanTree, number: number): Change {
  const first = phaseOf(given, number);
  if (first?.file == null) return notExpanded(given.main.file, first, `Phase ${number}`);
  const stages = listExpanded(first.stages);
  if (stages.length > 0)
    return refused(
      first.file.path,
      1,
      `expected no expanded stages, and Stage ${stages.join(', ')} of Phase ${number} are; collapse them first`,
    );
  const tree = isOverview(first) ? treeOf(outOfOverview(given, first)) : given;
  const node = phaseOf(tree, number);
  if (node?.file == null)
    return refused(given.main.file, first.part.heading.line, 'the phase is lost where its links change');
  const back = bodyBack(node, node.file, tree.main.eol);
  if (!back.ok) return back;
  const path = mainFile(tree.place);
  const files = new Map(tree.files);
  files.delete(node.file.path);
  files.set(path, splice(tree.main.source, [...back.splices, ...counted(tree.main, -1)]));
  const kept = `${folderOf(path)}/`;
  const inside = treeOf({ place: tree.place, files: retargeted(files, node.file.path, path, kept) });
  return sameParts(given, isPlanExpanded(inside) ? { ok: true, ...inside } : { ok: true, ...intoFile(inside) });
}

/** Stage M of phase N: where it was the last, the phase is one file again. */
export function collapseStage(tree: PlanTree, phase: number, number: number): Change {
  const node = phaseOf(tree, phase);
  if (node?.file == null) return notExpanded(tree.main.file, node, `Phase ${phase}`);
  const stage = stageOf(node, number);
  if (stage?.file == null) return notExpanded(node.file.path, stage, `Stage ${number} of Phase ${phase}`);
  const back = bodyBack(stage, stage.file, tree.main.eol);
  if (!back.ok) return back;
  const files = new Map(tree.files);
  files.delete(stage.file.path);
  files.set(node.file.path, splice(node.file.source, back.splices));
  const kept = `${folderOf(node.file.path)}/`;
  const inside = treeOf({ place: tree.place, files: retargeted(files, stage.file.path, node.file.path, kept) });
  const overview = phaseOf(inside, phase);
  const folds = overview !== undefined && isOverview(overview) && !overview.stages.some(isExpanded);
  return sameParts(tree, { ok: true, ...(folds ? outOfOverview(inside, overview) : inside) });
}

const notExpanded = (file: string, node: PartNode | undefined, what: string): Change =>
  refused(file, node?.part.heading.line ?? 1, node === undefined ? `there is no ${what}` : `${what} is not expanded`);

/** The heading without its marker, and under it the part's own text with whatever a person added to header and summary. */
function bodyBack(
  { part, source }: PartNode,
  file: PartFile,
  eol: string,
): { readonly ok: true; readonly splices: readonly TextSplice[] } | Extract<Change, { ok: false }> {
  const { heading, body } = part;
  const written = file.source.slice(file.body.from, file.body.to);
  const fitted = fittedHeadings(written, file, heading);
  if (typeof fitted !== 'string') return { ok: false, faults: [fitted] };
  const added = [
    ...personLines(file.source.slice(file.header.from, file.header.to), file, heading.name),
    ...personLines(source.slice(body.from, body.to), file, heading.name),
  ];
  const text = withLines(fitted, added, eol);
  const ended = body.to === source.length || /[\r\n]$/.test(text) ? text : text + eol;
  return { ok: true, splices: [...removeMarker(heading, 'EXPANDED'), { ...body, text: ended }] };
}

/** No heading of the text may end the part. In a file that a person made, without the body line, they are made deeper. */
function fittedHeadings(text: string, file: PartFile, { level, kind, number }: PartHeading) {
  const { headings } = readMarkdown(text);
  const highest = Math.min(7, ...headings.map((heading) => heading.level));
  if (highest > level) return text;
  const found = headings.find((heading) => heading.level <= level);
  const line = file.source.slice(0, file.body.from).split(/\r\n|\n|\r/).length + (found?.line ?? 1) - 1;
  const atx = headings.every((heading) => text.startsWith('#', heading.from));
  const deeper = level + 1 - highest;
  if (file.hasBodyLine || !atx || headings.some((heading) => heading.level + deeper > 6))
    return {
      file: file.path,
      line,
      message: `expected headings deeper than ${'#'.repeat(level)}, that of ${kind === 'phase' ? 'Phase' : 'Stage'} ${number}; this one would end it`,
    };
  return splice(
    text,
    headings.map(({ from }) => ({ from, to: from, text: '#'.repeat(deeper) })),
  );
}

/** The plan as one file beside its folder, which may keep files that are not the plan's. */
function intoFile({ place, main, files }: PlanTree): Omit<Changed, 'ok'> {
  const alone = { ...place, inFolder: false };
  const move = { folder: place.stem, self: baseOf(mainFile(place)) };
  const moved = new Map(files);
  moved.delete(mainFile(place));
  moved.set(
    mainFile(alone),
    splice(
      main.source,
      relink(linksOf(main.source), (target) => up(target, move)),
    ),
  );
  return { place: alone, files: moved };
}

const STRUCTURE = /(?:\r\n|\n|\r)\*\*Structure\*\*: \d+ stages?(?=\r|\n|$)/;

/** The phase's overview as its file beside the folder. */
function outOfOverview({ place, files }: PlanTree, { file }: PartNode): Omit<Changed, 'ok'> {
  if (file === null) throw new Error('Only an expanded phase has an overview.');
  const folder = baseOf(folderOf(file.path));
  const path = `${folderOf(folderOf(file.path))}/${folder}.md`;
  const back = new Map(retargeted(files, file.path, path, `${folderOf(folderOf(file.path))}/`));
  const source = back.get(file.path) ?? file.source;
  const structure = STRUCTURE.exec(source.slice(0, file.header.to));
  const text = splice(source, [
    ...relink(linksOf(source), (target) => up(target, { folder, self: null })),
    ...(structure === null ? [] : [{ from: structure.index, to: structure.index + structure[0].length, text: '' }]),
  ]);
  back.delete(file.path);
  back.set(path, text);
  return { place, files: back };
}
