/** A token in a source file: no request, history or log ever has it, the file keeps it, and it goes nowhere else unasked. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { resolveRun } from '../../src/client/index.js';
import { longOnly } from '../support/skipped.js';
import { check } from './check-history.js';
import { emendCommand, eventually, withHandle } from './ends.js';
import { scene, structured, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const madeUp = (): string => `ghp_${randomBytes(18).toString('hex')}`;
const source = (token: string): string =>
  `export const token = '${token}';\nexport const port = 80;\n`;
const job = (front: string): string =>
  `---\n${front}\n---\n# Listen on port 8080\n\nSet the port.\n`;
/** Answered where the token is seen. */
const leak = (token: string) => ({ name: 'leak', match: { contains: token }, answer: 'seen' });
const once = (name: string, answer: string) => ({ name, match: { times: 1 }, answer });
const asked = (s: Scene): readonly (string | null)[] =>
  s.rehearsal.requests().map(({ rule }) => rule);

/** Files of the home that hold the text, by the first part of their path. */
const holding = (s: Scene, text: string): readonly string[] => {
  const found = execFileSync('sh', ['-c', 'grep -rlF -- "$0" . || true', text], {
    cwd: s.home,
    encoding: 'utf8',
  });
  return [
    ...new Set(
      found.split('\n').flatMap((path) => (path === '' ? [] : [path.split('/')[1] ?? ''])),
    ),
  ].sort();
};
/** `own`: what the store keeps as it is: whole files, and what a request hid. */
const nowhereElse = async (
  s: Scene,
  run: Awaited<ReturnType<Scene['start']>>,
  token: string,
  own = ['blobs', 'records'],
): Promise<void> => {
  const history = await s.emend.runs!.historyText({
    workflowId: run.live!.workflowId,
    runId: null,
  });
  expect(history.length).toBeGreaterThan(1000);
  expect(history).not.toContain(token.slice(4, 20));
  expect(JSON.stringify(await s.events(run))).not.toContain(token.slice(4, 20));
  expect(
    s
      .workers()
      .map((worker) => worker.said())
      .join(''),
  ).not.toContain(token.slice(4, 20));
  expect(holding(s, token).filter((place) => !own.includes(place))).toEqual([]);
};

const long = longOnly('each starts a run of its own: two minutes in all');
test('the model copies a placeholder, the file gets its token back, and the token is nowhere else', async () => {
  const token = madeUp();
  const s = (open = await scene({ 'a.ts': source(token), 'b.ts': `// ${token}\n` }, [
    leak(token),
    once('whole', whole({ 'a.ts': source('{{secret:1}}').replace('= 80;', '= 8080;') })),
  ]));
  await s.worker();
  const run = await s.start(
    'job.md',
    job('target_files: [a.ts]\ncontext_files: [b.ts]\ncommit: true\napproval: auto'),
  );
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  expect(asked(s)).toEqual(['whole']);
  expect(s.read('a.ts')).toBe(source(token).replace('= 80;', '= 8080;'));
  await nowhereElse(s, run, token);
});

long(
  'a worker that dies before the answer is used: the next one puts the token back by what was recorded',
  async () => {
    const token = madeUp();
    const s = (open = await scene({ 'a.ts': source(token) }, [
      leak(token),
      once('whole', whole({ 'a.ts': source('{{secret:1}}').replace('= 80;', '= 8080;') })),
    ]));
    const first = await s.worker('proposeEdit:after:1');
    const run = await s.start('job.md', job('target_files: [a.ts]\napproval: auto'));
    await first.exited;
    expect(first.fired()).toBe(true);
    await s.worker();
    expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
    expect(asked(s)).toEqual(['whole']);
    expect(s.read('a.ts')).toBe(source(token).replace('= 80;', '= 8080;'));
  },
);

long('an edit that copies the token into another file asks a person under auto', async () => {
  const token = madeUp();
  const s = (open = await scene({ 'a.ts': source(token), 'b.ts': 'export {};\n' }, [
    leak(token),
    once('copy', whole({ 'b.ts': "const t = '{{secret:1}}';\n" })),
  ]));
  await s.worker();
  const run = await s.start(
    'job.md',
    job('target_files: [b.ts]\ncontext_files: [a.ts]\napproval: auto'),
  );
  const view = await s.settle(run);
  expect(view.status.decision?.message).toContain('a person must review: secret in b.ts');
  expect(view.proposal?.findings).toEqual([
    {
      guard: 'secret',
      severity: 'ask',
      path: 'b.ts',
      lines: [1, 1],
      message: 'Line 1 of b.ts contains a secret from elsewhere: it would be committed.',
    },
  ]);
  await nowhereElse(s, run, token);
  expect(s.read('b.ts')).toBe('export {};\n');
});

