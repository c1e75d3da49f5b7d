/** Moves the text of expanded phases and stages back, byte for byte, to its place under the heading. Pure: files in, files out. */
import { anchorsOf } from './anchors.js';
import { hasAnchorLinks, relocateLinks } from './anchor-links.js';
import * as changes from './change.js';
import { definedIn } from './link-definitions.js';
import { relink, up } from './links.js';
import * as paths from './plan-paths.js';
import * as trees from './plan-tree.js';
import type { PartFile } from './part-file.js';
import { readMarkdown } from './markdown.js';
import { outlineOf } from './plan-document.js';
import { removeMarker } from './headings.js';
import { splice } from './text-spans.js';
import type { PartHeading, TextSplice } from './types.js';

/** Collapses a phase. If no other phase is expanded, the plan becomes one file again. */
export function collapsePhase(original: trees.PlanTree, number: number): changes.Change {
  const first = trees.phaseOf(original, number);
  if (first?.file == null) return notExpanded(original.main.file, first, `Phase ${number}`);
  const stages = trees.listExpanded(first.stages);
  if (stages.length > 0)
    return changes.refusal(
      first.file.path,
      1,
      `expected no expanded stages, but Stage ${stages.join(', ')} of Phase ${number} are; collapse them first`,
    );
  const unfolded = trees.isOverview(first)
    ? changes.treeOf(outOfOverview(original, first))
    : original;
  const tree = anchorsBack(
    unfolded,
    (candidate) => trees.phaseOf(candidate, number),
    paths.mainFile(unfolded.place),
  );
  const node = trees.phaseOf(tree, number);
  if (node?.file == null)
    return changes.refusal(
      original.main.file,
      first.part.heading.line,
      'the phase would be lost when its links change',
    );
  const back = bodyBack(node, node.file, tree.main.eol);
  if (!back.ok) return back;
  const path = paths.mainFile(tree.place);
  const files = new Map(tree.files);
  files.delete(node.file.path);
  files.set(
    path,
    splice(tree.main.source, [...back.splices, ...changes.counterSplice(tree.main, -1)]),
  );
  const kept = `${paths.folderOf(path)}/`;
  const inside = changes.treeOf({
    place: tree.place,
    files: changes.retargetLinks(files, node.file.path, path, kept),
  });
  return changes.sameParts(
    original,
    trees.isPlanExpanded(inside)
      ? { ok: true, ...inside }
      : { ok: true, ...changes.movePlan(inside, false, up) },
  );
}

/** Collapses a stage of a phase. If no other stage is expanded, the phase becomes one file again. */
export function collapseStage(
  original: trees.PlanTree,
  phase: number,
  number: number,
): changes.Change {
  const parent = trees.phaseOf(original, phase);
  if (parent?.file == null) return notExpanded(original.main.file, parent, `Phase ${phase}`);
  const first = trees.stageOf(parent, number);
  if (first?.file == null)
    return notExpanded(parent.file.path, first, `Stage ${number} of Phase ${phase}`);
  const find = (candidate: trees.PlanTree): trees.PartNode | undefined => {
    const phaseNode = trees.phaseOf(candidate, phase);
    return phaseNode === undefined ? undefined : trees.stageOf(phaseNode, number);
  };
  const tree = anchorsBack(original, find, parent.file.path);
  const node = trees.phaseOf(tree, phase);
  const stage = find(tree);
  if (node?.file == null || stage?.file == null)
    return changes.refusal(
      parent.file.path,
      first.part.heading.line,
      'the stage would be lost when its links change',
    );
  const back = bodyBack(stage, stage.file, tree.main.eol);
  if (!back.ok) return back;
  const files = new Map(tree.files);
  files.delete(stage.file.path);
  files.set(node.file.path, splice(node.file.source, back.splices));
  const kept = `${paths.folderOf(node.file.path)}/`;
  const inside = changes.treeOf({
    place: tree.place,
    files: changes.retargetLinks(files, stage.file.path, node.file.path, kept),
  });
  const overview = trees.phaseOf(inside, phase);
  const folds =
    overview !== undefined && trees.isOverview(overview) && !overview.stages.some(trees.isExpanded);
  return changes.sameParts(original, {
    ok: true,
    ...(folds ? outOfOverview(inside, overview) : inside),
  });
}

