/** A line that stands for text is refused, unless a file of the step holds it: then the response copied it. */
import { describe, expect, test } from '@jest/globals';
import { applyAnswer, type ApplyOptions } from '../../../src/edits/index.js';

const LINE = '// ... existing code ...';
const TIPS = `# Tips\n\n${LINE}\nDo not send this.\n`;
const text = (content: string) => ({ bytes: Buffer.from(content), mode: 0o644 });
const patch = (...lines: readonly string[]): string =>
  ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n');
const added = TIPS.trimEnd()
  .split('\n')
  .map((line) => `+${line}`);

const apply = (answer: string, options: Partial<ApplyOptions> = {}) =>
  applyAnswer({
    format: 'begin-patch',
    answer,
    files: new Map([
      ['tips.md', text(TIPS)],
      ['other.md', text('# Other\n')],
    ]),
    options: { requireMarker: false, mayCreateUnder: [''], allowDelete: true, ...options },
  });

const CREATED = patch('*** Add File: docs/hints.md', ...added);

describe('a placeholder', () => {
  test('that a deleted file of the response has is text of the moved file', () => {
    const moved = patch('*** Delete File: tips.md', '*** Add File: docs/tips.md', ...added);
    expect(apply(moved)).toMatchObject({ outcome: 'edited' });
  });

  test('that a file outside of the response has is text if that file is known', () => {
    expect(apply(CREATED)).toMatchObject({ outcome: 'refused', reasons: [{ code: 'elision' }] });
    expect(apply(CREATED, { elsewhere: [{ bytes: Buffer.from(`  ${LINE}\r\n`) }] })).toMatchObject({
      outcome: 'edited',
      findings: [],
    });
  });

  test('of no file is refused, next to one that a file has', () => {
    const answer = patch('*** Add File: a.md', `+${LINE}`, '+// ... rest of the code ...');
    expect(apply(answer, { elsewhere: [{ bytes: Buffer.from(LINE) }] })).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'elision', path: 'a.md', message: expect.stringMatching(/^Line 2 /) }],
    });
  });

  test('is a finding where the guard asks', () => {
    expect(apply(CREATED, { guards: { elision: 'ask' } })).toMatchObject({
      outcome: 'edited',
      findings: [{ guard: 'elision', severity: 'ask', path: 'docs/hints.md', lines: [3, 3] }],
    });
  });
});
