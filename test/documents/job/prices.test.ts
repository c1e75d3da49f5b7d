/** The price table is what its source says: genai-prices-0.2.3.json was taken out of that package, which PyPI has since 2026-11-10. */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { modelEntry } from '../../../src/documents/job/index.js';
import { DEFAULT_MODELS, PRICES } from '../../../src/documents/job/models.js';
import { parseConfig } from '../../../src/documents/job/config.js';

const kept = JSON.parse(
  readFileSync(new URL('genai-prices-0.2.3.json', import.meta.url), 'utf8'),
) as {
  readonly source: string;
  readonly date: string;
  readonly models: Readonly<Record<string, readonly number[]>>;
};
const configOf = (yaml: string) => {
  const config = parseConfig(yaml);
  if (!config.ok) throw new Error(config.problems[0]?.message);
  return config.value;
};

test('each model has the prices of the source, and says of which day', () => {
  expect({ source: kept.source, date: kept.date }).toEqual(PRICES);
  const ours = Object.entries(DEFAULT_MODELS).map(([name, entry]) => {
    expect(entry.priced).toEqual(PRICES);
    return [
      name,
      [entry.input_usd, entry.output_usd, entry.cacheRead_usd, entry.cacheWrite_usd],
    ] as const;
  });
  expect(Object.fromEntries(ours)).toEqual(kept.models);
});

test('prices of emend.yaml are its own; other keys leave the source as it is; an unknown model has none', () => {
  const config = configOf(
    'models:\n  claude-opus-5: {input_usd: 1}\n  claude-sonnet-5: {thinking: none}\n  mine: {input_usd: 0, output_usd: 0}',
  );
  const of = (model: string) => modelEntry(config, model).priced;
  expect(of('claude-opus-5')).toEqual({ source: 'emend.yaml', date: null });
  expect(of('mine')).toEqual({ source: 'emend.yaml', date: null });
  expect(of('claude-sonnet-5-20261101')).toEqual(PRICES);
  expect(of('unheard-of')).toBeNull();
});
