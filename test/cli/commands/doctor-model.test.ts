import { expect, test } from '@jest/globals';
import { createAnthropicModel } from '../../../src/model/anthropic/client.js';
import type { RehearsalScript } from '../../../src/model/rehearsal/script.js';
import { startRehearsal } from '../../../src/model/rehearsal/server.js';
import { tryFormats } from '../../../src/cli/commands/doctor-model.js';

const tried = async (script: RehearsalScript): Promise<Record<string, string>> => {
  const rehearsal = await startRehearsal(script);
  const model = createAnthropicModel({
    env: { ANTHROPIC_BASE_URL: rehearsal.url },
    streamIdle_ms: 20_000,
  });
  const { signal } = new AbortController();
  const found: Record<string, string> = {};
  try {
    for await (const trial of tryFormats({ model, name: 'm', outputBudget_tokens: 500, signal })) {
      expect(trial.works).toBe(trial.outcome === 'edited');
      expect(trial.message === '').toBe(trial.works);
      found[trial.format] = trial.outcome;
    }
    expect(rehearsal.requests()).toHaveLength(Object.keys(found).length);
    return found;
  } finally {
    await rehearsal.close();
  }
};

const FILE = 'name = emend\nport = 8080\ntimeout = 60\nretries = 3\nverbose = false\n';
const WHOLE = `FILE src/config.txt {{nonce}}\n${FILE}END FILE {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n`;
const DIFF = `--- a/src/config.txt
+++ b/src/config.txt
@@ -2,3 +2,3 @@
 port = 8080
-timeout = 30
+timeout = 60
 retries = 3
EMEND-COMPLETE {{nonce}} 1 1
`;
const JSON_EDIT = JSON.stringify({
  summary: 's',
  operations: [
    {
      type: 'replace',
      file_path: 'src/config.txt',
      start_line: '{{line:3}}',
      end_line: '{{line:3}}',
      content: 'timeout = 60\n',
    },
  ],
  complete: true,
  nonce: '{{nonce}}',
});
const BLOCK =
  'FILE: src/config.txt\nFIND:\ntimeout = 30\nREPLACE:\ntimeout = 60\nEND {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n';
const inForm = (
  contains: string,
  answer: string,
  more: Partial<RehearsalScript['rules'][number]> = {},
) => ({
  name: contains,
  match: { contains, role: 'user' as const },
  answer,
  ...more,
});

test('a model that can do all', async () => {
  const rules = [
    inForm('answer in whole files', WHOLE),
    inForm('one unified diff', DIFF),
    inForm('one JSON object', JSON_EDIT),
    inForm('answer in blocks', BLOCK),
  ];
  expect(await tried({ v: 1, rules })).toEqual({
    'whole-file': 'edited',
    'unified-diff': 'edited',
    'structured-edit': 'edited',
    'search-replace': 'edited',
  });
});

test('each way to fail is told', async () => {
  const rules = [
    inForm('answer in whole files', WHOLE.replace('retries = 3', 'retries = 4')),
    inForm('one unified diff', DIFF, { fault: { kind: 'missing_nonce' } }),
    inForm('one JSON object', 'I would change the third line.'),
    inForm('answer in blocks', BLOCK, { fault: { kind: 'truncate', bytes: 30 } }),
  ];
  expect(await tried({ v: 1, rules })).toEqual({
    'whole-file': 'wrong',
    'unified-diff': 'truncated',
    'structured-edit': 'invalid',
    'search-replace': 'truncated',
  });
});

test('a server that cuts the prompt', async () => {
  expect(
    new Set(
      Object.values(
        await tried({ v: 1, context_tokens: 100, rules: [], default: { answer: WHOLE } }),
      ),
    ),
  ).toEqual(new Set(['prompt_cut']));
});

test('a refused key is asked with once', async () => {
  const status = { kind: 'status', status: 401, type: 'authentication_error' } as const;
  expect(await tried({ v: 1, rules: [], default: { answer: '', fault: status } })).toEqual({
    'whole-file': 'auth',
  });
});
