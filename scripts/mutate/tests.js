/**
 * The tests of the edit engine as plain functions, loaded once for all mutants of a process. Under jest each mutant would load engine and tests
 * anew and prepare all 1,400 tests: more than a second of processor time before the first one, here some milliseconds for most mutants.
 */
import { readdirSync } from 'node:fs';
import { register } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getState } from './globals.js';

const FOLDER = 'test/edits';
const FIRST = ['scenarios'];
/** Few draws, with a fixed seed; left out with `--quick` (scripts/mutate.js). */
const LAST = [
  ...[
    'properties',
    'perturbed',
    'search-replace-properties',
    'unified-diff-properties',
    'diff-lines-properties',
  ],
  'whole-or-refused',
];
/** They start git, need `dist` or many seconds. */
const LEFT_OUT = [
  ...['proposal/write-diff', 'diff-git-properties', 'unified-diff-git', 'unified-diff-endings'],
  ...['hostile', 'truncation', 'library-docs'],
];
/** Of size: half a second and more each, which every mutant that nothing notices would pay. */
const OF_SIZE =
  /\bhuge\b|1,000 (blocks|hunks) in 100,000|looked for so often|three base36 characters|sides so long/;

const names = () => {
  const all = readdirSync(FOLDER, { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => name.slice(0, -'.test.ts'.length))
    .sort();
  const rest = all.filter((name) => ![...FIRST, ...LAST, ...LEFT_OUT].includes(name));
  return [...FIRST, ...rest, ...(process.env.EMEND_MUTATE_QUICK === undefined ? LAST : [])];
};

/** The parts of a describe block that our tests use. */
const collect = (block, titles, before, into) => {
  const hooks = block.hooks.map((hook) => {
    if (hook.type !== 'beforeAll' && hook.type !== 'afterAll')
      throw new Error(`${hook.type} is not known here`);
    return hook;
  });
  const own = once(hooks.filter(({ type }) => type === 'beforeAll').map(({ fn }) => fn));
  const ready = async () => {
    await before();
    await own();
  };
  for (const child of block.children) {
    const path = [...titles, child.name];
    if (child.type === 'describeBlock') collect(child, path, ready, into);
    else if (child.mode !== 'skip' && child.mode !== 'todo' && !OF_SIZE.test(child.name))
      into.push({ name: path.join(' '), ready, run: child.fn });
  }
};
const once = (functions) => {
  let done;
  return () =>
    (done ??= (async () => {
      for (const run of functions) await run();
    })());
};

/** In the order in which they are to run: `{ id, name, fileName, ready, run }`. */
export const loadTests = async () => {
  register('./hooks.js', import.meta.url);
  const { default: fc } = await import('fast-check');
  // The first counter-example is enough: nobody reads the smallest one of a mutant.
  fc.configureGlobal({ endOnFailure: true });
  const ids = new Map();
  const tests = [];
  for (const name of names()) {
    const fileName = join(process.cwd(), FOLDER, `${name}.test.ts`);
    const before = getState().rootDescribeBlock.children.length;
    await import(pathToFileURL(fileName).href);
    const found = [];
    const { children, hooks } = getState().rootDescribeBlock;
    collect({ children: children.slice(before), hooks }, [], async () => undefined, found);
    for (const test of found) {
      const id = `${name}: ${test.name}`;
      const nth = (ids.get(id) ?? 0) + 1;
      ids.set(id, nth);
      tests.push({ ...test, id: nth === 1 ? id : `${id} (${nth})`, fileName });
    }
  }
  return tests;
};
