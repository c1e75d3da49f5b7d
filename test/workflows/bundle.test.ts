/**
 * The bundle that workers run: its modules are loaded once for the runs of a thread, and hold nothing of any; the SDK keeps the
 * stacks of its promises (docs/decisions/0033), and finds the run of a rejection that nobody handles.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { BUNDLE, replayAll } from '../support/replay.js';
import { sampled } from '../support/seeded.js';

const code = readFileSync(BUNDLE, 'utf8');
const FIRST = 'edit-step-aborted.json';
const names = sampled('kept histories', readdirSync('test/histories'), 7, [
  FIRST,
  'plan-completed-after-a-cancel.json',
]);
const kept = Object.fromEntries(
  names.map((name): [string, unknown] => [
    name,
    JSON.parse(readFileSync(join('test/histories', name), 'utf8')),
  ]),
);

/** The bundle with a statement at the beginning of its modules, or of each run. */
const withStatement = (where: 'modules' | 'run', statement: string, bundle = code): string => {
  const at =
    where === 'modules' ? '\nconst BY_FILE = ' : '\nasync function runMachine(machine, args) {\n';
  if (!bundle.includes(at)) throw new Error(`the bundle has no ${at}`);
  return bundle.replace(at, () =>
    where === 'modules' ? `\n${statement}${at}` : `${at}${statement}\n`,
  );
};
const ACTIVATOR = 'globalThis.__TEMPORAL_ACTIVATOR__';

/**
 * Whatever of it a run would change throws. A typed array cannot be frozen: the only ones are the working space of SHA-256, which it clears
 * after each hash. A pattern for all places begins again in `replace` and `matchAll`, not in `test`.
 */
const FREEZE = `(function freeze(of) {
  if (typeof of !== 'object' || of === null || ArrayBuffer.isView(of) || Object.isFrozen(of)) return;
  const kept = of instanceof Set || of instanceof Map;
  const changing = kept ? ['add', 'set', 'delete', 'clear'] : of instanceof RegExp && of.global ? ['test'] : [];
  for (const name of changing) of[name] = () => { throw new Error('a module is changed'); };
  if (!(of instanceof RegExp)) Object.freeze(of);
  Object.values(of).forEach(freeze);
})`;

test('modules are loaded before the first run, and hold nothing that a run leaves', async () => {
  const told = await replayAll(kept, code);
  const end = code.indexOf('\n/******/ \t});');
  const own = code.slice(code.indexOf('\n/***/ "./dist.new/'), end).split('\n\n/***/ }');
  expect(own.length).toBeGreaterThan(50);
  const strict = own.map((module) => {
    expect(module.match(/^(?:let|var) .*/gm)).toBeNull();
    const names = [...module.matchAll(/^const (\w+) = /gm)].map(([, name]) => name!);
    return [module, ...names.map((name) => `${FREEZE}(${name});`)].join('\n');
  });
  const once = `if (${ACTIVATOR} !== undefined) throw new Error('loaded for a run');`;
  const bundle = withStatement(
    'modules',
    once,
    code.replace(own.join('\n\n/***/ }'), () => strict.join('\n\n/***/ }')),
  );
  expect(await replayAll(Object.fromEntries(Object.entries(kept).toReversed()), bundle)).toEqual(
    told,
  );
}, 60_000);

/** What is wrong with the replay of the first by a bundle, in a process of its own: hooks of promises see nothing in jest's. */
const PLAIN_PROCESS = `
  import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const [code, history] = JSON.parse(await new Response(process.stdin).text());
  const sinks = { archive: { append: { fn: () => {}, callDuringReplay: true } } };
  const said = await Worker.runReplayHistory({ workflowBundle: { code }, sinks }, history).then(() => null, String);
  console.log(JSON.stringify(said));`;
const wrongWith = (bundle: string): unknown => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', PLAIN_PROCESS],
    {
      input: JSON.stringify([bundle, kept[FIRST]]),
      encoding: 'utf8',
    },
  );
  try {
    return JSON.parse(stdout.trim().split('\n').at(-1)!);
  } catch {
    throw new Error(`${stdout}${stderr}`);
  }
};

test('the SDK keeps the stacks of promises, which Temporal shows for a run that waits', () => {
  const kept = `if (${ACTIVATOR}.promiseStackStore.promiseToStack.size === 0) throw new Error('no stack is kept');`;
  expect(wrongWith(withStatement('run', kept))).toBeNull();
}, 60_000);

test('a rejection that nobody handles fails the run it belongs to', () => {
  const lost = withStatement('run', "Promise.reject(new Error('nobody waits'));");
  expect(wrongWith(lost)).toMatch(/Unhandled Promise rejection.*nobody waits/);
}, 60_000);
