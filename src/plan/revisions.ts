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
import { splice } from './spans.js';
import type { Thresholds } from './thresholds.js';
import type { ReplanAction, Trigger } from './triggers.js';
import { isExpanded, phaseOf, type PlanTree } from './tree.js';

export interface Revision {
  readonly phase: number;
  readonly trigger: Trigger;
  readonly action: ReplanAction;
  readonly oldStructure: string;
  readonly newStructure: string;
  readonly complexityBefore: number;
  readonly complexityAfter: number;
  readonly forced: boolean;
  readonly why: string;
}

/** What a replan has changed, in words and scores. */
export function measured(
  before: PlanTree,
  after: PlanTree,
  phase: number,
  action: ReplanAction,
  values: Thresholds,
): Pick<Revision, 'oldStructure' | 'newStructure' | 'complexityBefore' | 'complexityAfter'> {
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
    return node !== undefined && isExpanded(node) ? 'expanded' : 'inline';
  if (action === 'update_tasks') return `${node === undefined ? 0 : tasksOf(node).length} tasks`;
  return `${tree.phases.length} phases`;
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
    return splice(source, [{ from: end, to: end + tail, text: (isList ? eol : eol + eol) + entry }]);
  }
  const level = Math.min(2, document.phases[0]?.heading.level ?? 2);
  const ended = source === '' || /[\r\n]$/.test(source) ? '' : eol;
  const blank = /(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)$/.test(source) ? '' : eol;
  return `${source}${ended}${blank}${'#'.repeat(level)} Revision History${eol}${eol}${entry}`;
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
