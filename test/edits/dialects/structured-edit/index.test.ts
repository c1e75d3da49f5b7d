import { describe, expect, test } from '@jest/globals';
import { lineCheck } from '../../../../src/edits/listing.js';
import { applyAnswer } from '../../../../src/edits/apply-answer.js';
import { read as readResponse } from '../../../../src/edits/settle.js';
import { structuredEdit } from '../../../../src/edits/dialects/structured-edit/index.js';
import type { AnswerOutcome, ApplyOptions, OfferedFile } from '../../../../src/edits/types.js';
import { contextOf, readOne, whyNot } from '../../locate-support.js';

const LINES = ['zero', 'one', '', 'two', '}', 'three', '}', 'four'];
const check = (line: number, lines = LINES): string =>
  `${line}${lineCheck(lines[line - 2], lines[line - 1] ?? '', lines[line])}`;
/** The check of `line` under another number. */
const drifted = (line: number, as: number): string => `${as}${check(line).slice(-3)}`;

type Op = Record<string, unknown>;
const run = (
  operations: Op[],
  options: Partial<ApplyOptions> = {},
  file: Partial<OfferedFile> = {},
): AnswerOutcome =>
  applyAnswer({
    format: 'structured-edit',
    answer: JSON.stringify({
      summary: 's',
      operations: operations.map((o) => ({ file_path: 'f', ...o })),
      complete: true,
    }),
    files: new Map([['f', { bytes: Buffer.from(LINES.map((l) => `${l}\n`).join('')), ...file }]]),
    options: { requireMarker: true, ...options },
  });
const linesOf = (outcome: AnswerOutcome): string[] => {
  if (outcome.outcome !== 'edited') throw new Error(JSON.stringify(outcome));
  const file = outcome.files.get('f');
  return file === undefined || file === 'absent'
    ? []
    : Buffer.from(file.bytes).toString().split('\n').slice(0, -1);
};
const codes = (outcome: AnswerOutcome): string[] =>
  'reasons' in outcome ? outcome.reasons.map((r) => r.code) : [];
const without = (...at: number[]): string[] => LINES.filter((_, i) => !at.includes(i + 1));

test('a file is named unless it is the only one that is offered', () => {
  const answer = JSON.stringify({ operations: [{ type: 'append', content: 'z' }], complete: true });
  const paths = (...offered: string[]) =>
    applyAnswer({
      format: 'structured-edit',
      answer,
      options: { requireMarker: true },
      files: new Map(offered.map((path) => [path, { bytes: Buffer.from('a\n') }])),
    });
  const one = paths('f');
  expect(one.outcome === 'edited' && [...one.files.keys()]).toEqual(['f']);
  for (const outcome of [paths(), paths('f', 'g')]) expect(codes(outcome)).toEqual(['missing_key']);
});