/** Returns the tree with every `#anchor` rewritten for the time after the part's text is back in `holder`. */
function anchorsBack(
  tree: trees.PlanTree,
  find: (tree: trees.PlanTree) => trees.PartNode | undefined,
  holder: string,
): trees.PlanTree {
  const node = find(tree);
  if (node?.file == null || ![...tree.files.values()].some(hasAnchorLinks)) return tree;
  const { path, source, body } = node.file;
  const back = bodyBack(node, node.file, tree.main.eol);
  if (!back.ok) return tree;
  const text = splice(node.source, back.splices);
  const { heading, body: summary } = node.part;
  const splicesBefore = back.splices.filter(({ to }) => to <= summary.from);
  const begin = splicesBefore.reduce(
    (offset, edit) => offset + edit.text.length - (edit.to - edit.from),
    summary.from,
  );
  const returned = { from: begin, to: text.length - (node.source.length - summary.to) };
  const before = new Map([
    [holder, anchorsOf(node.source, heading.from, { from: 0, to: 0 }, true)],
    [path, anchorsOf(source, titleOf(source), body, false)],
  ]);
  const after = new Map([[holder, anchorsOf(text, heading.from, returned, true)]]);
  const files = relocateLinks(tree.files, { holder, file: path, way: 'back', before, after });
  const isUnchanged = [...files].every(([name, content]) => content === tree.files.get(name));
  return isUnchanged ? tree : changes.treeOf({ place: tree.place, files });
}

const titleOf = (source: string): number => outlineOf(source).headings[0]?.from ?? -1;

const notExpanded = (
  file: string,
  node: trees.PartNode | undefined,
  what: string,
): changes.Change =>
  changes.refusal(
    file,
    node?.part.heading.line ?? 1,
    node === undefined ? `${what} does not exist` : `${what} is not expanded`,
  );

/**
 * Returns the splices that remove the marker of a heading and put the part's own text under it. Lines that you added to the header of the file
 * or to the summary come after the text.
 */
function bodyBack(
  { part, source }: trees.PartNode,
  file: PartFile,
  eol: string,
):
  | { readonly ok: true; readonly splices: readonly TextSplice[] }
  | Extract<changes.Change, { ok: false }> {
  const { heading, body } = part;
  const ownText = file.source.slice(file.body.from, file.body.to);
  const fitted = fittedHeadings(ownText, file, heading);
  if (typeof fitted !== 'string') return { ok: false, faults: [fitted] };
  const header = file.source.slice(file.header.from, file.header.to);
  const personLines = [
    ...changes.personLines(header, file, heading.name, definedIn(source)),
    ...changes.personLines(
      source.slice(body.from, body.to),
      file,
      heading.name,
      definedIn(file.source, file.body),
    ),
  ];
  const text = changes.withLines(fitted, personLines, eol);
  const ended = body.to === source.length || /[\r\n]$/.test(text) ? text : text + eol;
  return { ok: true, splices: [...removeMarker(heading, 'EXPANDED'), { ...body, text: ended }] };
}

/**
 * Returns the text without headings that would end the part, or a fault. In a file without the body line, which its author wrote, the headings
 * are made deeper.
 */
function fittedHeadings(text: string, file: PartFile, { level, kind, number }: PartHeading) {
  const { headings } = readMarkdown(text);
  const highest = Math.min(7, ...headings.map((heading) => heading.level));
  if (highest > level) return text;
  const endingHeading = headings.find((heading) => heading.level <= level);
  const line =
    file.source.slice(0, file.body.from).split(/\r\n|\n|\r/).length +
    (endingHeading?.line ?? 1) -
    1;
  const areAtx = headings.every((heading) => text.startsWith('#', heading.from));
  const extraLevels = level + 1 - highest;
  if (file.hasBodyLine || !areAtx || headings.some((heading) => heading.level + extraLevels > 6))
    return {
      file: file.path,
      line,
      message: `expected headings deeper than ${'#'.repeat(level)}, that of ${kind === 'phase' ? 'Phase' : 'Stage'} ${number}; this one would end it`,
    };
  return splice(
    text,
    headings.map(({ from }) => ({ from, to: from, text: '#'.repeat(extraLevels) })),
  );
}

const STRUCTURE = /(?:\r\n|\n|\r)\*\*Structure\*\*: \d+ stages?(?=\r|\n|$)/;

/** Returns the files in which the overview of the phase is its file next to the folder. */
function outOfOverview(
  { place, files }: trees.PlanTree,
  { file }: trees.PartNode,
): Omit<changes.Changed, 'ok'> {
  if (file === null) throw new Error('Only an expanded phase has an overview.');
  const folder = paths.baseOf(paths.folderOf(file.path));
  const path = `${paths.folderOf(paths.folderOf(file.path))}/${folder}.md`;
  const back = new Map(
    changes.retargetLinks(files, file.path, path, `${paths.folderOf(paths.folderOf(file.path))}/`),
  );
  const source = back.get(file.path) ?? file.source;
  const structure = STRUCTURE.exec(source.slice(0, file.header.to));
  const text = splice(source, [
    ...relink(changes.linksOf(source), (target) => up(target, { folder, self: null })),
    ...(structure === null
      ? []
      : [{ from: structure.index, to: structure.index + structure[0].length, text: '' }]),
  ]);
  back.delete(file.path);
  back.set(path, text);
  return { place, files: back };
}
