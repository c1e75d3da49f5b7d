/** docs/formats.md: each example is run, and each refusal has its row. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { applyAnswer, detectFormat, type OfferedFile } from '../../src/edits/index.js';
import { DIALECTS, FORMATS, TOLERANCES, type AnswerFormat } from '../../src/shared/formats.js';
import { readScenario, scenarioNames } from './scenario-run.js';

const DOC = readFileSync('docs/formats.md', 'utf8');

interface Example {
  readonly line: number;
  readonly bases: Record<string, string>;
  format: string;
  answer: string;
  readonly results: Record<string, string>;
  readonly refusal: string[];
}

/** Fenced blocks in order: bases, an answer, then results or a refusal; a base after those begins the next example. */
const examples = (): Example[] => {
  const found: Example[] = [];
  for (const block of DOC.matchAll(
    /^```text (base|answer|result|refusal)(?:=(\S+))?\n([^]*?)^```$/gm,
  )) {
    const [, kind = '', name = '', text = ''] = block;
    const last = found.at(-1);
    const ended = last === undefined || Object.keys(last.results).length + last.refusal.length > 0;
    if (kind === 'base' && ended) {
      const line = DOC.slice(0, block.index).split('\n').length;
      found.push({ line, bases: {}, format: '', answer: '', results: {}, refusal: [] });
    }
    const example = found.at(-1)!;
    if (kind === 'base') example.bases[name] = text;
    else if (kind === 'answer') [example.format, example.answer] = [name, text];
    else if (kind === 'result') example.results[name] = text;
    else example.refusal.push(...text.trim().split('\n'));
  }
  return found;
};
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('docs/formats.md', () => {
  test('has an example of each format, and refusals', () => {
    const formats = new Set(examples().map(({ format }) => format));
    expect([...FORMATS, ...DIALECTS].filter((format) => !formats.has(format))).toEqual([]);
    expect(examples().filter(({ refusal }) => refusal.length > 0).length).toBeGreaterThanOrEqual(5);
    // Every block that says what it is belongs to an example.
    expect(DOC.match(/^```text \S/gm)?.length).toBe(
      examples().reduce(
        (n, { bases, results, refusal }) =>
          n +
          Object.keys({ ...bases }).length +
          Object.keys(results).length +
          1 +
          Math.min(1, refusal.length),
        0,
      ),
    );
  });

  test.each(examples().map((example) => [example.line, example.format, example] as const))(
    'the example at line %d (%s) is as it says',
    (_line, format, example) => {
      const { bases, answer, results, refusal } = example;
      expect(detectFormat(answer)).toBe(format);
      const files = new Map<string, OfferedFile>(
        Object.entries(bases).map(([path, text]) => [path, { bytes: utf8(text), mode: 0o644 }]),
      );
      const outcome = applyAnswer({
        format: format as AnswerFormat,
        answer,
        files,
        options: { requireMarker: false, allowDelete: true, mayCreateUnder: [''] },
      });
      if (outcome.outcome !== 'edited') {
        expect(outcome.reasons.map(({ code }) => code)).toEqual(refusal);
        return;
      }
      const made = [...outcome.files].map(([path, file]) => [
        path,
        file === 'absent' ? 'absent' : new TextDecoder().decode(file.bytes),
      ]);
      expect(Object.fromEntries(made)).toEqual(results);
      expect(refusal).toEqual([]);
    },
  );

  test('names every tolerance, and every code that the engine or a scenario says', () => {
    const codes = new Set<string>();
    const files = readdirSync('src/edits', { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => name.endsWith('.ts')))
      for (const [, code] of readFileSync(`src/edits/${file}`, 'utf8').matchAll(
        /(?:\bcode: |\b(?:refuse|refusal|invalid|fault|bad)\(\s*)'([a-z]+(?:_[a-z]+)*)'/g,
      ))
        codes.add(code!);
    for (const name of scenarioNames())
      for (const { code } of readScenario(name).refusal?.reasons ?? []) codes.add(code);
    // Not codes of reasons, but words that the pattern finds: what a reader counts, and outcomes.
    for (const word of ['characters', 'lines', 'prose', 'declined']) codes.delete(word);
    expect(codes.size).toBeGreaterThan(60);
    const isSaid = (code: string): boolean =>
      DOC.includes(`\`${code}\``) ||
      (code.startsWith('cut_inside_') && DOC.includes('`cut_inside_*`'));
    expect([...codes].filter((code) => !isSaid(code)).sort()).toEqual([]);
    expect(
      Object.keys(TOLERANCES).filter((tolerance) => !DOC.includes(`\`${tolerance}\``)),
    ).toEqual([]);
  });
});
