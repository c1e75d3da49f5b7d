/** Drawn responses: thinking of every shape around two edits, whose content may hold tags. A draft is never applied, and never one edit alone. */
import { describe, expect, test } from '@jest/globals';
import { applyAnswer } from '../../src/edits/index.js';
import { DIALECTS, FORMATS, type AnswerFormat } from '../../src/shared/formats.js';
import { drawn, randomFrom } from '../support/seeded.js';
import { apply, SAY, type LineEdit } from './formats.js';

const ALL: readonly AnswerFormat[] = [...FORMATS, ...DIALECTS];
const SEED = 53;
const ROUNDS = drawn(250, 2_500);
const LINES = 6;

const CONTENT = [
  '<think>',
  '</think>',
  "const E = '</think>';",
  'x <think> y',
  '<!-- c',
  '-->',
  '<!-- one -->',
  '  <thinking>',
  '</reasoning>',
  '- item </think>',
  'plain',
  '',
];
const PROSE = [
  'Here is the change.\n',
  'I strip <think> now.\n',
  'The `</think>` tag.\n',
  '- item one\n- item two\n',
  'Note: see <!-- a --> too.\n',
  '\n',
  'Example:\n\n```\ncode\n```\n\n',
  'It ends at "</think>" always.\n',
];
type Files = Readonly<Record<string, readonly string[]>>;

/** Draws the parts of one response. */
class Responses {
  readonly #random: () => number;
  readonly #format: AnswerFormat;

  constructor(format: AnswerFormat, seed: number) {
    this.#format = format;
    this.#random = randomFrom(seed);
  }

  happens(share: number): boolean {
    return this.#random() < share;
  }
  pick<T>(items: readonly [T, ...T[]] | readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)]!;
  }
  files(): Files {
    const lines = (name: string): string[] =>
      Array.from(
        { length: LINES },
        (_, index) => `${name}${index} ${this.happens(0.4) ? this.pick(CONTENT) : 'text'}`,
      );
    return { 'a.txt': lines('a'), 'b.txt': lines('b'), 'c.txt': lines('c') };
  }
  edit(word: string, hasTags: boolean): LineEdit[] {
    const from = Math.floor(this.#random() * (LINES - 1));
    const tag = hasTags && this.happens(0.5) ? ` ${this.pick(CONTENT)}` : '';
    const more = hasTags && this.happens(0.4) ? [this.pick(CONTENT)] : [];
    return [{ from, to: from + 1, lines: [`${word}${tag}`, ...more] }];
  }
  /** The edit without the marker of its answer; in JSON the last one keeps it. */
  write(path: string, files: Files, edits: readonly LineEdit[], isLast: boolean): string {
    const careful = this.happens(0.7);
    const answer = SAY[this.#format](path, files[path] ?? [], edits, { careful });
    if (this.#format !== 'structured-edit' && this.#format !== 'string-replace')
      return answer.replace(/EMEND-COMPLETE .*\n/, '');
    return `${isLast ? answer : answer.replace(/,"complete":true\}$/, '}')}\n`;
  }
  draft(files: Files): string {
    const path = this.pick(['a.txt', 'b.txt', 'c.txt']);
    const text = this.write(path, files, this.edit('DRAFT', false), false);
    const fenced = this.happens(0.2) ? `\`\`\`\n${text}\`\`\`\n` : text;
    return this.happens(0.1)
      ? `${fenced.slice(0, Math.floor(this.#random() * fenced.length))}\n`
      : fenced;
  }
  thinking(files: Files): string {
    const isComment = this.happens(0.25);
    const name = this.pick(['think', 'thinking', 'reasoning', 'THINK']);
    const opening = isComment ? '<!--' : `<${name}${this.pick(['', '', ' a="1"'])}>`;
    const closing = isComment ? '-->' : `</${name}>`;
    const before = ['Maybe:\n', '', 'Hm. ', 'I could do `<think>` this.\n', 'The <think> tag.\n'];
    const text =
      this.pick(before) +
      (this.happens(0.85) ? this.draft(files) : '') +
      this.pick(['No.\n', '', 'But no. ', '\n']);
    return [
      this.pick(['', '', '', 'Let me see. ', 'So: ', 'Hm ']),
      opening,
      this.pick(['\n', '\n', ' ', '']),
      isComment ? text.replaceAll('-->', '') : text,
      this.pick(['', '\n']),
      closing,
      this.pick(['\n', '\n', '\n\n', ' ', ' So now:\n']),
    ].join('');
  }
  around(files: Files): string {
    const prose = (): string => (this.happens(0.3) ? this.pick(PROSE) : '');
    return prose() + (this.happens(0.45) ? this.thinking(files) : '') + prose();
  }
}

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

describe.each(ALL)('%s', (format) => {
  test('applies no draft, and both edits or none', () => {
    const responses = new Responses(format, SEED);
    const wrong: unknown[] = [];
    let edited = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const files = responses.files();
      const hasTags = responses.happens(0.5);
      const [first, second] = [responses.edit('ONE', hasTags), responses.edit('TWO', hasTags)];
      const parts = [
        responses.happens(0.1) ? `Maybe:\n${responses.draft(files)}No.\n</think>\n` : '',
        responses.around(files),
        responses.write('a.txt', files, first, false),
        responses.around(files),
        responses.write('b.txt', files, second, true),
        responses.around(files),
      ];
      const plain = parts.join('');
      const answer = responses.happens(0.08) ? `\`\`\`\`\n${plain}\`\`\`\`\n` : plain;
      const outcome = applyAnswer({
        format,
        answer,
        files: new Map(
          Object.entries(files).map(([path, lines]) => [
            path,
            { bytes: Buffer.from(textOf(lines)) },
          ]),
        ),
        options: { requireMarker: false, allowDelete: true, mayCreateUnder: [''] },
      });
      if (outcome.outcome !== 'edited') continue;
      edited += 1;
      const result = Object.fromEntries(
        [...outcome.files].map(([path, file]) => [
          path,
          file === 'absent' ? file : Buffer.from(file.bytes).toString(),
        ]),
      );
      const expected = {
        'a.txt': textOf(apply(files['a.txt'] ?? [], first)),
        'b.txt': textOf(apply(files['b.txt'] ?? [], second)),
      };
      const isRight =
        Object.keys(result).length === 2 &&
        result['a.txt'] === expected['a.txt'] &&
        result['b.txt'] === expected['b.txt'];
      if (!isRight) wrong.push({ answer, result, expected });
    }
    expect(wrong).toEqual([]);
    expect(edited).toBeGreaterThan(ROUNDS / 10);
  });
});
