/**
 * The adapter against Ollama. Kept exchanges (ollama.json) are answered as Ollama answered them, byte for byte. With OLLAMA_URL=<base URL>
 * the tests ask that server itself, of a tiny model that they make in it; with EMEND_RECORD_OLLAMA=1, too, what it answers is kept.
 * To build it: `go mod download -json github.com/ollama/ollama@v0.17.4`, copy `Dir`, add llama/llama.cpp/vendor of the tag v0.17.4 (a Go
 * module carries no folder of that name), `go build .` (gcc and g++; minutes), `./ollama serve`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { doctorModel } from '../../../src/cli/commands/doctor-model.js';
import { askOnce } from '../../../src/model/journal/index.js';
import { estimateRequestTokens, isPromptCut } from '../../../src/model/tokens.js';
import type { ModelRequest } from '../../../src/model/ports.js';
import { fakeIo } from '../../cli/io.js';
import { modelAt } from '../support.js';
import { makeTinyModel } from './tiny-model.js';

const OLLAMA = process.env.OLLAMA_URL;
const RECORD = process.env.EMEND_RECORD_OLLAMA === '1';
const KEPT = join(import.meta.dirname, 'ollama.json');
const [SHORT, LONG] = [2048, 16_384];
const [NAME, LONG_NAME] = ['emend-tiny', 'emend-tiny-long'];
/** As long as loading a tiny model takes. */
const SILENCE_ms = 300;

interface Exchange {
  readonly asked: string;
  readonly status: number;
  readonly type: string;
  readonly body: string;
}
const kept = JSON.parse(readFileSync(KEPT, 'utf8')) as Record<string, Exchange[]>;
const UNKNOWN: Exchange = { asked: '', status: 400, type: 'text/plain', body: '' };
const heard: Record<string, Exchange[]> = {};
/** The test that runs, and what it has asked. A client that gave up may still ask for the model of the test before. */
let now: { readonly name: string; readonly asked: string[] } = { name: '', asked: [] };

let server: Server;
let url = '';
const dir = mkdtempSync(join(tmpdir(), 'emend-ollama-'));
beforeAll(async () => {
  if (OLLAMA !== undefined) {
    await makeTinyModel(OLLAMA, NAME, SHORT);
    await makeTinyModel(OLLAMA, LONG_NAME, LONG);
  }
  server = createServer((request, response) => {
    const exchanges = (OLLAMA === undefined ? kept : heard)[now.name] ?? [];
    const { asked: before } = now;
    void text(request).then(async (body) => {
      const model = body === '' ? '' : ` ${String((JSON.parse(body) as { model: unknown }).model)}`;
      const asked = `${request.method} ${request.url}${model}`;
      const earlier = before.filter((each) => each === asked).length;
      before.push(asked);
      if (OLLAMA !== undefined) exchanges.push(await askOllama(asked, request.url ?? '', body));
      else if (now.name.includes('loading')) await sleep(SILENCE_ms);
      const found = exchanges.filter((each) => each.asked === asked)[earlier];
      const { status, type, body: said } = found ?? UNKNOWN;
      const fits = found !== undefined;
      response
        .writeHead(fits ? status : 400, { 'content-type': type })
        .end(fits ? said : `not kept: ${asked}`);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(dir, { recursive: true, force: true });
  if (RECORD) writeFileSync(KEPT, `${JSON.stringify(heard, null, 2)}\n`);
});

const askOllama = async (asked: string, path: string, sent: string): Promise<Exchange> => {
  const answer = await fetch(`${OLLAMA}${path}`, sent === '' ? {} : { method: 'POST', body: sent });
  const body = await answer.text();
  return { asked, status: answer.status, type: answer.headers.get('content-type') ?? '', body };
};

const ask = async (model: string, wanted: string, streamIdle_ms = 60_000) => {
  const request: ModelRequest = {
    model,
    max_tokens: 8,
    system: [{ type: 'text', text: 'You edit.' }],
    messages: [{ role: 'user', content: [{ type: 'text', text: wanted }] }],
  };
  return {
    request,
    answer: await askOnce(modelAt(url, streamIdle_ms), request, new AbortController().signal),
  };
};
const unload = async (): Promise<void> => {
  if (OLLAMA === undefined) return;
  await (
    await fetch(`${OLLAMA}/api/generate`, {
      method: 'POST',
      body: `{"model":"${NAME}","keep_alive":0}`,
    })
  ).text();
};
const during = (name: string, run: () => Promise<void>): void => {
  test(
    name,
    async () => {
      now = { name, asked: [] };
      heard[name] = [];
      await run();
    },
    120_000,
  );
};

during('streams an answer; its last event says what was read', async () => {
  const { answer } = await ask(NAME, 'Say hi.');
  expect(answer).toMatchObject({ stopReason: 'max_tokens', usage: { output_tokens: 8 } });
  expect(answer.text).not.toBe('');
  // A token for each byte; the first event says Ollama's own estimate, 4 bytes a token.
  expect(answer.usage.input_tokens).toBeGreaterThan('You edit.Say hi.'.length - 4);
});

during('a prompt longer than num_ctx is cut without a word: seen by what was read', async () => {
  const { request, answer } = await ask(NAME, 'a longer prompt '.repeat(750));
  expect(answer.usage.input_tokens).toBe(SHORT);
  expect(estimateRequestTokens(request)).toBeLessThan(2 * SHORT);
  expect(isPromptCut(estimateRequestTokens(request), answer.usage)).toBe(true);
});

during('a model that is not there', async () => {
  await expect(ask('nosuch', 'Say hi.')).rejects.toMatchObject({
    kind: 'not_found',
    retryable: false,
  });
});

during('silence while it is loading: waited for', async () => {
  await unload();
  const begun = performance.now();
  expect((await ask(NAME, 'Say hi.')).answer.usage.output_tokens).toBe(8);
  expect(performance.now() - begun).toBeGreaterThan(50);
});

during('silence while it is loading, longer than is waited for', async () => {
  await unload();
  await expect(ask(NAME, 'Say hi.', 20)).rejects.toMatchObject({
    kind: 'idle',
    message: expect.stringContaining('EMEND_STREAMIDLE_MS'),
  });
});

during('doctor says num_ctx, and what to write where Emend expects more', async () => {
  writeFileSync(join(dir, 'emend.yaml'), `models: { ${LONG_NAME}: { maxOutput_tokens: 64 } }\n`);
  const io = fakeIo({ env: { ANTHROPIC_BASE_URL: url }, cwd: dir });
  expect(await doctorModel(io, LONG_NAME, {})).toBe(7);
  expect(io.printed.out).toContain(`num_ctx ${LONG}`);
  expect(io.printed.out).toContain(`models: { "${LONG_NAME}": { context_tokens: ${LONG} } }`);
  expect(io.printed.out).not.toContain('prompt_cut');
});
