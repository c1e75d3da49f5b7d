/** A tolerance that a response needs is named by everything that shows the run, also if nothing asks the reviewer. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { resolveRun, type StepResult } from '../../src/client/index.js';
import { emendCommand, withHandle } from './ends.js';
import { scene, type Scene } from './support.js';

const PATH = 'src/prices.js';
const CONTENT = 'const soup = 5;  \nconst bread = 2;\n';
/** FIND lacks the white space at the end of the first line. */
const ANSWER = `FILE: ${PATH}
FIND:
const soup = 5;
const bread = 2;
REPLACE:
const soup = 6;
const bread = 2;
END {{nonce}}
EMEND-COMPLETE {{nonce}} 1 1
`;
const USED = `trailing_space ${PATH}:1`;
const WORDS = `trailing_space in ${PATH}, line 1: answer and file differ in trailing white space`;
const job = (approval: string): string =>
  `---\ntarget_files: [${PATH}]\nformat: search-replace\napproval: ${approval}\ncommit: false\ntest: false\n---\n# Raise ${approval}\n\nSoup is 6.\n`;

let s: Scene;
beforeAll(async () => {
  const files = { [PATH]: CONTENT, 'auto.md': job('auto'), 'ask.md': job('ask') };
  s = await scene(files, [{ name: 'raise', match: { contains: 'Raise' }, answer: ANSWER }]);
  await s.worker();
}, 60_000);
afterAll(() => s.close());

const runOf = async (out: string) => resolveRun(s.emend, /^[0-9a-f]+/.exec(out)?.[0] ?? '');

/** Returns the names of the texts that lack the tolerance. */
const without = (faces: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(faces).flatMap(([face, text]) => (text.includes(WORDS) ? [] : [face]));

test('under `approval: auto` the command, its run, the events, the result and the Temporal UI name it', async () => {
  const { code, out } = await emendCommand(s, 'run', 'auto.md');
  expect(code).toBe(0);
  const run = await runOf(out);
  const { result, details, history } = await withHandle(s, run, async (handle) => ({
    result: (await handle.result()) as StepResult,
    details: await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata'),
    history: await handle.fetchHistory(),
  }));
  const shown = await emendCommand(s, 'show', run.stepKey);
  const events = await emendCommand(s, 'events', run.stepKey);
  const current = details.currentDetails ?? '';
  const end = out.slice(out.indexOf('applied to 1 file'));
  expect(without({ run: out, end, show: shown.out, events: events.out, current })).toEqual([]);
  expect(result).toMatchObject({ outcome: 'applied', tolerances: [USED] });
  const data = [...JSON.stringify(history).matchAll(/"data":"([^"]+)"/g)];
  const payloads = data.map(([, base64 = '']) => Buffer.from(base64, 'base64').toString()).join();
  expect([payloads.includes(USED), payloads.includes('const bread')]).toEqual([true, false]);
}, 120_000);

test('a run that waits for an approval shows it to a command without a terminal, also with --quiet', async () => {
  s.write(PATH, CONTENT);
  const { out } = await emendCommand(s, 'run', 'ask.md', '--quiet');
  const run = await runOf(
    (await emendCommand(s, 'list', '--state', 'waiting')).out.split('\n')[1] ?? '',
  );
  const { currentDetails = '' } = await withHandle(s, run, (handle) =>
    handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata'),
  );
  const shown = await emendCommand(s, 'show', run.stepKey);
  expect(without({ run: out, show: shown.out, details: currentDetails })).toEqual([]);
  await s.answer(run, 'abort');
}, 120_000);