describe('order at one place', () => {
  test('prepends, inserts in the order given, replace; appends last', () => {
    const outcome = run([
      { type: 'append', content: 'z1' },
      { type: 'replace', start_line: check(1), end_line: check(1), content: 'ZERO' },
      { type: 'insert', line: check(1), content: 'i1\n' },
      { type: 'prepend', content: 'p' },
      { type: 'insert', line: check(1), content: 'i2' },
      { type: 'insert', line: 9, content: 'n+1' },
      { type: 'append', content: 'z2' },
    ]);
    expect(linesOf(outcome)).toEqual([
      'p',
      'i1',
      'i2',
      'ZERO',
      ...LINES.slice(1),
      'n+1',
      'z1',
      'z2',
    ]);
    expect(outcome).toMatchObject({ tolerances: [] });
  });

  test.each([
    [
      'two replaces',
      [
        { type: 'replace', start_line: check(2), end_line: check(4), content: 'x' },
        { type: 'replace', start_line: check(4), end_line: check(4), content: 'y' },
      ],
    ],
    [
      'the same delete twice',
      [
        { type: 'delete', start_line: check(2), end_line: check(2) },
        { type: 'delete', start_line: check(2), end_line: check(2) },
      ],
    ],
    [
      'an insert inside a replace',
      [
        { type: 'insert', line: check(3), content: 'x' },
        { type: 'replace', start_line: check(2), end_line: check(3), content: 'y' },
      ],
    ],
  ])('overlap: %s', (_name, operations) => {
    const outcome = run(operations);
    expect(outcome.outcome).toBe('refused');
    expect(codes(outcome)).toContain('overlap');
  });

  test('each that overlaps is told, with the one that reaches furthest before it', () => {
    const replace = (start: number, end: number): Op => ({
      type: 'replace',
      start_line: check(start),
      end_line: check(end),
      content: 'x',
    });
    const told = (...operations: Op[]): string[] => {
      const outcome = run(operations);
      return 'reasons' in outcome
        ? outcome.reasons.map(({ message }) => message.replace(/ in f\..*/, ''))
        : [];
    };
    expect(told(replace(1, 5), replace(2, 3), replace(4, 4))).toEqual([
      'Operation 2 (line 1 of the answer): The replace at line 2 overlaps operation 1 (lines 1 to 5)',
      'Operation 3 (line 1 of the answer): The replace at line 4 overlaps operation 1 (lines 1 to 5)',
    ]);
    expect(told(replace(5, 6), replace(1, 2), replace(4, 5))).toEqual([
      'Operation 3 (line 1 of the answer): The replace at line 5 overlaps operation 1 (lines 4 to 5)',
    ]);
    expect(told(replace(1, 3), replace(2, 3), replace(3, 3))).toEqual([
      'Operation 2 (line 1 of the answer): The replace at line 2 overlaps operation 1 (lines 1 to 3)',
      'Operation 3 (line 1 of the answer): The replace at line 3 overlaps operation 1 (lines 1 to 3)',
    ]);
  });

  test('inserts at both borders of a range are no overlap', () => {
    const outcome = run([
      { type: 'insert', line: check(2), content: 'before' },
      { type: 'insert', line: check(4), content: 'after' },
      { type: 'delete', start_line: check(2), end_line: check(3) },
    ]);
    expect(linesOf(outcome)).toEqual(['zero', 'before', 'after', ...LINES.slice(3)]);
  });
});

describe('content', () => {
  test('"" is no lines, "\\n" one empty line, one trailing line end is optional', () => {
    const at = { type: 'replace', start_line: check(2), end_line: check(2) };
    expect(linesOf(run([{ ...at, content: '' }]))).toEqual(without(2));
    expect(linesOf(run([{ ...at, content: '\n' }]))[1]).toBe('');
    expect(linesOf(run([{ ...at, content: 'x\r\ny' }])).slice(1, 3)).toEqual(['x', 'y']);
    expect(linesOf(run([{ ...at, content: 'x\ny\n' }]))).toEqual(
      linesOf(run([{ ...at, content: 'x\ny' }])),
    );
  });

  test.each(['insert', 'append', 'prepend'])('empty content of %s is invalid', (type) => {
    const outcome = run([
      { type: 'delete', start_line: 1, end_line: 1 },
      { type, content: '', ...(type === 'insert' ? { line: 1 } : {}) },
    ]);
    expect(outcome).toMatchObject({
      outcome: 'invalid',
      reasons: [{ code: 'empty_content', index: 1 }],
    });
  });
});

