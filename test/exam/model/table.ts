/** The exam's results as Markdown tables: by format and file size, and a line a task. */
import type { Attempt, TaskRun } from './run-task.js';

/** Upper bounds of the size classes, in lines. */
const SIZES = [40, 200, 500, 1000, Infinity] as const;
export const SIZE_NAMES = [
  'about 20',
  'about 100',
  'about 400',
  'about 800',
  'about 3,000',
] as const;
export const sizeOf = (lines: number): number => SIZES.findIndex((most) => lines <= most);

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
export const table = (
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string => [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
const of = (part: number, all: number): string => `${part}/${all}`;

const edits = (runs: readonly TaskRun[]): Attempt[] =>
  runs.flatMap(({ attempts }) => attempts).filter(({ verdict }) => verdict !== null);
/** An answer that keeps to its form: complete, marked and readable, whether or not it fits the file. */
const isWellFormed = ({ verdict }: Attempt): boolean =>
  verdict !== null && ['edited', 'unchanged', 'refused'].includes(verdict.outcome);

export const bySize = (runs: readonly TaskRun[]): string => {
  const groups = [...new Set(runs.map(({ format, lines }) => `${format} ${sizeOf(lines)}`))].sort();
  return table(
    [
      'format',
      'lines',
      'solved',
      'answers well formed',
      'calls',
      'tokens in',
      'tokens out',
      'seconds',
      'files wrongly changed',
    ],
    groups.map((group) => {
      const [format = '', size = ''] = group.split(' ');
      const own = runs.filter((run) => run.format === format && sizeOf(run.lines) === Number(size));
      const attempts = edits(own);
      return [
        format,
        SIZE_NAMES[Number(size)] ?? '',
        of(own.filter(({ outcome }) => outcome === 'solved').length, own.length),
        of(attempts.filter(isWellFormed).length, attempts.length),
        sum(own.map(({ calls }) => calls)),
        sum(own.map(({ input_tokens }) => input_tokens)),
        sum(own.map(({ output_tokens }) => output_tokens)),
        Math.round(sum(own.map(({ seconds }) => seconds))),
        sum(own.map(({ outside }) => outside.length)),
      ];
    }),
  );
};

/** What came of a task for whoever owns the files. */
export const standingOf = ({ outcome, asked }: Pick<TaskRun, 'outcome' | 'asked'>): string =>
  outcome === 'solved'
    ? 'solved'
    : outcome !== 'wrong'
      ? 'not applied'
      : asked
        ? 'wrong, asked'
        : 'wrong in silence';
const STANDINGS = ['solved', 'wrong, asked', 'wrong in silence', 'not applied'];

export const byFormat = (runs: readonly TaskRun[]): string =>
  table(
    ['format', 'tasks', ...STANDINGS, 'calls', 'tokens out', 'seconds'],
    [...new Set(runs.map(({ format }) => format))].sort().map((format) => {
      const own = runs.filter((run) => run.format === format);
      return [
        format,
        own.length,
        ...STANDINGS.map((standing) => own.filter((run) => standingOf(run) === standing).length),
        sum(own.map(({ calls }) => calls)),
        sum(own.map(({ output_tokens }) => output_tokens)),
        Math.round(sum(own.map(({ seconds }) => seconds))),
      ];
    }),
  );

const attemptWords = ({ role, format, verdict }: Attempt): string =>
  verdict === null
    ? role
    : [format, verdict.outcome, ...new Set(verdict.reasons), ...asksOf(verdict.asks ?? [])].join(
        ' ',
      );
const asksOf = (guards: readonly string[]): readonly string[] =>
  guards.length === 0 ? [] : [`(asks: ${guards.join(', ')})`];

export const byTask = (runs: readonly TaskRun[]): string =>
  table(
    ['task', 'kind', 'lines', 'format', 'outcome', 'attempts', 'tokens in / out', 'seconds'],
    [...runs]
      .sort((a, b) => (`${a.task} ${a.format}` < `${b.task} ${b.format}` ? -1 : 1))
      .map((run) => [
        run.task,
        run.kind,
        run.lines,
        run.format,
        run.outcome === 'wrong' ? standingOf(run) : run.outcome,
        run.attempts.map(attemptWords).join('; '),
        `${run.input_tokens} / ${run.output_tokens}`,
        Math.round(run.seconds),
      ]),
  );
