/**
 * The bundle that workers run: its modules are loaded once for the runs of a thread, and hold nothing of any; the SDK keeps no stack of a
 * promise (docs/decisions/0033), and finds the run of a rejection that nobody handles all the same.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { BUNDLE, replayAll } from '../support/replay.js';

const code = readFileSync(BUNDLE, 'utf8');
const history = (name: string): unknown => JSON.parse(readFileSync(join('test/histories', `${name}.json`), 'utf8'));
const [first, second] = [history('edit-step-aborted'), history('edit-step-committed-one-queue')];

/** The bundle with a statement at the beginning of its modules, or of each run. */
const withStatement = (where: 'modules' | 'run', statement: string, bundle = code): string => {
  const at = where === 'modules' ? '\nconst BY_FILE = ' : '\nasync function runMachine(machine, input) {\n';
  if (!bundle.includes(at)) throw new Error(`the bundle has no ${at}`);
  return bundle.replace(at, () => (where === 'modules' ? `\n${statement}${at}` : `${at}${statement}\n`));
};
const ACTIVATOR = 'globalThis.__TEMPORAL_ACTIVATOR__';

test('modules are loaded before the first run, and none has a variable for what a run leaves', async () => {
  const told = await replayAll({ first, second }, code);
  const strict = withStatement('modules', `if (${ACTIVATOR} !== undefined) throw new Error('loaded for a run');`);
  expect(await replayAll({ second, first }, strict)).toEqual(told);
  const own = code.slice(code.indexOf('\n/***/ "./dist.new/'), code.indexOf('\n/******/ \t});'));
  expect(own).toMatch(/^const BY_FILE = /m);
  expect(own.match(/^(?:let|var) .*/gm)).toBeNull();
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
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', PLAIN_PROCESS], {
    input: JSON.stringify([bundle, first]),
    encoding: 'utf8',
  });
  try {
    return JSON.parse(stdout.trim().split('\n').at(-1)!);
  } catch {
    throw new Error(`${stdout}${stderr}`);
  }
};

test('no stack of a promise is kept, which the SDK does of itself', () => {
  const kept = `if (${ACTIVATOR}.promiseStackStore.promiseToStack.size > 0) throw new Error('stacks are kept');`;
  expect(wrongWith(withStatement('run', kept))).toBeNull();
  const plain = code.slice(code.indexOf(' var __TEMPORAL__'));
  expect(wrongWith(withStatement('run', kept, plain))).toMatch('stacks are kept');
}, 60_000);

test('a rejection that nobody handles fails the run it belongs to', () => {
  const lost = withStatement('run', "Promise.reject(new Error('nobody waits'));");
  expect(wrongWith(lost)).toMatch(/Unhandled Promise rejection.*nobody waits/);
}, 60_000);