describe('where an operation means', () => {
  const replace = (start: unknown, end: unknown, more: Op = {}): Op => ({
    type: 'replace',
    start_line: start,
    end_line: end,
    content: 'X',
    ...more,
  });

  test('checks at both ends', () => {
    const outcome = run([replace(check(2), check(4))]);
    expect(linesOf(outcome)).toEqual(['zero', 'X', ...LINES.slice(4)]);
    expect(outcome).toMatchObject({ tolerances: [] });
  });

  test('one right check moves nothing, wherever it stands', () => {
    expect(codes(run([replace(drifted(4, 2), drifted(4, 2))]))).toEqual(['check_mismatch']);
  });

  test('two checks, or a check and context, drift by themselves', () => {
    const tolerances = [{ tolerance: 'line_drift', path: 'f', index: 0, line: 4 }];
    expect(run([replace(drifted(4, 2), drifted(5, 3))])).toMatchObject({
      outcome: 'edited',
      tolerances,
    });
    const context_after = '}\nthree\n';
    expect(run([replace(drifted(4, 2), drifted(4, 2), { context_after })])).toMatchObject({
      outcome: 'edited',
      tolerances,
    });
  });

  test('a check that fits nowhere is refused with the line that stands there', () => {
    const outcome = run([replace('2zzz', '2zzz')]);
    expect(codes(outcome)).toEqual(['check_mismatch']);
    expect('reasons' in outcome && outcome.reasons[0]?.message).toContain(check(2));
  });

  test('a check too far off is not believed', () => {
    const many = Array.from({ length: 100 }, (_, i) => `line ${i}`);
    const file = { bytes: Buffer.from(`${many.join('\n')}\n`) };
    const far = `1${check(90, many).slice(-3)}`;
    expect(codes(run([replace(far, far)], {}, file))).toEqual(['check_mismatch']);
  });

  test('one end right and the other wrong is refused', () => {
    expect(codes(run([replace(check(2), '4zzz')]))).toEqual(['check_mismatch']);
  });

  test('bare numbers need context, or are the tolerance unchecked_lines', () => {
    expect(run([replace(4, 4, { context_before: '' })])).toMatchObject({
      tolerances: [{ tolerance: 'unchecked_lines', line: 4 }],
    });
    expect(run([replace(4, 4, { context_after: '}\nthree\n' })])).toMatchObject({
      outcome: 'edited',
      tolerances: [{ tolerance: 'unchecked_lines', line: 4 }],
    });
    const context_before = 'one\n\n';
    expect(run([replace(4, 4, { context_before, context_after: '}\nthree\n' })])).toMatchObject({
      outcome: 'edited',
      tolerances: [],
    });
    expect(run([replace(check(2), 4)])).toMatchObject({
      tolerances: [{ tolerance: 'unchecked_lines' }],
    });
    expect(codes(run([replace(4, 4)], { tolerances: { unchecked_lines: false } }))).toEqual([
      'unchecked_lines',
    ]);
  });

  test('context that stands elsewhere once moves an insert or a range only on both sides', () => {
    const insert = { type: 'insert', line: 2, content: 'X', context_before: 'three' };
    expect(codes(run([insert]))).toEqual(['context_mismatch']);
    const moved = run([{ ...insert, context_after: '}\nfour' }]);
    expect(moved).toMatchObject({ outcome: 'edited', tolerances: [{ tolerance: 'line_drift' }] });
    expect(codes(run([replace(2, 2, { context_before: 'three' })]))).toEqual(['context_mismatch']);
    expect(
      linesOf(run([replace(2, 2, { context_before: 'three', context_after: 'four' })]))[6],
    ).toBe('X');
  });

  test('context that stands in several places is refused', () => {
    expect(codes(run([{ type: 'insert', line: 2, content: 'X', context_before: '}' }]))).toEqual([
      'context_mismatch',
    ]);
  });

  test('context beyond the file is refused', () => {
    expect(codes(run([{ type: 'prepend', content: 'X', context_before: 'zero' }]))).toEqual([
      'context_mismatch',
    ]);
    expect(run([{ type: 'append', content: 'X', context_before: 'four' }]).outcome).toBe('edited');
  });

  test('white space at line ends of a context is a tolerance', () => {
    expect(
      run([replace(4, 4, { context_before: 'one\n\n', context_after: '}  \nthree\n' })]),
    ).toMatchObject({
      tolerances: [{ tolerance: 'trailing_space' }],
    });
    expect(
      codes(
        run([replace(4, 4, { context_after: '}  \nthree\n' })], {
          tolerances: { trailing_space: false },
        }),
      ),
    ).toEqual(['context_mismatch']);
  });

  /** `lines` as the file; the message of the first reason, or the first changed line and the tolerances. */
  const where = (lines: string, operation: Op, options: Partial<ApplyOptions> = {}): string => {
    const outcome = run([{ content: 'X', ...operation }], options, {
      bytes: Buffer.from(lines.replaceAll('|', '\n') + '\n'),
    });
    const [why] = 'reasons' in outcome ? outcome.reasons : [];
    if (outcome.outcome !== 'edited')
      return why?.message.replace(/^Operation 1 \(line 1 of the answer\): /, '') ?? '';
    return `${linesOf(outcome).indexOf('X') + 1} ${outcome.tolerances.map(({ tolerance }) => tolerance).join(' ')}`.trim();
  };
  const checkIn = (lines: string, line: number, as = line): string =>
    `${as}${check(line, lines.split('|')).slice(-3)}`;

  test('what is said of an end of the file means no other place', () => {
    const contexts = { context_before: 'zero\none', context_after: '\ntwo' };
    expect(codes(run([{ type: 'append', content: 'X', ...contexts }]))).toEqual([
      'context_mismatch',
    ]);
    expect(codes(run([{ type: 'prepend', content: 'X', ...contexts }]))).toEqual([
      'context_mismatch',
    ]);
    expect(linesOf(run([{ type: 'insert', line: 5, content: 'X', ...contexts }]))[2]).toBe('X');
  });

  test('two other places are told', () => {
    const insert = { type: 'insert', line: 1, context_before: 'a', context_after: 'b' };
    expect(where('x|a|b|y|a|b', insert)).toContain(
      ' What it quotes occurs in more than one other place, for example at lines 3 and 6. ',
    );
    expect(where('x|a|b|y', insert, { tolerances: { line_drift: false } })).toContain(
      ' All that it quotes occurs together at line 3. ',
    );
  });

  test('parts that stand in other places too prove less', () => {
    const insert = { type: 'insert', line: 1, context_before: 'a', context_after: 'b' };
    expect(where('x|a|y|b|a|b', insert)).toBe('6 line_drift unchecked_lines');
    expect(where('x|y|a|b', insert)).toBe('4 line_drift');
    expect(where('x|a|y|b|a|b', insert, { tolerances: { unchecked_lines: false } })).toMatch(
      /^`context_before` of the insert/,
    );
  });

  test('an operation moves by up to 100 lines', () => {
    const far = (line: number): string =>
      where([...new Array<string>(line - 2).fill('q'), 'a', 'b', 'c'].join('|'), {
        type: 'insert',
        line: 3,
        context_before: 'a',
        context_after: 'b',
      });
    expect(far(103)).toBe('103 line_drift');
    expect(far(104)).toMatch(/^`context_before` of the insert/);
  });

  test('checks that stand at their numbers, all of them, move nothing', () => {
    const lines = 'x|p|a|b|q|r|p|a|b|q|s';
    const range = { type: 'replace', start_line: checkIn(lines, 3), end_line: checkIn(lines, 4) };
    expect(where(lines, { ...range, context_after: 'q\ns' })).toMatch(
      /^`context_after` of the replace at line 3/,
    );
    // The check of its end stands elsewhere alone, as all of it does.
    const other = 'x|p|a|b|q|r|p|a|b|z';
    const end = checkIn(other, 9, 4);
    expect(where(other, { ...range, end_line: end, context_before: 'r\np' })).toBe(
      '8 line_drift unchecked_lines',
    );
  });

  test.each<[string, string, Op, RegExp]>([
    [
      'the line that differs',
      'a|b|c|d|e',
      { type: 'insert', line: 2, context_after: 'b\nc\nx' },
      /^`context_after` of the insert at line 2 is not there: line 4 differs in text: expected "x", found "d"\. /,
    ],
    [
      'one before it',
      'a|b|c|d|e',
      { type: 'insert', line: 4, context_before: 'a\nx\nc' },
      /^`context_before` of the insert at line 4 is not there: line 2 differs in text: expected "x", found "b"\. /,
    ],
    [
      'a line before the first',
      'a|b',
      { type: 'insert', line: 2, context_before: 'x\na' },
      /is not there: expected "x" before the first line of the file\. /,
    ],
    [
      'a line behind the last',
      'a|b',
      { type: 'insert', line: 1, context_after: 'a\nb\nx' },
      /is not there: expected "x" after the last line of the file\. /,
    ],
    [
      'a check of no line',
      'a|b',
      { type: 'insert', line: '3zzz' },
      /^The insert quotes 3zzz, but there is no such line\./,
    ],
    [
      'the check of an end',
      'a|b|c',
      { type: 'replace', start_line: checkIn('a|b|c', 1), end_line: '3zzz' },
      /^The replace quotes 3zzz, but that line is 3[a-z]{3}\| "c"\./,
    ],
    [
      'a bare number',
      'a|b',
      { type: 'insert', line: 2 },
      /names line 2 by number only\. .*"2[a-z]{3}"/,
    ],
    [
      'one line too far',
      'a|b',
      { type: 'replace', start_line: 3, end_line: 3 },
      /names line 3; f has 2 lines, .* is 2\./,
    ],
    [
      'two',
      'a|b',
      { type: 'replace', start_line: 2, end_line: 3 },
      /names lines 2 to 3; f has 2 lines, .* is 2\./,
    ],
    [
      'an insert too far',
      'a|b',
      { type: 'insert', line: 4 },
      /names line 4; f has 2 lines, .* is 3\./,
    ],
  ])('told: %s', (_name, lines, operation, message) => {
    expect(where(lines, operation, { tolerances: { unchecked_lines: false } })).toMatch(message);
  });

  test.each([
    [{ type: 'insert', line: 10, content: 'x' }],
    [{ type: 'replace', start_line: 8, end_line: 9, content: 'x' }],
    [{ type: 'delete', start_line: 900, end_line: 900 }],
  ])('out of range: %j', (operation) => {
    expect(codes(run([operation]))).toEqual(['out_of_range']);
  });
});

