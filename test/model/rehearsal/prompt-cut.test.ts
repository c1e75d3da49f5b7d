/** A server that cuts prompts and says nothing of it is found out; one that caches the prompt, or counts nothing, is not suspected. */
import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from '@jest/globals';
import { buildEditRequest } from '../../../src/model/prompts/edit.js';
import { estimateRequestTokens, isPromptCut } from '../../../src/model/tokens.js';
import type { RehearsalScript } from '../../../src/model/rehearsal/script.js';
import { startRehearsal } from '../../../src/model/rehearsal/server.js';
import { editInput, NONCE, textOf } from '../prompts/support.js';

const lines = Array.from(
  { length: 400 },
  (_, i) => `const value${i} = compute(${i}, "some text");\n`,
).join('');
const request = buildEditRequest(
  editInput({ model: 'rehearsal', files: [{ path: 'src/a.ts', text: textOf(lines) }] }),
).request(NONCE);
const estimate = estimateRequestTokens(request);
type Answer = RehearsalScript['rules'][number];

test.each<[string, Partial<RehearsalScript>, Partial<Answer>, boolean]>([
  ['a context that holds a third', { context_tokens: Math.floor(estimate / 3) }, {}, true],
  ['a context that holds all', { context_tokens: 2 * estimate }, {}, false],
  ['no context said', {}, {}, false],
  [
    'a cached prefix',
    {},
    { usage: { input_tokens: 50, cache_read_input_tokens: estimate } },
    false,
  ],
  [
    'a prefix that goes into the cache',
    {},
    { usage: { input_tokens: 50, cache_creation_input_tokens: estimate } },
    false,
  ],
  ['a count that is not reported', { context_tokens: 100 }, { usage: { input_tokens: 0 } }, false],
])('%s', async (_, settings, more, cut) => {
  const rehearsal = await startRehearsal({
    v: 1,
    ...settings,
    rules: [{ name: 'any', match: { contains: NONCE }, answer: 'x', ...more }],
  });
  try {
    const client = new Anthropic({
      apiKey: 'none',
      baseURL: rehearsal.url,
      maxRetries: 0,
      logLevel: 'off',
    });
    const { usage } = await client.messages.create(
      request as Anthropic.MessageCreateParamsNonStreaming,
    );
    const read = {
      input_tokens: usage.input_tokens,
      output_tokens: usage.output_tokens,
      cacheRead_tokens: usage.cache_read_input_tokens ?? 0,
      cacheWrite_tokens: usage.cache_creation_input_tokens ?? 0,
    };
    expect(isPromptCut(estimate, read)).toBe(cut);
  } finally {
    await rehearsal.close();
  }
});

test('what is cut is the beginning: a rule that looks for it finds nothing', async () => {
  const rehearsal = await startRehearsal({
    v: 1,
    context_tokens: 500,
    rules: [{ name: 'beginning', match: { contains: 'You carry out a change' }, answer: 'x' }],
    default: { answer: 'the end only' },
  });
  try {
    const client = new Anthropic({
      apiKey: 'none',
      baseURL: rehearsal.url,
      maxRetries: 0,
      logLevel: 'off',
    });
    const { content } = await client.messages.create(
      request as Anthropic.MessageCreateParamsNonStreaming,
    );
    expect(content).toMatchObject([{ text: 'the end only' }]);
  } finally {
    await rehearsal.close();
  }
});
