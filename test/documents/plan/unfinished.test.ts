/** What a phase leaves undone: what the model reports, a file that does not exist, a task below another. */
import { describe, expect, test } from '@jest/globals';
import { filesToMake, unfinishedTasks } from '../../../src/documents/plan/unfinished.js';

test.each([
  ['Create `src/a.js` and `src/b.js`', ['src/a.js']],
  ['Write the tests in `test/a.test.js`', ['test/a.test.js']],
  ['Look at `src/a.js`', []],
  ['Replace `old.js` by a new `new.js`', []],
])('files that "%s" speaks of making', (text, paths) => {
  expect(filesToMake(text)).toEqual(paths);
});

describe('tasks', () => {
  const task = (text: string, depth = 0, done = false) => ({ text, depth, done });
  const tasks = [
    task('Create `a.js`'),
    task('Parts'),
    task('one', 1),
    task('two', 1),
    task('Done before', 0, true),
    task('Last'),
  ];
  const outcome = { isAsked: () => true, isMissing: () => false, skipped: [], tested: false };
  test('nobody doubts any: all are done', () => {
    expect(unfinishedTasks(tasks, [], outcome)).toEqual([]);
  });
  test('said, missing, and above one that is not done; never one that was done before', () => {
    const said = [
      { task: 4, why: 'no room' },
      { task: 5, why: 'x' },
      { task: 99, why: 'x' },
    ];
    expect(
      unfinishedTasks(tasks, said, { ...outcome, isMissing: (path) => path === 'a.js' }),
    ).toEqual([
      { text: 'Create `a.js`', why: 'a.js is not there' },
      { text: 'Parts', why: 'a task under it is not done' },
      { text: 'two', why: 'no room' },
    ]);
    expect(unfinishedTasks(tasks, [{ task: 6, why: '' }], outcome)).toEqual([
      { text: 'Last', why: 'the model says so' },
    ]);
  });
  test('one that names a file which was skipped, by its whole path', () => {
    const named = [
      'Change src/a.js.',
      'Change `src/a.jsx`',
      'Change lib/src/a.js',
      'See src/a.js, too',
      'In `./src/a.js`',
      './src/a.js',
      '../src/a.js',
      'x./src/a.js',
    ].map((text) => task(text));
    expect(unfinishedTasks(named, [], { ...outcome, skipped: ['src/a.js'] })).toEqual([
      { text: 'Change src/a.js.', why: 'src/a.js was skipped' },
      { text: 'See src/a.js, too', why: 'src/a.js was skipped' },
      { text: 'In `./src/a.js`', why: 'src/a.js was skipped' },
      { text: './src/a.js', why: 'src/a.js was skipped' },
    ]);
  });
  test.each([
    'Run the tests',
    'Run all unit and integration tests.',
    '**Run** `npm test -- auth`',
    'Re-run `pytest tests/x.py`',
    'Make sure that all tests pass',
    'The test suite still passes',
    'Keep going until the tests are green',
  ])('"%s" is done where tests passed, and only there', (text) => {
    expect(unfinishedTasks([task(text)], [], outcome)).toEqual([{ text, why: 'no tests passed' }]);
    expect(unfinishedTasks([task(text)], [], { ...outcome, tested: true })).toEqual([]);
  });
  test.each([
    'Write tests for `a.js`',
    'Add a test that runs the parser',
    'Write a script that runs the tests',
    'Run the formatter',
    'Fix the test fixtures',
    'Pass the test name to the runner',
  ])('"%s" asks for no run of tests', (text) => {
    expect(unfinishedTasks([task(text)], [], outcome)).toEqual([]);
  });
});
