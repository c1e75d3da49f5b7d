/** A plan of small files for end-to-end tests, the rehearsed answers to it, and how it is started. */
import { planOfPath, resolveRun, startPlan, type ResolvedRun } from '../../src/client/index.js';
import type { PlanOptions } from '../../src/shared/run.js';
import { eventually } from './ends.js';
import { whole, type Scene } from './support.js';

export interface DemoPhase {
  readonly name: string;
  readonly file: string;
  readonly dependencies?: readonly number[];
  readonly tasks?: number;
}

/** Two phases side by side, then a third that needs both. */
export const TWO_WAVES: readonly DemoPhase[] = [
  { name: 'One', file: 'src/one.js', dependencies: [] },
  { name: 'Two', file: 'src/two.js', dependencies: [] },
  { name: 'Three', file: 'src/three.js', dependencies: [1, 2] },
];

/** Each phase writes one file; the file's line says which answer it was. */
export const planText = (phases: readonly DemoPhase[], more = ''): string =>
  [
    '# Demo plan',
    '',
    'What a person wrote stays as it is.',
    '',
    ...phases.flatMap(({ name, file, dependencies, tasks = 1 }, index) => [
      `### Phase ${index + 1}: ${name}`,
      '',
      `**Objective**: Write ${file}`,
      ...(dependencies === undefined ? [] : [`**Dependencies**: [${dependencies.join(', ')}]`]),
      '',
      `- [ ] Create \`${file}\``,
      ...Array.from({ length: tasks - 1 }, (_, n) => `- [ ] Task ${n + 2}`),
      '',
    ]),
    more,
  ].join('\n');

/** It, once all of its phases are done. */
export const completed = (phases: readonly DemoPhase[]): string =>
  planText(phases)
    .replaceAll('- [ ]', '- [x]')
    .replace(/^### Phase .*$/gm, '$& [COMPLETED]');

export const answerFor = ({ file }: DemoPhase, text = `export const made = '${file}';\n`) => ({
  name: file,
  match: { contains: [`- ${file}`] },
  answer: whole({ [file]: text }),
});

/** An answer in JSON, complete. */
export const marked = (value: unknown): string =>
  `${JSON.stringify(value)}\nEMEND-COMPLETE {{nonce}} 0 0\n`;
/** The rehearsed answer to a wish for a replan. */
export const replanned = (value: object, more: object = {}) => ({
  name: `replan ${JSON.stringify(value).slice(0, 40)}`,
  match: { contains: 'You revise an implementation plan', ...more },
  answer: marked({ why: 'as the output says', ...value }),
});

export const startDemo = async (
  s: Scene,
  options: Partial<PlanOptions> & { approval?: 'ask' | 'auto' } = {},
): Promise<ResolvedRun> => {
  const { approval, ...rest } = options;
  const plan = await planOfPath(s.repo, 'plans/010_demo.md');
  const { stepKey } = await startPlan(s.emend, {
    plan,
    options: { estimate: 'approved', ...rest },
    ...(approval === undefined ? {} : { approval }),
  });
  return resolveRun(s.emend, stepKey);
};

/** The run of a phase, as `p1-1`, once it is there. */
export const phaseRun = (
  s: Scene,
  run: ResolvedRun,
  name: string,
  limit_s?: number,
): Promise<ResolvedRun> =>
  eventually(
    `the run of ${name}`,
    async () => {
      const shown = `${run.stepKey.slice(0, 8)}-${name}`;
      const found = await resolveRun(s.emend, shown).catch(() => null);
      return found?.live == null ? null : found;
    },
    limit_s,
  );
