import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { CONFIG_KEYS, parseConfig } from '../../../src/documents/job/config.js';
import { JOB_KEYS } from '../../../src/documents/job/job-keys.js';
import { parseJob } from '../../../src/documents/job/job.js';
import { DEFAULT_MODELS } from '../../../src/documents/job/models.js';
import { DEFAULT_PROTECTED } from '../../../src/documents/job/protected-patterns.js';
import { TOLERANCES } from '../../../src/shared/formats.js';
import { LIMITS } from '../../../src/shared/limits.js';

const read = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url)), 'utf8');
const jobs = read('jobs.md');
const configuration = read('configuration.md');

/** Cells of the table row whose first cell is `name`; prettier may have padded them. */
const row = (text: string, name: string): readonly string[] | undefined =>
  text
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .find((cells) => cells[0] === '' && cells[1] === `\`${name}\``)
    ?.slice(2, -1);
const fences = (text: string, language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    (match) => match[1] ?? '',
  );

describe('the docs say what the code does', () => {
  test.each(Object.entries(LIMITS))('limit %s with default, unit and range', (name, limit) => {
    const wanted = [
      limit.default === null ? 'none' : String(limit.default),
      limit.unit,
      `${limit.min} to ${limit.max}`,
      limit.what,
    ];
    expect(row(configuration, name)).toEqual(wanted);
  });

  test.each(Object.entries(TOLERANCES))('tolerance %s with default', (name, tolerance) => {
    expect(row(configuration, name)).toEqual([`\`${tolerance.default}\``, tolerance.what]);
  });

  test.each(Object.entries(DEFAULT_MODELS))('model %s with prices and sizes', (name, entry) => {
    const { input_usd, output_usd, cacheRead_usd, cacheWrite_usd } = entry;
    const { context_tokens, maxOutput_tokens, thinking } = entry;
    const prices = [input_usd, output_usd, cacheRead_usd, cacheWrite_usd];
    const wanted = [...prices, context_tokens, maxOutput_tokens, thinking].map(String);
    expect(row(configuration, name)).toEqual(wanted);
    for (const { source, date } of entry.priced === null ? [] : [entry.priced]) {
      expect(configuration).toContain(source.replace(' (PyPI)', ''));
      expect(configuration).toContain(date);
    }
  });

  test.each(JOB_KEYS)('job key %s with type, default and example', (key) => {
    expect(row(jobs, key)?.filter((cell) => cell !== '')).toHaveLength(3);
    expect(fences(jobs, 'yaml').join('\n')).toMatch(new RegExp(`^${key}:`, 'm'));
  });

  test.each(CONFIG_KEYS)('key %s of emend.yaml with type, default and example', (key) => {
    expect(row(configuration, key)?.filter((cell) => cell !== '')).toHaveLength(3);
    expect(fences(configuration, 'yaml').join('\n')).toMatch(new RegExp(`^${key}:`, 'm'));
  });

  test('every protected path that is named is a default', () => {
    const section = /## Protected paths[^]*?By default:([^]*?)\n\n/.exec(configuration)?.[1] ?? '';
    const named = [...section.matchAll(/`([^`]+)`/g)]
      .map((m) => m[1])
      .filter((p) => p !== '.envrc');
    expect(named.length).toBeGreaterThan(20);
    expect(DEFAULT_PROTECTED).toEqual(expect.arrayContaining(named));
  });
});

describe('the examples in the docs are accepted', () => {
  test.each(fences(jobs, 'yaml').filter((yaml) => !yaml.includes('format:')))('job %#', (yaml) => {
    expect(parseJob(`---\n${yaml}---\n# Do it\n`, 'a.md')).toMatchObject({ ok: true });
  });
  test('the whole job and the one with every edit key', () => {
    for (const source of [
      fences(jobs, 'markdown')[0] ?? '',
      `---\n${fences(jobs, 'yaml')[0] ?? ''}---\n# Do it\n`,
    ])
      expect(parseJob(source, 'a.md')).toMatchObject({ ok: true });
  });
  test.each(fences(configuration, 'yaml'))('emend.yaml %#', (yaml) => {
    expect(parseConfig(yaml)).toMatchObject({ ok: true });
  });
});
