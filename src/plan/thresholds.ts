/** When a phase is too complex, and where that is said: `emend.yaml`, else the project's notes for models, else the defaults. */

export interface Thresholds {
  /** A score above it calls for expansion. */
  readonly expansion: number;
  /** So do more tasks than this. */
  readonly tasks: number;
  /** More file references than this are told. */
  readonly fileReferences: number;
  /** Replans of one phase. */
  readonly replanLimit: number;
}
export type ThresholdName = keyof Thresholds;

export const DEFAULT_THRESHOLDS: Thresholds = { expansion: 8, tasks: 10, fileReferences: 10, replanLimit: 2 };

const WRITTEN: Record<ThresholdName, string> = {
  expansion: 'Expansion Threshold',
  tasks: 'Task Count Threshold',
  fileReferences: 'File Reference Threshold',
  replanLimit: 'Replan Limit',
};

/** Of one CLAUDE.md or AGENTS.md: what its section "Adaptive Planning Configuration" says. Null without the section. */
export function thresholdsIn(notes: string): Partial<Thresholds> | null {
  const lines = notes.split(/\r\n|\n|\r/);
  const start = lines.findIndex((line) => /^#{1,6}[ \t]+Adaptive Planning Configuration[ \t]*#*[ \t]*$/i.test(line));
  if (start < 0) return null;
  const level = (/^#+/.exec(lines[start] ?? '') ?? [''])[0].length;
  const below = lines.slice(start + 1);
  const end = below.findIndex((line) => (/^(#{1,6})[ \t]/.exec(line)?.[1]?.length ?? 7) <= level);
  const section = (end < 0 ? below : below.slice(0, end)).join('\n');
  const found: Partial<Record<ThresholdName, number>> = {};
  for (const name of Object.keys(WRITTEN) as ThresholdName[]) {
    const value = new RegExp(`${WRITTEN[name]}[*_]*[ \\t]*:[*_]*[ \\t]*(\\d{1,4}(?:\\.\\d+)?)`, 'i').exec(section)?.[1];
    if (value !== undefined) found[name] = Number(value);
  }
  return found;
}

export interface ThresholdSource {
  /** As told to a person: `emend.yaml`, `CLAUDE.md`. */
  readonly from: string;
  readonly values: Partial<Thresholds>;
}
export interface ResolvedThresholds {
  readonly values: Thresholds;
  /** Where each came from. */
  readonly from: Readonly<Record<ThresholdName, string>>;
}

/** Each threshold from the first source that says it. */
export function resolveThresholds(sources: readonly ThresholdSource[]): ResolvedThresholds {
  const all: readonly ThresholdSource[] = [...sources, { from: 'default', values: DEFAULT_THRESHOLDS }];
  const names = Object.keys(DEFAULT_THRESHOLDS) as ThresholdName[];
  const told = (name: ThresholdName) => all.find(({ values }) => values[name] !== undefined) ?? all[all.length - 1];
  return {
    values: Object.fromEntries(names.map((name) => [name, told(name)?.values[name]])) as unknown as Thresholds,
    from: Object.fromEntries(names.map((name) => [name, told(name)?.from])) as Record<ThresholdName, string>,
  };
}
