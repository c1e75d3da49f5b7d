/** What the same true edit, each task's reference solution, costs to say in each format: counted, no model is asked. */
import { estimateTokens } from '../../../src/model/tokens.js';
import { FORMATS, type Format } from '../../../src/shared/formats.js';
import { sayChange } from '../../edits/formats.js';
import { changeOf } from '../history/change.js';
import { SIZE_NAMES, sizeOf, table } from './table.js';
import { linesOf, type Task } from './task.js';

const NONCE = '0123456789abcdef0123';

interface Cost {
  readonly size: number;
  readonly changed: number;
  readonly tokens: Readonly<Record<Format, number>>;
}

/** Of every file that a solution edits; new files cost the same in all formats and are left out. */
const costsOf = (task: Task): readonly Cost[] =>
  [...task.solved].flatMap(([path, result]) => {
    const base = task.base.get(path);
    if (base === undefined || base.equals(result)) return [];
    const sides = {
      status: 'M',
      oldMode: '100644',
      newMode: '100644',
      path,
      commit: '',
      oldId: '1',
      newId: '2',
    };
    const sayable = changeOf(sides, { base, result }, undefined);
    if (typeof sayable === 'string') return [];
    const { change } = sayable;
    const changed = change.edits.reduce(
      (sum, { from, to, lines }) => sum + Math.max(to - from, lines.length),
      0,
    );
    const tokens = Object.fromEntries(
      FORMATS.map((format) => [
        format,
        estimateTokens(sayChange(format, change, { careful: true, nonce: NONCE })),
      ]),
    ) as Record<Format, number>;
    return [{ size: sizeOf(linesOf(base)), changed, tokens }];
  });

/** Output tokens per changed line, and in parts of what the whole file costs. */
export const costTable = (tasks: readonly Task[]): string => {
  const costs = tasks.flatMap(costsOf);
  const sizes = [...new Set(costs.map(({ size }) => size))].sort((a, b) => a - b);
  return table(
    ['lines', 'edits', 'changed lines', ...FORMATS],
    sizes.map((size) => {
      const own = costs.filter((cost) => cost.size === size);
      const changed = own.reduce((sum, cost) => sum + cost.changed, 0);
      const tokens = (format: Format): number =>
        own.reduce((sum, cost) => sum + cost.tokens[format], 0);
      const cells = FORMATS.map((format) => {
        const share = tokens(format) / tokens('whole-file');
        return `${(tokens(format) / changed).toFixed(1)} (${share.toFixed(3)})`;
      });
      return [SIZE_NAMES[size] ?? '', own.length, changed, ...cells];
    }),
  );
};
