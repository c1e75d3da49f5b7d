/** What others write is read in linear time: a regular expression that may begin at each character of a long run takes hours for a megabyte. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

import { refusedBySandbox } from '../../src/activities/step/sandbox.js';
import { anchorsOf } from '../../src/documents/plan/anchors.js';
import { parsePlan } from '../../src/documents/plan/parse-plan.js';
import { filesIn, scoreOf } from '../../src/documents/plan/score.js';
import { sectionIn } from '../../src/documents/plan/thresholds.js';
import { untick } from '../../src/documents/plan/plan-tree.js';
import { claimedUnfinished } from '../../src/shared/unfinished.js';
import { parseConfig, parseJob } from '../../src/documents/job/index.js';
import { firstHeading } from '../../src/documents/source/first-heading.js';
import { elisionFindings } from '../../src/edits/guards/elision.js';
import { viewOf } from '../../src/edits/guards/view.js';
import { openingFence } from '../../src/edits/text/fence.js';
import { indexOfLines } from '../../src/edits/text/lines.js';
import { withoutThinking } from '../../src/edits/thinking/index.js';
import { newFilesIn } from '../../src/model/prompts/pick.js';
import { findSecrets } from '../../src/system/secrets.js';
import { classifyFailure, failingTests } from '../../src/workspace/commands/classify.js';
import { arrangeTestOutput } from '../../src/workspace/test-output/index.js';
import { eolsForNewFiles, hintedPaths } from '../../src/workspace/files/index.js';
import { matcherOf } from '../../src/workspace/finding/words.js';
import { stripSpace } from '../../src/workspace/git/commit-hooks.js';
import { tempDir } from '../client/fake.js';

const CHARS = 60_000;
const run = (text: string): string => text.repeat(Math.ceil(CHARS / text.length));
const half = (text: string): string => text.repeat(Math.ceil(CHARS / 2 / text.length));
const blanks = `a${run(' ')}b`;
const sameNames = Array.from({ length: CHARS }, (_, n) => `p${n}/index.ts`);
const editorConfig = async (text: string, path = 'src/a.ts'): Promise<void> => {
  const root = await tempDir();
  await mkdir(join(root, 'src'));
  await writeFile(join(root, '.editorconfig'), text);
  await eolsForNewFiles(root, [path], []);
};
const failed = (output: string): void => {
  classifyFailure(output, { exit: 1 });
  failingTests(output);
  arrangeTestOutput(output, 16_384);
};
/** With a closing tag at the end and without one. */
const inThinking = (text: string): void => {
  for (const format of ['unified-diff', 'search-replace', null] as const)
    for (const end of ['', '\n</think>\n', ' </think> b\n--> c\n'])
      withoutThinking(run(text) + end, format, undefined);
};
const THINKING = [
  '<think>',
  '<think>\n',
  '</think>\n',
  '<think>a</think>',
  '<think>\n<think>\n',
  'a <think> b ',
  'a <think> b\n',
  'a </think> b\n',
  '<!-- ',
  '<!--\n',
  '-->\n',
  'a <!-- {"a"\n',
  '`<think>` ',
  '` `` ``` <think> ',
  '```\n<think>\n```\n',
  `<think ${'a'.repeat(199)}`,
  '{ "a": [<think>\n',
  '@@ -1,99999 +1,99999 @@\n<think>\n',
  '@@ -1,9 +1,9 @@\n-a\n+b\n</think>\n',
  'FILE a\n<think>\n',
  'FIND:\n</think>\n',
  '<<<<<<< SEARCH\n</think>\n',
  '*** Begin Patch\n*** End Patch\n</think>\n',
];
const inPlan = (text: string) =>
  parsePlan(`# A plan\n\n## Implementation Phases\n\n${text}\n`, 'plan.md');
const heading = (text: string): void => {
  const plan = `# ${text}\n`;
  anchorsOf(plan, 0, { from: 0, to: plan.length }, true);
};