describe('unseen lines', () => {
  const seen = [
    [1, 3],
    [6, 8],
  ] as const;
  test.each<[string, Op, boolean]>([
    ['inside a shown range', { type: 'delete', start_line: check(6), end_line: check(7) }, true],
    ['reaching out of one', { type: 'delete', start_line: check(3), end_line: check(4) }, false],
    ['across a gap', { type: 'delete', start_line: check(2), end_line: check(7) }, false],
    ['an insert at a border', { type: 'insert', line: check(4), content: 'x' }, true],
    ['an insert in the gap', { type: 'insert', line: check(5), content: 'x' }, false],
    ['an insert at the first border', { type: 'insert', line: check(6), content: 'x' }, true],
    ['an append', { type: 'append', content: 'x' }, true],
  ])('%s', (_name, operation, ok) => {
    const outcome = run([operation], {}, { seen });
    expect(outcome.outcome === 'edited' ? [] : codes(outcome)).toEqual(ok ? [] : ['unseen_lines']);
  });
  test('ranges that touch are one; a prepend needs none', () => {
    const both = { type: 'delete', start_line: check(4), end_line: check(5) };
    expect(
      run(
        [both],
        {},
        {
          seen: [
            [4, 4],
            [5, 8],
          ],
        },
      ).outcome,
    ).toBe('edited');
    expect(
      codes(
        run(
          [both],
          {},
          {
            seen: [
              [3, 4],
              [6, 8],
            ],
          },
        ),
      ),
    ).toEqual(['unseen_lines']);
    expect(run([{ type: 'prepend', content: 'x' }], {}, { seen: [[4, 5]] }).outcome).toBe('edited');
  });
  test('at most thirty ranges are told', () => {
    const many = Array.from(
      { length: 31 },
      (_, i) => [10 * i + 10, 10 * i + 10 + (i % 2)] as const,
    );
    const outcome = run(
      [{ type: 'delete', start_line: check(1), end_line: check(1) }],
      {},
      { seen: many },
    );
    expect('reasons' in outcome && outcome.reasons[0]?.message).toMatch(
      /touches line 1 of f, .* Shown are the lines 10, 20-21, 30, .*, 290, 300-301\. Edit only those\.$/,
    );
  });
});

