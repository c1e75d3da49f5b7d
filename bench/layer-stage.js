/**
 * A process that plays steps for layers.js with the build next to it. It sends `ready`; after each message, which is the name of a shape, it runs one step and sends
 * what that cost: `{ ms, cpu_ms, fsyncs, client: { fsyncs } }`. It ends when its parent disconnects.
 */
import { takeCosts } from './probe.js';
import { performance } from 'node:perf_hooks';
import { makeJobs, rules, SHAPES } from './sections/time.js';
import { runStep, since } from './runs.js';
import { openStage } from './stage.js';

const stage = await openStage({ rules: rules() });
const jobs = await makeJobs(stage);
// The first step of a shape fills caches.
for (const shape of Object.keys(SHAPES)) await runStep(stage, jobs[shape], SHAPES[shape].outcome);

const measure = async (shape) => {
  await stage.costs();
  takeCosts();
  const from = performance.now();
  await runStep(stage, jobs[shape], SHAPES[shape].outcome);
  const ms = since(from);
  return { ms, client: takeCosts(), ...(await stage.costs()) };
};

process.on('message', (shape) => {
  void measure(shape).then(
    (costs) => process.send(costs),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.once('disconnect', () => void stage.close().finally(() => process.exit()));
process.send('ready');
