/** What a chaos run prints: its plan before, its findings after. */
import type { Carried, Planned } from './carry.js';
import type { Evidence } from './evidence.js';
import { INVARIANTS } from './invariants/index.js';
import type { Kind } from './kind.js';

const table = (rows: readonly (readonly string[])[]): string[] => {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) =>
    `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd(),
  );
};

export const scheduleLines = (planned: readonly Planned[]): string[] => [
  'Planned:',
  ...table(
    planned.map(({ n, kind, carrier }) => [
      String(n),
      kind.name,
      `${carrier.name} in ${carrier.workspace.split('/').at(-1) ?? ''}`,
    ]),
  ),
];

export const carriedLine = ({
  planned,
  stepKeys,
  status,
  fired,
  trouble,
  seconds,
  asked,
}: Carried): string =>
  [
    `${planned.carrier.name} ${planned.kind.name}, ${stepKeys.map((key) => key.slice(0, 8)).join(', ')}: ${(status ?? 'no end').toLowerCase()} after ${seconds.toFixed(1)} s`,
    fired ?? 'DID NOT FIRE',
    ...(asked.size === 0
      ? []
      : [
          `asked: ${[...asked.values()]
            .flat()
            .map(({ reason }) => reason)
            .join(', ')}`,
        ]),
    ...(trouble === null ? [] : [`TROUBLE: ${trouble}`]),
  ].join('; ');

export const firedLines = (carried: readonly Carried[], notPlanned: readonly Kind[]): string[] => {
  const kinds = [...new Set(carried.map(({ planned }) => planned.kind.name))].sort();
  const rows = kinds.map((name) => {
    const all = carried.filter(({ planned }) => planned.kind.name === name);
    return [name, String(all.length), String(all.filter(({ fired }) => fired !== null).length)];
  });
  return [
    ...table([['kind', 'planned', 'fired'], ...rows]),
    ...(notPlanned.length === 0
      ? []
      : [`not planned: ${notPlanned.map(({ name }) => name).join(', ')}`]),
  ];
};

export interface Judged {
  readonly lines: readonly string[];
  readonly passed: number;
  readonly failed: number;
}
/** One line an invariant, each finding below it. */
export const judged = (evidence: Evidence): Judged => {
  const found = INVARIANTS.map(({ name, violations }) => ({ name, against: violations(evidence) }));
  const failed = found.filter(({ against }) => against.length > 0).length;
  return {
    lines: found.flatMap(({ name, against }) => [
      `${against.length === 0 ? 'pass' : 'FAIL'}  ${name}`,
      ...against.map((line) => `        ${line}`),
    ]),
    passed: found.length - failed,
    failed,
  };
};