test.each<[string, readonly [number, number], Op, boolean]>([
  ['a line inside', [2, 4], { type: 'delete', start_line: check(2), end_line: check(4) }, true],
  ['a line before', [2, 4], { type: 'delete', start_line: check(1), end_line: check(2) }, false],
  ['a line behind', [2, 4], { type: 'delete', start_line: check(4), end_line: check(5) }, false],
  ['an insert before the first', [2, 4], { type: 'insert', line: check(2), content: 'x' }, true],
  ['an insert before the last', [2, 4], { type: 'insert', line: check(4), content: 'x' }, true],
  ['an insert behind the last', [2, 4], { type: 'insert', line: check(5), content: 'x' }, false],
  ['an insert far before', [5, 8], { type: 'insert', line: check(2), content: 'x' }, false],
  [
    'an insert behind the last line of the file',
    [5, 8],
    { type: 'insert', line: 9, content: 'x' },
    true,
  ],
  ['an append in the last region', [5, 8], { type: 'append', content: 'x' }, true],
  ['an append in another', [1, 4], { type: 'append', content: 'x' }, false],
  ['a prepend in the first region', [1, 4], { type: 'prepend', content: 'x' }, true],
  ['a prepend in another', [5, 8], { type: 'prepend', content: 'x' }, false],
])('a call for a part of the file: %s', (_name, region, operation, ok) => {
  const outcome = run([operation], {}, { region });
  expect(outcome.outcome === 'edited' ? [] : codes(outcome)).toEqual(ok ? [] : ['unseen_lines']);
});

