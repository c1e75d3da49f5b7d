/**
 * Writes the section `## Revision History`. It has one item for each replan, and the newest is the last:
 *
 *     - **2026-01-02T03:04:05Z** Phase 2: `add_phase` because of `test_failure_pattern`
 *       - Structure: 4 phases -> 5 phases
 *       - Complexity: 9.5 -> 6.2
 *       - Why: the schema is missing
 */
import { parsePlan } from './parse-plan.js';
import { outlineOf } from './plan-document.js';
import { scoreReport, tasksOf } from './plan-report.js';
import { splice } from './text-spans.js';
import type { Thresholds } from './thresholds.js';
import { isExpanded, phaseOf, type PlanTree } from './plan-tree.js';
import type { PlanDocument } from './types.js';
import type { ReplanAction, ReplanMeasures, ReplanRecord } from '../../shared/plan.js';
import { count } from '../../shared/text.js';

interface Revision extends Omit<ReplanRecord, 'phase' | 'at'> {
  readonly phase: number;
  readonly reason: string;
}

/** Describes what a replan has changed, in words and scores. */
export function measureReplan(
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

/** Returns the main document with a new entry. `time_ms` is the time of the replan since the epoch. */
export function withRevision(source: string, revision: Revision, time_ms: number): string {
  const document = parsePlan(source, 'plan');
  const { eol, revisions } = document;
  const entry = entryOf(revision, time_ms).join(eol) + eol;
  if (revisions !== null) {
    const words = source.slice(revisions.from, revisions.to).trimEnd();
    const end = revisions.from + words.length;
    const isList = /(?:\r\n|\n|\r)[ \t]*(?:[-*+]|\d+[.)])[ \t][^\r\n]*$/.test(words);
    // The author's own text does not change: the text that ends the section comes after the entry.
    const tail = /^[ \t]*(?:\r\n|\n|\r)?/.exec(source.slice(end))?.[0].length ?? 0;
    return splice(source, [
      { from: end, to: end + tail, text: (isList ? eol : eol + eol) + entry },
    ]);
  }
  return withSection(document, 'Revision History', entry);
}

/**
 * Returns the document with a new section at its end, outside all phases. If an open fence or comment would swallow the section, the document
 * is unchanged.
 */
export function withSection(
  { source, eol, phases }: PlanDocument,
  title: string,
  text: string,
): string {
  const level = Math.min(2, phases[0]?.heading.level ?? 2);
  const ended = source === '' || /[\r\n]$/.test(source) ? '' : eol;
  const blank = /(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)$/.test(source) ? '' : eol;
  const extended = `${source}${ended}${blank}${'#'.repeat(level)} ${title}${eol}${eol}${text}`;
  return outlineOf(extended).headings.at(-1)?.text === title ? extended : source;
}

function entryOf(revision: Revision, time_ms: number): readonly string[] {
  const { phase, action, trigger, forced, reason } = revision;
  const time = new Date(time_ms).toISOString().replace(/\.\d+Z$/, 'Z');
  return [
    `- **${time}** Phase ${phase}: \`${action}\` because of \`${trigger}\`${forced ? ' (forced past the limit)' : ''}`,
    `  - Structure: ${revision.oldStructure} -> ${revision.newStructure}`,
    `  - Complexity: ${revision.complexityBefore} -> ${revision.complexityAfter}`,
    `  - Why: ${inert(reason)}`,
  ];
}

/** Returns the text in one line without comments and fences, which would change the structure of the document. */
const inert = (text: string): string =>
  text
    .replace(/<!--|-->|`{3,}|~{3,}/g, ' ')
    .replace(/\s+/gu, ' ')
    .trim() || 'not said';
