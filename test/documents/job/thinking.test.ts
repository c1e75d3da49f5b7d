/** What a request asks of a model's thinking, by the model's column of the table, the effort and the room beside the answer. */
import { describe, expect, test } from '@jest/globals';
import {
  modelEntry,
  parseConfig,
  parseJob,
  thinkingOf,
  type Effort,
} from '../../../src/documents/job/index.js';

const config = parseConfig('models: { told: { thinking: none }, mine: { thinking: effort } }');
const asked = (model: string, effort: Effort | null, room = 40_000) =>
  config.ok ? thinkingOf(modelEntry(config.value, model), effort, room) : null;
const budget = (tokens: number) => ({
  tokens,
  keys: { thinking: { type: 'enabled', budget_tokens: tokens } },
});
const adaptive = (tokens: number, effort: Effort) => ({
  tokens,
  keys: { thinking: { type: 'adaptive' }, output_config: { effort } },
});

describe('thinking', () => {
  test.each([
    ['claude-haiku-4-5', 'high', 40_000, budget(4_096)],
    ['claude-haiku-4-5-20251001', 'xhigh', 40_000, budget(16_384)],
    ['claude-sonnet-4-6', 'max', 40_000, budget(32_000)],
    ['claude-sonnet-4-5', 'max', 2_000, budget(2_000)],
    ['claude-sonnet-4-5', 'max', 1_023, null],
    ['claude-sonnet-4-5', null, 40_000, null],
    ['claude-sonnet-5-5', 'high', 40_000, adaptive(4_096, 'high')],
    ['claude-opus-5', 'max', 40_000, adaptive(32_000, 'max')],
    ['mine', 'xhigh', 40_000, adaptive(16_384, 'xhigh')],
    ['told', 'max', 40_000, null],
    ['unheard-of', 'max', 40_000, null],
  ] as const)('%s, %s, room for %i tokens', (model, effort, room, wanted) => {
    expect(asked(model, effort, room)).toEqual(wanted);
  });

  test('a job may ask for it; another word is refused', () => {
    const job = (effort: string) => parseJob(`---\neffort: ${effort}\n---\n# A\n\nB.\n`, 'job.md');
    expect(job('xhigh')).toMatchObject({ ok: true, value: { effort: 'xhigh' } });
    expect(job('low')).toMatchObject({ ok: false, problems: [{ code: 'job_invalid' }] });
  });
});
