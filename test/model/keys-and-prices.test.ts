import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { nonceFor, callKey } from '../../src/model/journal/records.js';
import { usdOf } from '../../src/model/prices.js';
import { route } from '../../src/documents/job/routing.js';
import type { CallKeyParts } from '../../src/model/ports.js';
import { addUsage, NO_USAGE, sumUsage } from '../../src/shared/usage.js';
import { keyParts } from './support.js';

describe('call key', () => {
  test('is what it has always been', () => {
    // Kept answers are found by it: a change of this value pays for every open step again.
    expect(callKey(keyParts)).toBe(
      createHash('sha256')
        .update(
          `{"bases":["absent"],"file":"src/a.ts","format":"whole-file","instructions":"sha256:${'0'.repeat(64)}",` +
            '"model":"rehearsal","notes":null,"outputBudget_tokens":1000,"refusal":null,"regeneration":0,"region":"*","role":"edit",' +
            '"stepKey":"00112233445566778899aabbccddeeff"}',
        )
        .digest('hex'),
    );
  });
  test('every field counts, and nothing else does', () => {
    const ref = `sha256:${'1'.repeat(64)}` as const;
    const changes: Partial<CallKeyParts>[] = [
      { stepKey: '1'.repeat(32) },
      { role: 'brief' },
      { file: '*' },
      { region: 'a' },
      { regeneration: 1 },
      { bases: ['absent', 'absent'] },
      { format: 'unified-diff' },
      { model: 'other' },
      { outputBudget_tokens: 2000 },
      { instructions: ref },
      { notes: ref },
      { refusal: ref },
    ];
    const keys = changes.map((change) => callKey({ ...keyParts, ...change }));
    expect(new Set([callKey(keyParts), ...keys]).size).toBe(changes.length + 1);
    expect(new Set(changes.flatMap((c) => Object.keys(c)))).toEqual(new Set(Object.keys(keyParts)));
    const more = { ...keyParts, v: 7, attempt: 3, brief: 'x' };
    expect(callKey(more)).toBe(callKey(keyParts));
  });
});

describe('nonce', () => {
  const nth = (key: string, n: number) =>
    createHash('sha256').update(`emend-nonce\0${key}\0${n}`).digest('hex').slice(0, 8);
  test('is the first of its row that stands nowhere in the request', () => {
    const key = callKey(keyParts);
    expect(nonceFor(key, 'text')).toBe(nth(key, 0));
    expect(nonceFor(key, `x${nth(key, 0)}y${nth(key, 1)}`)).toBe(nth(key, 2));
    expect(nonceFor(key, 'text')).toMatch(/^[0-9a-f]{8}$/);
  });
});

describe('usage and price', () => {
  const prices = { input_usd: 3, output_usd: 15, cacheRead_usd: 0.3, cacheWrite_usd: null };
  test('tokens cost what the table says, per million', () => {
    const tokens = {
      input_tokens: 1000,
      output_tokens: 100,
      cacheRead_tokens: 10_000,
      cacheWrite_tokens: 0,
    };
    expect(usdOf(prices, tokens)).toBeCloseTo(0.003 + 0.0015 + 0.003);
    expect(usdOf(prices, { ...NO_USAGE, cacheWrite_tokens: 1 })).toBeNull();
  });
  test('sums keep what is not known', () => {
    const one = { ...NO_USAGE, calls: 1, input_tokens: 5, usd: 0.5 };
    expect(sumUsage([one, one])).toMatchObject({ calls: 2, input_tokens: 10, usd: 1 });
    expect(addUsage(one, { ...one, usd: null }).usd).toBeNull();
    expect(sumUsage([])).toEqual(NO_USAGE);
  });
});

describe('routing', () => {
  const config = {
    model: 'plain',
    routes: [
      { category: 'docs', model: 'small' },
      { complexity: 'high' as const, model: 'large', outputBudget_tokens: 50_000 },
      { category: 'tests', complexity: 'high' as const, model: 'never' },
    ],
    models: { large: { maxOutput_tokens: 40_000 }, small: { maxOutput_tokens: 8000 } },
    limits: {},
  };
  test.each([
    [
      'nothing fits',
      { category: null, complexity: 'low', jobModel: null },
      { model: 'plain', outputBudget_tokens: 16_384 },
    ],
    [
      'by category',
      { category: 'docs', complexity: 'high', jobModel: null },
      { model: 'small', outputBudget_tokens: 8000 },
    ],
    [
      'by complexity',
      { category: 'tests', complexity: 'high', jobModel: null },
      { model: 'large', outputBudget_tokens: 40_000 },
    ],
    [
      'the job wins',
      { category: 'docs', complexity: 'high', jobModel: 'mine' },
      { model: 'mine', outputBudget_tokens: 16_384 },
    ],
  ] as const)('%s', (_name, question, expected) => {
    expect(route(config, question)).toEqual(expected);
  });
  test('the limit is the budget where no route says one', () => {
    const limits = { outputBudget_tokens: 100 };
    expect(
      route({ ...config, limits }, { category: null, complexity: 'low', jobModel: null })
        .outputBudget_tokens,
    ).toBe(100);
  });
});