test.each<[string, () => unknown]>([
  ['backticks in a job', () => hintedPaths(`${run('`')}a`, ['a'])],
  ['a fence without an end', () => hintedPaths(run('~'), ['a'])],
  ['files of one name', () => hintedPaths('See index.ts', sameNames)],
  ['dots in a job', () => hintedPaths(`a/${run('.')}b`, ['a'])],
  ['keys of emend.yaml', () => parseConfig(sameNames.map((name) => `${name}: 1`).join('\n'))],
  [
    'keys of a job on a line',
    () => parseJob(`---\n{${sameNames.join(': 1, ')}: 1}\n---\n# A\n`, 'job.md'),
  ],
  ['the heading of a job', () => firstHeading(`# ${blanks}`)],
  ['a heading in a plan', () => inPlan(`### Phase 1: ${blanks}`)],
  ['what is nearly a task', () => inPlan(`### Phase 1: A\n\n- [${run(' ')}a`)],
  [
    'what is nearly a field',
    () => inPlan(`### Phase 1: A\n\nDepends on:${run('*')}1a\ndepend${run('_')}a`),
  ],
  ['stages', () => inPlan(`### Phase 1: A\n\n${run('#### Stage 1: S\n\n- [ ] x\n')}`)],
  ['the text of a phase', () => untick(blanks)],
  ['an underlined heading', () => inPlan(`${blanks}\n---`)],
  ['brackets in a heading', () => heading(run('['))],
  ['links in a phase', () => filesIn(run(']('))],
  ['attributes in a phase', () => filesIn(run('src='))],
  ['a share of tests', () => scoreOf('', [{ text: `80%${run(' ')}b`, opaque: [] }], 0, 'plan')],
  ['a heading of notes', () => sectionIn(`# Title${run(' ')}b`, 'Title')],
  ['what a model leaves out', () => claimedUnfinished(`NOT DONE: 1${run(':')}\u2028`)],
  ['a fence in an answer', () => openingFence(`${run('~')}\u2028a`)],
  ...THINKING.map((text): [string, () => void] => [
    `thinking: ${JSON.stringify(text)}`,
    () => inThinking(text),
  ]),
  ['a brief', () => newFilesIn(`New files\n- a/b: ${run(' ')}\``)],
  [
    'new lines that look like notes',
    () => {
      const lines = Array.from(
        { length: 2_000 },
        () => `// existing ${'='.repeat(200)}${' '.repeat(80)}b`,
      );
      const view = viewOf('a.ts', indexOfLines([]), null, [{ from: 0, to: 0, lines }]);
      return elisionFindings(view, () => false);
    },
  ],
  [
    'a private key',
    () =>
      findSecrets(
        run(
          `-----BEGIN PRIVATE KEY-----\n${'a'.repeat(15_000)}\n-----END PRIVATE KEY-----\n`,
        ).repeat(4),
      ),
  ],
  ['a commit message', () => stripSpace(blanks)],
  ['a name in capitals', () => matcherOf([])(run('A'))],
  ['a name of many s', () => matcherOf([])(`a${run('s')}e`)],
  ['an .editorconfig without =', () => editorConfig(`[*]\n${blanks}\n`)],
  ['an .editorconfig with a value', () => editorConfig(`[*]\na = ${blanks}\n`)],
  [
    'an .editorconfig with many stars',
    () => editorConfig(`[${'*a'.repeat(30)}b]\nend_of_line = crlf\n`, 'a'.repeat(100)),
  ],
  ['empty lines of tests', () => failed(run('\n'))],
  ['a long line of tests', () => failed(`ERROR ${run('a')}`)],
  ['failed tests of TAP without ends', () => failed(run('not ok 1 - a\n  ---\n'))],
  [
    'nested failed tests of TAP',
    () => failed(run('# Subtest: a\n    # Subtest: b\n    not ok 1\n')),
  ],
  ['failed tests of node:test', () => failed(`${half('✖ a\n')}✖ failing tests:\n${half('✖ a\n')}`)],
  ['failed tests of jest', () => failed(run('  ● a › b\n'))],
  ['failed tests of vitest', () => failed(run(' FAIL  a.ts > b\n'))],
  ['failed tests of mocha', () => failed(`  9 failing\n${run('  1) a\n')}`)],
  ['failed tests of pytest', () => failed(`${run('___ a ___\n')}${run('FAILED a.py::a\n')}`)],
  ['failed tests of unittest', () => failed(run('\nFAIL: a\n'))],
  ['failed tests of go', () => failed(run('--- FAIL: a/b/c (0.00s)\n'))],
  ['a name of many slashes', () => failed(`--- FAIL: ${run('/')}\n`)],
  [
    'failed tests of cargo',
    () => failed(`${run('---- a stdout ----\n')}${run('test a ... FAILED\n')}`),
  ],
  ['failed tests of Maven', () => failed(run('[ERROR] a.b Time elapsed: 1 <<< FAILURE!\n'))],
  ['failed tests of RSpec', () => failed(`Failures:\n${run('  1) a\n')}9 examples, 9 failures\n`)],
  ['failed tests of PHPUnit', () => failed(`There were 9 failures:\n${run('1) a\n')}`)],
  ['test cases of XML without ends', () => failed(run('<testcase name="'))],
  ['test cases of XML in a line', () => failed(run('<testcase name="a"><failure message="b'))],
  ['failed test cases of XML', () => failed(run('<testcase name="a"><failure/></testcase>'))],
  ['what a sandbox refused', () => refusedBySandbox(run('fork ').repeat(3))],
])('%s', async (_, read) => {
  const from = performance.now();
  await read();
  expect(performance.now() - from).toBeLessThan(2_000);
});
