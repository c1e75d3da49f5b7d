/** Plans on a terminal. */
import type { PartReport, PhaseReport, PlanReport } from '../../documents/plan/index.js';
import { foundText } from '../../shared/event-text.js';
import type { CheckedPlan } from '../json-types.js';
import { count, plain, table } from './text.js';

const titleOf = ({ number, title, level, phases, expandedPhases }: PlanReport): string =>
  plain(
    [
      number === null ? '' : `${number} `,
      title ?? 'Plan',
      ` (level ${level}, ${count(phases.length, 'phase')}, ${expandedPhases.length} expanded)`,
    ].join(''),
  );
const nameOf = (kind: string, { number, name, markers }: PartReport): string =>
  plain([`${kind} ${number}: ${name}`, ...markers.map((marker) => `[${marker}]`)].join(' '));
const tasksOf = ({ tasks }: PartReport): string =>
  `${tasks.filter(({ done }) => done).length}/${count(tasks.length, 'task')}`;
const scoreOf = ({ score: { score, label } }: PhaseReport): string => `${score} (${label})`;
export const checkLines = (report: CheckedPlan): readonly string[] => {
  const rows = report.phases.map((phase) => [
    `  ${nameOf('Phase', phase)}`,
    tasksOf(phase),
    scoreOf(phase),
    phase.score.above.join(', '),
  ]);
  const waves = report.waves.map(
    ({ subWaves }, index) =>
      `  ${index + 1}: ${subWaves.map((numbers) => numbers.join(', ')).join(' | ')}`,
  );
  const order = report.declared ? 'Waves' : 'Waves (no phase declares dependencies: in sequence)';
  const tests = ['Tests', ...report.tests.map((each) => plain(`  ${foundText(each)}`))];
  return [titleOf(report), ...table(rows), order, ...waves, ...tests, ...noteLines(report)].map(
    (text) => text.trimEnd(),
  );
};

const noteLines = ({ notes }: PlanReport): readonly string[] =>
  notes.length === 0
    ? []
    : ['Notes', ...notes.map(({ file, line, message }) => plain(`  ${file}:${line}: ${message}`))];

/** Every addend, and where the thresholds come from. */
export const scoreLines = (report: PlanReport): readonly string[] => {
  const { values, from } = report.thresholds;
  const thresholds = (Object.keys(values) as (keyof typeof values)[]).map(
    (name) => `${name} ${values[name]} (${from[name]})`,
  );
  return [plain(`Thresholds: ${thresholds.join(', ')}`), ...report.phases.flatMap(phaseScore)];
};

const phaseScore = (phase: PhaseReport): readonly string[] => {
  const { keywords, tasks, files, tests, above, manyFiles } = phase.score;
  const rows = [
    ...keywords
      .filter(({ value }) => value > 0)
      .map(({ hits, weight, value }) => {
        const words = Object.entries(hits).filter(([, times]) => times > 0);
        return [
          `  + ${value}`,
          `${words.map(([word, times]) => `${word} x${times}`).join(', ')}, ${weight} each`,
        ];
      }),
    [`  + ${tasks.value}`, `${count(tasks.count, 'task')} / 5`],
    [
      `  + ${files.value}`,
      `${count(files.paths.length, 'file reference')} / 5${manyFiles ? ', more than the threshold' : ''}`,
    ],
    ...(tests.words === null
      ? []
      : [[`  + ${tests.value}`, `extensive tests: "${plain(tests.words)}"`]]),
  ];
  const verdict =
    above.length === 0
      ? []
      : [`  ${phase.expanded ? 'already expanded' : 'to be expanded'}: ${above.join(', ')}`];
  return [`${nameOf('Phase', phase)}: ${scoreOf(phase)}`, ...table(rows), ...verdict];
};

/** Of a phase that came to its end without them. */
const unfinishedOf = ({ markers, tasks }: PhaseReport): readonly string[] =>
  markers.includes('INCOMPLETE')
    ? tasks.flatMap(({ text, done }) => (done ? [] : [plain(text)]))
    : [];
export const showLines = (report: PlanReport): readonly string[] => [
  titleOf(report),
  ...table(
    report.phases.flatMap((phase) => [
      [
        `  ${nameOf('Phase', phase)}`,
        tasksOf(phase),
        plain(`${phase.file}${phase.expanded ? '' : `:${phase.line}`}`),
      ],
      ...unfinishedOf(phase).map((text) => [`    not done: ${text}`, '', '']),
      ...phase.stages.map((stage) => [
        `    ${nameOf('Stage', stage)}`,
        '',
        plain(`${stage.file}${stage.expanded ? '' : `:${stage.line}`}`),
      ]),
    ]),
  ),
];