describe('what is not a structured edit', () => {
  const answer = (text: string): AnswerOutcome =>
    applyAnswer({
      format: 'structured-edit',
      answer: text,
      files: new Map([['f', { bytes: Buffer.from('a\n') }]]),
      options: { requireMarker: true },
    });
  const good = '{"operations":[{"type":"append","file_path":"f","content":"b"}],"complete":true}';

  test.each<[string, string, string, string]>([
    ['cut in a string', good.slice(0, 30), 'truncated', 'cut_inside_string'],
    ['cut in a bracket', good.slice(0, -1), 'truncated', 'cut_inside_bracket'],
    ['text after it', `${good} and more`, 'invalid', 'not_json'],
    ['two objects', `${good}\n${good.slice(1)}`, 'invalid', 'not_json'],
    [
      'a key given twice',
      good.replace('"content"', '"type":"append","content"'),
      'invalid',
      'not_json',
    ],
    ['an unknown operation', good.replace('append', 'move'), 'invalid', 'unknown_operation'],
    ['an unknown key', good.replace('"content"', '"contents"'), 'invalid', 'unknown_key'],
    ['a wrong type', good.replace('"b"', '7'), 'invalid', 'wrong_type'],
    ['no operations', '{"complete":true}', 'invalid', 'no_operations'],
    ['no marker', good.replace(',"complete":true', ''), 'unmarked', 'marker_missing'],
    ['complete: false', good.replace('true}', 'false}'), 'unmarked', 'marker_wrong'],
    [
      'the marker before the operations',
      `{"complete":true,${good.slice(1).replace(',"complete":true', '')}`,
      'unmarked',
      'marker_wrong',
    ],
    ['a fence that is not closed', `\`\`\`json\n${good}`, 'truncated', 'cut_inside_fence'],
    ['no JSON at all', 'I cannot do that.', 'invalid', 'not_json'],
    [
      'lines beside a symbol',
      good.replace('"content"', '"at":{"symbol":"A.b"},"content"'),
      'invalid',
      'unknown_key',
    ],
  ])('%s', (_name, text, outcome, code) => {
    const result = answer(text);
    expect(result.outcome).toBe(outcome);
    expect(codes(result)).toContain(code);
  });

  test.each([
    good,
    `\`\`\`json\n${good}\n\`\`\`\n`,
    `Here {is} it:\n\n${good}\n`,
    `Text\n\`\`\`\n${good}\n\`\`\``,
  ])('read: %j', (text) => {
    expect(answer(text).outcome).toBe('edited');
  });

  test('no operation at all is invalid, and unchanged where the answer says why', () => {
    const said = (reason: string) => answer(`{"operations":[],"reason":${reason},"complete":true}`);
    expect(answer('{"operations":[],"complete":true}')).toMatchObject({
      outcome: 'invalid',
      reasons: [{ code: 'no_edits' }],
    });
    for (const none of ['""', '" "', 'null', '7']) expect(said(none).outcome).toBe('invalid');
    expect(said('"done"')).toEqual({
      outcome: 'unchanged',
      reasons: [{ code: 'said_unchanged', message: 'done' }],
    });
  });

  test('where the answer breaks is told by its line, and is no cut', () => {
    const read = (body: string) => readOne(structuredEdit, body, contextOf({ f: 'a\n' }));
    expect(read(`${good}\n \n`).kind).toBe('plans');
    expect(read(`${good}\n\nx`)).toEqual({
      kind: 'invalid',
      open: false,
      reasons: [
        {
          code: 'not_json',
          message:
            'The answer is not one JSON object: line 1: text follows after the JSON object. Send the JSON object alone.',
        },
      ],
    });
    expect(whyNot(read('{\n"operations": nothing}'))).toContain('line 2: ');
    expect(read('{"operations": 1}')).toMatchObject({ kind: 'invalid', open: false });
    expect(read('{"operations": [')).toMatchObject({ kind: 'invalid', open: true });
  });

  test('operations are counted, and the files that they name', () => {
    const operations = ['f', 'g', 'f'].map((file_path) => ({
      type: 'append',
      file_path,
      content: 'b',
    }));
    expect(
      readResponse(structuredEdit, JSON.stringify({ operations }), contextOf({ f: '', g: '' })),
    ).toMatchObject({
      files: 2,
      edits: 3,
    });
  });

  test('at most twenty refusals are told', () => {
    const operations = new Array<Op>(25).fill({ type: 'delete', start_line: 900, end_line: 900 });
    expect(codes(run(operations))).toHaveLength(20);
  });

  test('hostile nesting is refused, not a crash', () => {
    expect(answer(`{"operations":${'['.repeat(100_000)}`).outcome).toBe('invalid');
  });
});

