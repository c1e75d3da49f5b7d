import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { doctorModel } from '../../src/cli/commands/doctor-model.js';
import { main } from '../../src/cli/main.js';
import { startRehearsal } from '../../src/model/rehearsal/server.js';
import { faultsOf } from '../support/json-schema.js';
import { fakeIo } from './io.js';

const dir = mkdtempSync(join(tmpdir(), 'emend-doctor-'));
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});
const BLOCK =
  'FILE: src/config.txt\nFIND:\ntimeout = 30\nREPLACE:\ntimeout = 60\nEND {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n';
const rehearse = () =>
  startRehearsal({
    v: 1,
    rules: [{ name: 'blocks', match: { contains: 'answer in blocks' }, answer: BLOCK }],
    default: { answer: 'Sure! \u001b[31mHere it is.' },
  });

test('says which formats work and what to write into emend.yaml, for the configured model', async () => {
  writeFileSync(
    join(dir, 'emend.yaml'),
    'model: tiny\nmodels: { tiny: { context_tokens: 1000 } }\n',
  );
  const rehearsal = await rehearse();
  const io = fakeIo({ env: { ANTHROPIC_BASE_URL: rehearsal.url }, cwd: dir });
  try {
    expect(await doctorModel(io, true, {})).toBe(0);
    const said = io.printed.out;
    expect(said).toMatch(/^ok +search-replace +edited/m);
    expect(said).toMatch(/^no +whole-file +invalid/m);
    expect(said).toContain('models: { "tiny": { formats: [search-replace] } }');
    expect(said).not.toContain('\u001b[31m');
    // The reasons are whole in 80 columns, too.
    expect(said).toMatch(/^ {8}.{73,}[.)"]$/m);
    expect(said).not.toContain('…');
    const quiet = fakeIo({ env: { ANTHROPIC_BASE_URL: rehearsal.url }, cwd: dir });
    expect(await main(['doctor', '--model', '--quiet'], quiet)).toBe(0);
    expect(quiet.printed.out).toMatch(/^(?:(?:ok|no) .*\n(?: {8}.*\n)?){4}$/);
    expect(rehearsal.requests().map(({ model }) => model)).toEqual(Array(8).fill('tiny'));
  } finally {
    await rehearsal.close();
  }
});

test('7 where no format works; the model named wins', async () => {
  const rehearsal = await startRehearsal({ v: 1, rules: [], default: { answer: 'no' } });
  const io = fakeIo({ env: { ANTHROPIC_BASE_URL: rehearsal.url }, cwd: dir });
  try {
    expect(await doctorModel(io, 'other', { json: true })).toBe(7);
    const said = JSON.parse(io.printed.out) as { model: string; trials: { works: boolean }[] };
    expect(faultsOf('doctor --model', said)).toEqual([]);
    expect(said.model).toBe('other');
    expect(said.trials.map(({ works }) => works)).toEqual([false, false, false, false]);
  } finally {
    await rehearsal.close();
  }
});

test('without settings of a model nothing is asked', async () => {
  await expect(doctorModel(fakeIo({ cwd: dir }), true, {})).rejects.toMatchObject({
    problem: { code: 'no_api_key' },
  });
});
