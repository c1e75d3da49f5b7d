/** A plan that takes its reader long, and another run on the same worker meanwhile. */
import { afterEach, expect, test } from '@jest/globals';
import { planOfPath, resolveRun, startPlan } from '../../src/client/index.js';
import { planText } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const CHARS = 180_000;
const MOST_TIMES = 5;
const PHASES = [{ name: 'One', file: 'src/one.js' }];
const filled = (unit: string): string => unit.repeat(CHARS / unit.length);

/** Milliseconds until a run that changes the file asks for its approval. */
const timeOfRun = async (s: Scene, name: string): Promise<number> => {
  const from = performance.now();
  const job = `---\ntarget_files: [${name}.js]\n---\n# Change it\n\nDo it.\n`;
  const run = await s.start(`${name}.md`, job);
  expect((await s.settle(run, 120)).status.decision).toMatchObject({ reason: 'approval' });
  return performance.now() - from;
};

test('E4: another run takes about its usual time while plans of 180 KB are read', async () => {
  const names = ['warm', 'alone', 'first', 'second'];
  const files = Object.fromEntries(names.map((name) => [`${name}.js`, 'let a = 1;\n']));
  const s = (open = await scene(
    { ...files, 'plans/010_demo.md': planText(PHASES), 'emend.yaml': 'baseline: off\n' },
    names.map((name) => ({
      name,
      match: { contains: `- ${name}.js` },
      answer: whole({ [`${name}.js`]: 'let a = 2;\n' }),
    })),
  ));
  await s.worker();
  await timeOfRun(s, 'warm');
  const alone_ms = await timeOfRun(s, 'alone');
  const plan = await planOfPath(s.repo, 'plans/010_demo.md');
  // The client has read the plan, so only the worker reads the other text.
  for (const [name, unit] of [
    ['first', '[a]('],
    ['second', '# a\n'],
  ] as const) {
    s.write('plans/010_demo.md', planText(PHASES, filled(unit)));
    s.git('commit', '-qam', name);
    const { stepKey } = await startPlan(s.emend, {
      plan,
      options: { estimate: 'approved' },
    });
    const beside_ms = await timeOfRun(s, name);
    expect(beside_ms / alone_ms).toBeLessThan(MOST_TIMES);
    const view = await s.settle(await resolveRun(s.emend, stepKey), 120);
    if (unit === '[a](') expect(JSON.stringify(view)).toContain('split the paragraph');
  }
}, 300_000);
