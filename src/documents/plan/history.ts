/**
 * The section `## Revision History`: one item for each replan, the newest last.
 *
 *     - **2026-01-02T03:04:05Z** Phase 2: `add_phase` because of `test_failure_pattern`
 *       - Structure: 4 phases -> 5 phases
 *       - Complexity: 9.5 -> 6.2
 *       - Why: the schema is missing
 */
import { scoreReport, tasksOf } from './report.js';
import { parsePlan } from './parse.js';
import { outlineOf } from './reading.js';
import { splice, type PartHeading, type PlanDocument } from './types.js';
import type { Thresholds } from './score.js';
import type { ReplanAction, ReplanMeasures, ReplanRecord } from '../../shared/plan.js';
import { count, planNumber } from '../../shared/text.js';
import { isExpanded, phaseOf, type PlanTree } from './tree.js';

export interface Revision extends Omit<ReplanRecord, 'phase' | 'at'> {
  readonly phase: number;
  readonly why: string;
}

/** What a replan has changed, in words and scores. */
export function measured(
  [before, after]: readonly [before: PlanTree, after: PlanTree],
  phase: number,
  action: ReplanAction,
  values: Thresholds,
): ReplanMeasures {
  const score = (tree: PlanTree): number => {
    const node = phaseOf(tree, phase);
    return node === undefined ? 0 : scoreReport(node, { values }).score;
  };
  return {
    oldStructure: structureOf(before, phase, action),
    newStructure: structureOf(after, phase, action),
    complexityBefore: score(before),
    complexityAfter: score(after),
  };
}

function structureOf(tree: PlanTree, phase: number, action: ReplanAction): string {
  const node = phaseOf(tree, phase);
  if (action === 'expand_phase' || action === 'collapse_phase')
    return node === undefined || !isExpanded(node)
      ? 'inline'
      : `expanded${node.stages.some(isExpanded) ? ' stages' : ''}`;
  if (action === 'update_tasks')
    return count(node === undefined ? 0 : tasksOf(node).length, 'task');
  return count(tree.phases.length, 'phase');
}

/** The main document with the entry in it. `at`: ms since the epoch. */
export function withRevision(source: string, revision: Revision, at: number): string {
  const document = parsePlan(source, 'plan');
  const { eol, revisions } = document;
  const entry = entryOf(revision, at).join(eol) + eol;
  if (revisions !== null) {
    const words = source.slice(revisions.from, revisions.to).trimEnd();
    const end = revisions.from + words.length;
    const isList = /(?:\r\n|\n|\r)[ \t]*(?:[-*+]|\d+[.)])[ \t][^\r\n]*$/.test(words);
    // Nothing of a person's is touched: what ended the section stands behind the entry.
    const tail = /^[ \t]*(?:\r\n|\n|\r)?/.exec(source.slice(end))?.[0].length ?? 0;
    return splice(source, [
      { from: end, to: end + tail, text: (isList ? eol : eol + eol) + entry },
    ]);
  }
  return withSection(document, 'Revision History', entry);
}

/** With a section of its own at the end, which is in no phase; as it was where an open fence or comment would swallow it. */
export function withSection(
  { source, eol, phases }: PlanDocument,
  title: string,
  text: string,
): string {
  const level = Math.min(2, phases[0]?.heading.level ?? 2);
  const ended = source === '' || /[\r\n]$/.test(source) ? '' : eol;
  const blank = /(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)$/.test(source) ? '' : eol;
  const made = `${source}${ended}${blank}${'#'.repeat(level)} ${title}${eol}${eol}${text}`;
  return outlineOf(made).headings.at(-1)?.text === title ? made : source;
}

function entryOf(revision: Revision, at: number): readonly string[] {
  const { phase, action, trigger, forced, why } = revision;
  const time = new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
  return [
    `- **${time}** Phase ${phase}: \`${action}\` because of \`${trigger}\`${forced ? ' (forced past the limit)' : ''}`,
    `  - Structure: ${revision.oldStructure} -> ${revision.newStructure}`,
    `  - Complexity: ${revision.complexityBefore} -> ${revision.complexityAfter}`,
    `  - Why: ${inert(why)}`,
  ];
}

/** One line in which nothing is a comment, a fence or a field. */
const inert = (text: string): string =>
  text
    .replace(/<!--|-->|`{3,}|~{3,}/g, ' ')
    .replace(/\s+/gu, ' ')
    .trim() || 'not said';

// The partial summary of a plan that runs: `summaries/NNN_partial.md`, one line a phase. A person's other lines stay.

/**
 * Beside the folder `plans` where the plan lies in one (`specs/plans/010.md` -> `specs/summaries/`), else in the plan's own folder. The
 * second is for a plan whose number another one has, too.
 */
export const summaryFiles = (planPath: string): readonly [string, string] => {
  const parts = planPath.split('/');
  const stem = parts.pop() ?? planPath;
  if (parts.at(-1) === 'plans') parts.pop();
  const folder = [...parts, 'summaries'].join('/');
  return [`${folder}/${planNumber(stem) ?? stem}_partial.md`, `${folder}/${stem}_partial.md`];
};
/** Path of the plan that a summary says it is of. */
export const planOfSummary = (text: string): string | undefined =>
  /^\*\*Plan\*\*: `([^`\r\n]+)`/m.exec(text)?.[1];

/** First 12 digits of the last commit that the line of a phase names. */
export const commitInSummary = (text: string, number: number): string | undefined =>
  new RegExp(`^- Phase ${number} \\(.*\\): .*\\bcommit ([\\da-f]{12})`, 'm').exec(text)?.[1];

export interface SummaryLine extends Pick<PartHeading, 'number' | 'name'> {
  /** Result, in words. */
  readonly text: string;
}

export function withSummary(
  before: string | null,
  plan: { readonly title: string; readonly path: string; readonly status: string },
  line: SummaryLine,
): string {
  const status = `**Status**: ${plan.status}`;
  const entry = `- Phase ${line.number} (${line.name}): ${line.text}`;
  if (before === null)
    return `# Partial summary: ${plan.title}\n\n**Plan**: \`${plan.path}\`\n${status}\n\n## Phases\n\n${entry}\n`;
  const eol = before.includes('\r\n') ? '\r\n' : '\n';
  const lines = before.split(/\r\n|\n/);
  const at = lines.findIndex((text) => text.startsWith(`- Phase ${line.number} (`));
  if (at >= 0) lines[at] = entry;
  else {
    const last = lines.findLastIndex((text) => /^- Phase \d+ \(/.test(text));
    if (last >= 0) lines.splice(last + 1, 0, entry);
    else lines.splice(lines.at(-1) === '' ? lines.length - 1 : lines.length, 0, entry);
  }
  const said = lines.findIndex((text) => text.startsWith('**Status**: '));
  if (said >= 0) lines[said] = status;
  return lines.join(eol);
}