long(
  'a placeholder that the request did not have is refused, and the next answer is told so',
  async () => {
    const token = madeUp();
    const s = (open = await scene({ 'a.ts': source(token) }, [
      leak(token),
      once('made up', whole({ 'a.ts': source('EMEND_SECRET_00000000_1') })),
      {
        name: 'told',
        match: { contains: 'EMEND_SECRET_00000000_1, which is not a placeholder of these files' },
        answer: whole({ 'a.ts': source('{{secret:1}}').replace('= 80;', '= 8080;') }),
      },
    ]));
    await s.worker();
    const run = await s.start('job.md', job('target_files: [a.ts]\napproval: auto'));
    const view = await s.settle(run);
    expect(view.status.decision).toBeNull();
    expect(asked(s)).toEqual(['made up', 'told']);
    expect(s.read('a.ts')).toBe(source(token).replace('= 80;', '= 8080;'));
  },
);

long('what a model makes up is hidden in events, history and the commit message', async () => {
  const [token, other] = [madeUp(), madeUp()];
  const s = (open = await scene({ 'a.ts': source(token) }, [
    once('made up', structured([{ type: 'delete', file_path: 'a.ts', at: { symbol: other } }])),
    once(
      'port',
      structured([
        {
          type: 'replace',
          file_path: 'a.ts',
          start_line: '{{line:2}}',
          end_line: '{{line:2}}',
          content: 'export const port = 8080;\n',
        },
      ]),
    ),
  ]));
  await s.worker();
  const commit = `Listen on 8080, not with ${other}`;
  const run = await s.start(
    'job.md',
    job(`format: structured-edit\ntarget_files: [a.ts]\ncommit: ${commit}\napproval: auto`),
  );
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  expect(asked(s)).toEqual(['made up', 'port']);
  const refusals = (await s.events(run)).filter(({ type }) => type === 'answer_refused');
  expect(JSON.stringify(refusals)).toMatch(/EMEND_SECRET_[0-9a-f]{8}_1/);
  // The journal has an answer as it came.
  await nowhereElse(s, run, other, ['blobs', 'records', 'calls']);
  expect(s.git('log', '-1', '--format=%B')).toMatch(
    /^Listen on 8080, not with EMEND_SECRET_[0-9a-f]{8}_1\n/,
  );
  expect(s.read('a.ts')).toBe(source(token).replace('= 80;', '= 8080;'));
});

long('secrets: send', async () => {
  const token = madeUp();
  const answer = whole({ 'a.ts': source(token).replace('= 80;', '= 8080;') });
  const s = (open = await scene({ 'a.ts': source(token) }, [{ ...leak(token), answer }]));
  await s.worker();
  const run = await s.start('job.md', job('target_files: [a.ts]\napproval: auto\nsecrets: send'));
  expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
  expect(asked(s)).toEqual(['leak']);
  expect(s.read('a.ts')).toBe(source(token).replace('= 80;', '= 8080;'));
});

