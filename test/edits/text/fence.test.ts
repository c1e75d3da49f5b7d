/** One fence grammar: CommonMark's openings and closings, an answer that ends inside one, and the body of a file that a model wrapped. */
import { expect, test } from '@jest/globals';
import {
  closesFence,
  Fences,
  isBareFence,
  openingFence,
  withoutFence,
} from '../../../src/edits/text/fence.js';
import { indexOfLines } from '../../../src/edits/text/lines.js';

test.each([
  ['```', { indent: 0, mark: '```', info: '' }],
  ['``` ts title="a" ', { indent: 0, mark: '```', info: 'ts title="a"' }],
  ['   ~~~~ x`y', { indent: 3, mark: '~~~~', info: 'x`y' }],
  ['``` x`y', null],
  ['    ```', null],
  ['``', null],
  ['text ```', null],
  [undefined, null],
])('%j opens %j', (line, fence) => {
  expect(openingFence(line)).toEqual(fence);
  expect(isBareFence(line)).toBe(fence?.info === '');
});

test.each([
  ['```', true],
  ['`````  ', true],
  ['  ```', true],
  ['``', false],
  ['``` js', false],
  ['~~~', false],
  ['```~~~', false],
])('%j closes ```: %j', (line, closes) => {
  expect(closesFence(line, { indent: 0, mark: '```', info: 'js' })).toBe(closes);
});

const follow = (...lines: string[]): Fences => {
  const fences = new Fences();
  for (const line of lines) fences.take(line);
  return fences;
};
test.each([
  [['```', 'text'], true],
  [['```js'], true],
  [['```js', 'text', '```'], false],
  // A bare one with nothing behind it ends a fence that was not opened.
  [['text', '```'], false],
  [['```', '', '  '], false],
  [['````', '```'], false],
  // What stood in the fence before counts no more.
  [['```', 'text', '```', '```'], false],
])('an answer of %j is cut: %j', (lines, isCut) => {
  expect(follow(...lines).isCut).toBe(isCut);
});

test('the last line of a body closes the fence outside of it, where the fences inside are closed', () => {
  const body = (...lines: string[]) => indexOfLines(lines);
  const open = follow('```');
  expect(open.closeIn(body('text', '```', '')).all).toEqual(['text']);
  expect(open.open).toBe(null);
  const nested = follow('```');
  expect(nested.closeIn(body('```js', 'text', '```')).all).toEqual(['```js', 'text', '```']);
  expect(nested.open).not.toBe(null);
  expect(new Fences().closeIn(body('text', '```')).all).toEqual(['text', '```']);
});

const MD = '# A\n\n```sh\nls\n```';
test.each<[string, string, string, string, string | null]>([
  ['a wrapped body', 'a.ts', 'x', '```ts\ny\n```', 'y'],
  ['blank lines round the fences', 'a.ts', 'x', '\n\n```ts\ny\n```\n\n', 'y'],
  ['an indented fence', 'a.ts', 'x', '  ```ts\n  y\n    z\n w\n  ```', 'y\n  z\nw'],
  ['a lone fence at the end', 'a.ts', 'x', 'y\n```', 'y'],
  ['a lone fence with an info string', 'a.ts', 'x', 'y\n```ts', 'y\n```ts'],
  ['a lone rule of six', 'a.ts', 'x', 'y\n~~~~~~', 'y'],
  ['a lone rule of seven', 'a.ts', 'x', 'y\n~~~~~~~', 'y\n~~~~~~~'],
  ['prose before the fence', 'a.ts', 'x', 'y\n```js\nz\n```', null],
  [
    'a fence at the end, where the base has some',
    'a.ts',
    '```',
    'y\n```js\nz\n```',
    'y\n```js\nz\n```',
  ],
  ['a plain text file', 'a.txt', 'x', '```text\ny\n```', 'y'],
  ['two fences at the end', 'a.ts', 'x', '```js\ny\n```\n```', null],
  ['a lone fence where the base has some', 'a.ts', '/**\n```\nx\n```\n*/', 'y\n```', 'y\n```'],
  ['a fence that is not closed', 'a.ts', 'x', '```ts\ny', null],
  ['one fence and no more', 'a.ts', 'x', '```', null],
  ['a wrapped body of a file of any content', 'LICENSE', 'x', '```\ny\n```', null],
  ['a lone fence of a file of any content', 'a.tmpl', 'x', 'y\n```', null],
  ['Markdown said to be Markdown', 'a.md', MD, '```markdown\n# B\n```', '# B'],
  ['Markdown that begins as the base does', 'a.md', MD, `\`\`\`\`\n${MD}\n\`\`\`\``, MD],
  ['Markdown that begins with a fence', 'a.md', MD, '```sh\nls\n```', '```sh\nls\n```'],
  [
    'Markdown whose base begins with a fence',
    'a.md',
    '```md\nx\n```',
    '```md\ny\n```',
    '```md\ny\n```',
  ],
  ['a new Markdown file', 'a.md', '', '```sh\nls\n```', '```sh\nls\n```'],
  ['an empty fence as a new Markdown file', 'a.md', '', '```\n```', '```\n```'],
  ['a Markdown fence that is not closed', 'a.md', MD, '```markdown\n# B', '```markdown\n# B'],
])('%s', (_, path, base, body, kept) => {
  const lines = (text: string) => indexOfLines(text === '' ? [] : text.split('\n'));
  const plain = withoutFence(path, lines(body), lines(base));
  expect('code' in plain ? null : plain.all.join('\n')).toBe(kept);
});