test('marks of shown tabs are taken off', () => {
  const file = { bytes: Buffer.from('a {\n\tb\n}\n') };
  const outcome = run(
    [{ type: 'insert', line: 3, content: '→\tc\n', context_before: '→\tb' }],
    {},
    file,
  );
  expect(linesOf(outcome)).toEqual(['a {', '\tb', '\tc', '}']);
  expect(outcome).toMatchObject({ notes: [{ code: 'tab_marks' }] });
  const some = run(
    [
      { type: 'append', content: 'x' },
      { type: 'append', content: '→\ty' },
    ],
    {},
    file,
  );
  expect(linesOf(some)).toEqual(['a {', '\tb', '}', 'x', '\ty']);
  // A context is one with and without them.
  for (const key of ['context_before', 'context_after'])
    expect(
      codes(run([{ type: 'insert', line: 3, content: 'x', [key]: '→\tz' }], {}, file)),
    ).toEqual(['context_mismatch']);
});

test('a new file is made of prepends, inserts at line 1 and appends', () => {
  const outcome = run(
    [
      { type: 'append', content: 'c' },
      { type: 'insert', line: 1, content: 'b' },
      { type: 'prepend', content: 'a' },
    ],
    {},
    { bytes: null },
  );
  expect(linesOf(outcome)).toEqual(['a', 'b', 'c']);
});
