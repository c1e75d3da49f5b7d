/** Collapses expanded phases and stages: their own bytes come back where they were. Pure: files in, files out. */
import { anchorsOf, hasAnchorLinks, relocated } from './anchors.js';
import * as changes from './change.js';
import { definedIn, relink, up } from './links.js';
import * as trees from './tree.js';
import type { PartFile } from './parse.js';
import { readMarkdown } from './markdown.js';
import { outlineOf, removeMarker } from './reading.js';
import { splice, type PartHeading, type TextSplice } from './types.js';

/** Phase N: where it was the last expanded one, the plan is one file again. */
export function collapsePhase(given: trees.PlanTree, number: number): changes.Change {
  const first = trees.phaseOf(given, number);
  if (first?.file == null) return notExpanded(given.main.file, first, `Phase ${number}`);
  const stages = trees.listExpanded(first.stages);
  if (stages.length > 0)
    return changes.refused(
      first.file.path,
      1,
      `expected no expanded stages, but Stage ${stages.join(', ')} of Phase ${number} are; collapse them first`,
    );
  const unfolded = trees.isOverview(first) ? changes.treeOf(outOfOverview(given, first)) : given;
  const tree = anchorsBack(
    unfolded,
    (each) => trees.phaseOf(each, number),
    trees.mainFile(unfolded.place),
  );
  const node = trees.phaseOf(tree, number);
  if (node?.file == null)
    return changes.refused(
      given.main.file,
      first.part.heading.line,
      'the phase would be lost when its links change',
    );
  const back = bodyBack(node, node.file, tree.main.eol);
  if (!back.ok) return back;
  const path = trees.mainFile(tree.place);
  const files = new Map(tree.files);
  files.delete(node.file.path);
  files.set(path, splice(tree.main.source, [...back.splices, ...changes.counted(tree.main, -1)]));
  const kept = `${trees.folderOf(path)}/`;
  const inside = changes.treeOf({
    place: tree.place,
    files: changes.retargeted(files, node.file.path, path, kept),
  });
  return changes.sameParts(
    given,
    trees.isPlanExpanded(inside)
      ? { ok: true, ...inside }
      : { ok: true, ...changes.placed(inside, false, up) },
  );
}

/** Stage M of phase N: where it was the last, the phase is one file again. */
export function collapseStage(
  given: trees.PlanTree,
  phase: number,
  number: number,
): changes.Change {
  const whole = trees.phaseOf(given, phase);
  if (whole?.file == null) return notExpanded(given.main.file, whole, `Phase ${phase}`);
  const first = trees.stageOf(whole, number);
  if (first?.file == null)
    return notExpanded(whole.file.path, first, `Stage ${number} of Phase ${phase}`);
  const find = (each: trees.PlanTree): trees.PartNode | undefined => {
    const of = trees.phaseOf(each, phase);
    return of === undefined ? undefined : trees.stageOf(of, number);
  };
  const tree = anchorsBack(given, find, whole.file.path);
  const node = trees.phaseOf(tree, phase);
  const stage = find(tree);
  if (node?.file == null || stage?.file == null)
    return changes.refused(
      whole.file.path,
      first.part.heading.line,
      'the stage would be lost when its links change',
    );
  const back = bodyBack(stage, stage.file, tree.main.eol);
  if (!back.ok) return back;
  const files = new Map(tree.files);
  files.delete(stage.file.path);
  files.set(node.file.path, splice(node.file.source, back.splices));
  const kept = `${trees.folderOf(node.file.path)}/`;
  const inside = changes.treeOf({
    place: tree.place,
    files: changes.retargeted(files, stage.file.path, node.file.path, kept),
  });
  const overview = trees.phaseOf(inside, phase);
  const folds =
    overview !== undefined && trees.isOverview(overview) && !overview.stages.some(trees.isExpanded);
  return changes.sameParts(given, {
    ok: true,
    ...(folds ? outOfOverview(inside, overview) : inside),
  });
}

/** The same tree with every `#anchor` as it is to be once the part's text is back in `holder`. */
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
  const ahead = back.splices.filter(({ to }) => to <= summary.from);
  const begin = ahead.reduce(
    (at, each) => at + each.text.length - (each.to - each.from),
    summary.from,
  );
  const returned = { from: begin, to: text.length - (node.source.length - summary.to) };
  const before = new Map([
    [holder, anchorsOf(node.source, heading.from, { from: 0, to: 0 }, true)],
    [path, anchorsOf(source, titleOf(source), body, false)],
  ]);
  const after = new Map([[holder, anchorsOf(text, heading.from, returned, true)]]);
  const files = relocated(tree.files, { holder, file: path, way: 'back', before, after });
  const same = [...files].every(([name, each]) => each === tree.files.get(name));
  return same ? tree : changes.treeOf({ place: tree.place, files });
}

const titleOf = (source: string): number => outlineOf(source).headings[0]?.from ?? -1;

const notExpanded = (
  file: string,
  node: trees.PartNode | undefined,
  what: string,
): changes.Change =>
  changes.refused(
    file,
    node?.part.heading.line ?? 1,
    node === undefined ? `${what} does not exist` : `${what} is not expanded`,
  );

/** The heading without its marker, and under it the part's own text with whatever a person added to header and summary. */
function bodyBack(
  { part, source }: trees.PartNode,
  file: PartFile,
  eol: string,
):
  | { readonly ok: true; readonly splices: readonly TextSplice[] }
  | Extract<changes.Change, { ok: false }> {
  const { heading, body } = part;
  const written = file.source.slice(file.body.from, file.body.to);
  const fitted = fittedHeadings(written, file, heading);
  if (typeof fitted !== 'string') return { ok: false, faults: [fitted] };
  const header = file.source.slice(file.header.from, file.header.to);
  const added = [
    ...changes.personLines(header, file, heading.name, definedIn(source)),
    ...changes.personLines(
      source.slice(body.from, body.to),
      file,
      heading.name,
      definedIn(file.source, file.body),
    ),
  ];
  const text = changes.withLines(fitted, added, eol);
  const ended = body.to === source.length || /[\r\n]$/.test(text) ? text : text + eol;
  return { ok: true, splices: [...removeMarker(heading, 'EXPANDED'), { ...body, text: ended }] };
}

/** No heading of the text may end the part. In a file that a person made, without the body line, they are made deeper. */
function fittedHeadings(text: string, file: PartFile, { level, kind, number }: PartHeading) {
  const { headings } = readMarkdown(text);
  const highest = Math.min(7, ...headings.map((heading) => heading.level));
  if (highest > level) return text;
  const found = headings.find((heading) => heading.level <= level);
  const line =
    file.source.slice(0, file.body.from).split(/\r\n|\n|\r/).length + (found?.line ?? 1) - 1;
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

const STRUCTURE = /(?:\r\n|\n|\r)\*\*Structure\*\*: \d+ stages?(?=\r|\n|$)/;

/** The phase's overview as its file next to the folder. */
function outOfOverview(
  { place, files }: trees.PlanTree,
  { file }: trees.PartNode,
): Omit<changes.Changed, 'ok'> {
  if (file === null) throw new Error('Only an expanded phase has an overview.');
  const folder = trees.baseOf(trees.folderOf(file.path));
  const path = `${trees.folderOf(trees.folderOf(file.path))}/${folder}.md`;
  const back = new Map(
    changes.retargeted(files, file.path, path, `${trees.folderOf(trees.folderOf(file.path))}/`),
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
