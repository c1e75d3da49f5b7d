/**
 * The kept run of the source document's example: four phases, the second with 12 tasks. It is expanded before it begins (Level 1), and each
 * phase goes through the seven steps in the document's order. test/e2e/level-1 has the plan and what `emend events` tells of its run.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from '@jest/globals';
import { describeEvent } from '../../src/shared/event-text.js';
import { planOfPath, resolveRun, startPlan } from '../../src/client/index.js';
import { longOnly } from '../support/skipped.js';
import { marked } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

const KEPT = join(process.cwd(), 'test/e2e/level-1');
const kept = (name: string): string => readFileSync(join(KEPT, name), 'utf8');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const FILES: Readonly<Record<string, string>> = {
  'src/store.js': 'export const store = new Map();\n',
  'src/users.js':
    "import { store } from './store.js';\n\nexport const add = (id, name) => store.set(id, name.trim());\n",
  'checks/users.check.js':
    "import { add } from '../src/users.js';\n\nif (add(1, ' a ').get(1) !== 'a') throw new Error('not trimmed');\n",
  'docs/users.md': '# Users\n\n`add(id, name)` keeps a user.\n',
};
/** What differs from run to run. */
const steady = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}(?=-p\d)/g, 'RUN')
    .replace(/(committed|in) [0-9a-f]{12}/g, '$1 COMMIT')
    .replace(/^(estimate for).*/, '$1 …');

longOnly('plan.test.ts shows the steps of three phases in less time')(
  'four phases, phase 2 with 12 tasks: expanded, carried out, and told step by step in the document’s order',
  async () => {
    const score = { score: 3, reasoning: 'Many small tasks of one kind.', recommendation: 'keep' };
    const s = (open = await scene(
      {
        'plans/025_feature_name.md': kept('025_feature_name.md'),
        'package.json': '{ "type": "module" }\n',
        'emend.yaml':
          'test: ["for f in checks/*.js; do [ ! -e $f ] || node $f || exit 1; done"]\nsandbox: off\n',
      },
      [
        { name: 'score', match: { contains: 'You judge how complex' }, answer: marked(score) },
        ...Object.entries(FILES).map(([path, text]) => ({
          name: path,
          match: { contains: [`- ${path}`] },
          answer: whole({ [path]: text }),
        })),
      ],
    ));
    await s.worker();
    const plan = await planOfPath(s.repo, 'plans/025_feature_name.md');
    const { stepKey } = await startPlan(s.emend, {
      plan,
      approval: 'auto',
      options: { estimate: 'approved' },
    });
    const run = await resolveRun(s.emend, stepKey);
    expect(await s.end(run, 150)).toMatchObject({ outcome: 'completed' });

    const told = (await s.events(run)).map((event) => steady(describeEvent(event)));
    expect(`${told.join('\n')}\n`).toBe(kept('events.txt'));
    expect(s.git('log', '--reverse', '--format=%s').trim().split('\n')).toEqual([
      'base',
      'Phase 1: Foundation',
      'Revise plans/025_feature_name: expand_phase of Phase 2 (complexity)',
      'Phase 2: Core Logic',
      'Phase 3: Testing',
      'Phase 4: Documentation',
      'Mark Phase 4 of plans/025_feature_name as completed (4/4)',
    ]);
    const main = s.read('plans/025_feature_name/025_feature_name.md');
    expect(main).toContain(
      '### Phase 2: Core Logic [EXPANDED] [COMPLETED]\n**See**: [phase_2_core_logic.md](phase_2_core_logic.md)',
    );
    expect(main).toMatch(/\*\*Tasks\*\*: 12 tasks/);
    expect(s.read('plans/025_feature_name/phase_2_core_logic.md').match(/- \[x\]/g)).toHaveLength(
      12,
    );
    expect(s.git('status', '--porcelain')).toBe('');
  },
  240_000,
);