describe('secrets: ask', () => {
  const FRONT = 'secrets: ask\ncontext_files: [b.ts]';
  const changed = (token: string): string => source(token).replace('= 80;', '= 8080;');
  const begin = async (token: string, front = `${FRONT}\ntarget_files: [a.ts]`) => {
    const s = (open = await scene(
      { 'a.ts': source(token), 'b.ts': `\n// ${token}\n`, 'c.ts': 'export const c = 1;\n' },
      [
        { ...leak(token), answer: whole({ 'a.ts': changed(token) }) },
        { name: 'brief', match: { contains: 'Now write the brief' }, answer: 'no brief' },
        {
          name: 'c',
          match: { contains: '- c.ts' },
          answer: whole({ 'c.ts': 'export const c = 2;\n' }),
        },
        once('masked', whole({ 'a.ts': changed('{{secret:1}}') })),
      ],
    ));
    await s.worker();
    const run = await s.start('job.md', job(front));
    return { s, run, decision: (await s.settle(run)).status.decision };
  };

  long(
    'pauses before anything is sent, with the lines and no part of the token; mask',
    async () => {
      const token = madeUp();
      const { s, run, decision } = await begin(token);
      expect(decision).toMatchObject({
        reason: 'secret_found',
        message: 'the request would contain what looks like a secret: a.ts:1, b.ts:2',
        accepts: ['mask', 'send', 'skip', 'abort'],
      });
      expect(decision?.files.map(({ path }) => path)).toEqual(['a.ts']);
      expect(asked(s)).toEqual([]);
      await check(s, run.live!.workflowId, 'edit-step-paused-secret-found');
      await nowhereElse(s, run, token);
      await s.answer(run, 'mask');
      expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'approval' });
      expect(asked(s)).toEqual(['masked']);
      await s.answer(run, 'approve');
      expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
      expect(s.read('a.ts')).toBe(changed(token));
      await nowhereElse(s, run, token);
    },
  );

  long(
    'send sends the bytes, in all calls of the run; history, events and logs have none of them',
    async () => {
      const token = madeUp();
      const { s, run, decision } = await begin(token);
      expect(decision).toMatchObject({ reason: 'secret_found' });
      await s.answer(run, 'send');
      expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'approval' });
      await s.answer(run, 'revise', { note: 'Once more.' });
      expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'approval' });
      expect(asked(s)).toEqual(['leak', 'leak']);
      await s.answer(run, 'approve');
      expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
      expect(s.read('a.ts')).toBe(changed(token));
      await nowhereElse(s, run, token, ['blobs', 'records', 'calls']);
    },
  );

  long(
    'skip leaves the file that holds it, and the rest is asked for; the brief of both was masked',
    async () => {
      const token = madeUp();
      const { s, run, decision } = await begin(token, 'secrets: ask\ntarget_files: [a.ts, c.ts]');
      expect(decision).toMatchObject({
        reason: 'secret_found',
        message: expect.stringMatching(/: a\.ts:1$/),
      });
      await s.answer(run, 'skip');
      expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'approval' });
      await s.answer(run, 'approve');
      expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
      expect(asked(s)).toEqual(['brief', 'c']);
      expect(s.read('a.ts')).toBe(source(token));
      expect(s.read('c.ts')).toBe('export const c = 2;\n');
    },
  );

  long('a policy masks, and approves what follows', async () => {
    const token = madeUp();
    const { s } = await begin(token);
    s.write('policy.yaml', 'v: 1\npaths: ["*.ts"]\n');
    const said = await emendCommand(s, 'run', 'job.md', '--policy', 'policy.yaml');
    expect(said).toMatchObject({
      code: 0,
      out: expect.stringContaining('approved by the policy policy.yaml'),
    });
    expect(asked(s)).toEqual(['masked']);
    expect(s.read('a.ts')).toBe(changed(token));
  });

  long('under `approval: auto` nobody is there to be asked: masked', async () => {
    const token = madeUp();
    const { s, run, decision } = await begin(
      token,
      `${FRONT}\ntarget_files: [a.ts]\napproval: auto`,
    );
    expect(decision).toBeNull();
    expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
    expect(asked(s)).toEqual(['masked']);
  });
});

test('F1: a token in a note is in no request, history, archive or log; a raw update with one is refused', async () => {
  const token = madeUp();
  const note = `Use ${token} for it.`;
  const s = (open = await scene({ 'a.ts': 'export const a = 1;\n' }, [
    leak(token),
    { name: 'told', match: { contains: 'Use (secret) for it.' }, answer: whole({ 'a.ts': '3\n' }) },
    once('first', whole({ 'a.ts': '2\n' })),
  ]));
  await s.worker();
  const run = await s.start('job.md', job('target_files: [a.ts]'), { hints: [note] });
  const { decision } = (await s.settle(run)).status;
  expect(asked(s)).toEqual(['told']);
  const raw = { decision: decision?.id, answer: 'revise', note, requestId: 'raw' };
  await withHandle(s, run, async (handle) => {
    const refused = await handle
      .executeUpdate('answer', { args: [raw] })
      .catch((error: unknown) => error);
    expect(String((refused as Error).cause)).toContain('looks like a secret');
  });
  await s.answer(run, 'revise', { note });
  expect((await s.settle(run)).status.decision?.id).not.toBe(decision?.id);
  expect(asked(s)).toEqual(['told', 'told']);
  await nowhereElse(s, run, token, []);

  // A raw signal is in the history before Emend sees it. The archive and the log do not get it.
  await withHandle(s, run, (handle) => handle.signal('approve', { decision: token }));
  await s.answer(run, 'skip');
  await s.end(run);
  const ignored = await eventually(
    'the ignored signal',
    async () =>
      (await s.emend.archive.read(run.stepKey)).find(({ data }) =>
        JSON.stringify(data).includes('"decision_ignored"'),
      ) ?? null,
  );
  expect(JSON.stringify(ignored)).toContain('(secret)');
  expect(holding(s, token)).toEqual([]);
});

