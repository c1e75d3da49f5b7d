/**
 * Resolves the thresholds from which a phase is too complex. They come from `emend.yaml`, else from the project's notes for models, else from
 * the defaults.
 */
import { outlineOf, sectionNamed } from './plan-document.js';
import type { PlanThresholds } from '../../shared/plan.js';

export type Thresholds = PlanThresholds;

type ThresholdName = keyof Thresholds;

export const DEFAULT_THRESHOLDS: Thresholds = {
  expansion: 8,
  tasks: 10,
  fileReferences: 10,
  replanLimit: 2,
};

/** Names of the thresholds in the notes of a project. */
const NAME_IN_NOTES: Record<ThresholdName, string> = {
  expansion: 'Expansion Threshold',
  tasks: 'Task Count Threshold',
  fileReferences: 'File Reference Threshold',
  replanLimit: 'Replan Limit',
};

/** Returns the text under a heading of CLAUDE.md or AGENTS.md, up to the next heading that is not deeper. Null if there is no such heading. */
export function sectionIn(notes: string, title: string): string | null {
  const section = sectionNamed({ source: notes, outline: outlineOf(notes) }, title);
  return section && notes.slice(section.body.from, section.body.to).replace(/\r\n?/g, '\n');
}

/** Returns the thresholds in the section "Adaptive Planning Configuration" of the notes. Null if there is no such section. */
export function thresholdsIn(notes: string): Partial<Thresholds> | null {
  const section = sectionIn(notes, 'Adaptive Planning Configuration');
  if (section === null) return null;
  const thresholds: Partial<Record<ThresholdName, number>> = {};
  for (const name of Object.keys(NAME_IN_NOTES) as ThresholdName[]) {
    const value = new RegExp(
      `${NAME_IN_NOTES[name]}[*_]*[ \\t]*:[*_]*[ \\t]*(\\d{1,4}(?:\\.\\d+)?)`,
      'i',
    ).exec(section)?.[1];
    if (value !== undefined) thresholds[name] = Number(value);
  }
  return thresholds;
}

export interface ThresholdSource {
  /** Name of the source in messages: `emend.yaml`, `CLAUDE.md`. */
  readonly from: string;
  readonly values: Partial<Thresholds>;
}

export interface ResolvedThresholds {
  readonly values: Thresholds;
  /** Source of each threshold. */
  readonly from: Readonly<Record<ThresholdName, string>>;
}

/** Returns each threshold from the first source that sets it. */
export function resolveThresholds(sources: readonly ThresholdSource[]): ResolvedThresholds {
  const all: readonly ThresholdSource[] = [
    ...sources,
    { from: 'default', values: DEFAULT_THRESHOLDS },
  ];
  const names = Object.keys(DEFAULT_THRESHOLDS) as ThresholdName[];
  const sourceOf = (name: ThresholdName) =>
    all.find(({ values }) => values[name] !== undefined) ?? all[all.length - 1];
  return {
    values: Object.fromEntries(
      names.map((name) => [name, sourceOf(name)?.values[name]]),
    ) as unknown as Thresholds,
    from: Object.fromEntries(names.map((name) => [name, sourceOf(name)?.from])) as Record<
      ThresholdName,
      string
    >,
  };
}