test('F3: the value of a variable that `env` lists is in no request, history, archive or log, though a test prints it', async () => {
  const value = randomBytes(9).toString('base64url');
  const token = madeUp();
  const s = (open = await scene(
    {
      'a.ts': 'export const a = 1;\n',
      'token.txt': `${token}\n`,
      'emend.yaml': `env: [LICENSE]\ntest: 'echo "license $LICENSE"; printf "printed "; cat token.txt; exit 1'\nbaseline: off\n`,
    },
    [leak(value), { name: 'edit', match: {}, answer: whole({ 'a.ts': '2\n' }) }],
    { env: { LICENSE: value } },
  ));
  await s.worker();
  const run = await s.start('job.md', job('target_files: [a.ts]'));
  const failed = await s.settle(run);
  expect(failed.status.decision?.message).toContain('license [redacted]');
  // A recognized token that the tests print is in their output, which the store keeps; no face shows it.
  const shown = await emendCommand(s, 'show', run.stepKey, '--tests', '--whole');
  expect(shown.out).toContain('printed (secret)');
  expect(shown.out).not.toContain(token.slice(4, 20));
  await s.answer(run, 'revise', { note: 'Again.' });
  await eventually('the second answer', async () => asked(s).length > 1);
  await s.settle(run);
  expect(new Set(asked(s))).toEqual(new Set(['edit']));
  const history = await s.emend.runs!.historyText({
    workflowId: run.live!.workflowId,
    runId: null,
  });
  expect(history).not.toContain(value);
  expect(holding(s, value)).toEqual([]);
  expect(holding(s, 'license [redacted]')).not.toEqual([]);
});

describe('F2: a token in the name of a file', () => {
  const begin = async (token: string, more = '') => {
    const path = `src/${token}.ts`;
    const s = (open = await scene({ [path]: 'export const a = 1;\n', 'b.ts': 'b\n' }, [
      { name: 'edit', match: {}, answer: whole({ [path]: 'export const a = 2;\n' }) },
    ]));
    await s.worker();
    s.write('job.md', job(`target_files: [${path}]\napproval: auto${more}`));
    return { s, path };
  };

  test('is refused as a target, and is in no history, archive, log or terminal', async () => {
    const token = madeUp();
    const { s } = await begin(token);
    const ended = await emendCommand(s, 'run', 'job.md', '--yes');
    expect(ended.code).toBe(4);
    expect(ended.err + ended.out).toContain('src/(secret).ts');
    expect(ended.err + ended.out).toContain('Rename the file, or set `secrets: send`');
    expect(ended.err + ended.out).not.toContain(token.slice(4, 20));
    expect(asked(s)).toEqual([]);
    const [key = ''] = await s.emend.archive.names();
    await nowhereElse(s, await resolveRun(s.emend, key), token, ['blobs']);
  });

  long('`secrets: send` applies the change to the real file', async () => {
    const token = madeUp();
    const { s, path } = await begin(token, '\nsecrets: send');
    expect((await emendCommand(s, 'run', 'job.md', '--yes')).code).toBe(0);
    expect(s.read(path)).toBe('export const a = 2;\n');
  });

  test('a test command with a token is refused as well', async () => {
    const token = madeUp();
    const s = (open = await scene({ 'a.ts': 'a\n' }, [leak(token)]));
    await s.worker();
    s.write('job.md', job(`target_files: [a.ts]\ntest: KEY=${token} true`));
    const ended = await emendCommand(s, 'run', 'job.md', '--yes');
    expect(ended.err + ended.out).toContain('KEY=(secret) true');
    expect(ended.err + ended.out).not.toContain(token.slice(4, 20));
    const [key = ''] = await s.emend.archive.names();
    await nowhereElse(s, await resolveRun(s.emend, key), token, ['blobs']);
  });
});
