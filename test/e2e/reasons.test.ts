/** Decision points that come from the model's answers and from limits: each is really reached, and each answer does what it says. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { diffText } from '../../src/client/runs/show.js';
import { check } from './check-history.js';
import { scene, structured, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const job = (keys: string): string => `---\n${keys}\n---\n# Grow\n\nRaise the numbers.\n`;
const one = (n: number): string => `const one = ${n};\n`;
/** The good answer for a file, after the rules that spoil it. */
const good = (path: string) => ({
  name: path,
  match: { contains: `- ${path}` },
  answer: whole({ [path]: one(2) }),
});
const bad = (path: string, times: number) => ({
  ...good(path),
  match: { contains: `- ${path}`, times },
});
const files = (...paths: string[]) => Object.fromEntries(paths.map((path) => [path, one(1)]));
const BRIEF = {
  name: 'brief',
  match: { contains: 'Now write the brief' },
  answer: 'Numbers grow.\nEMEND-COMPLETE {{nonce}} 0 0\n',
};

describe('answers that cannot be used', () => {
  test('call lost, declined, unmarked, prompt cut, model unavailable', async () => {
    const paths = ['lost.js', 'declined.js', 'unmarked.js', 'cut.js', 'down.js', 'key.js'];
    const s = (open = await scene(
      { ...files(...paths), 'notes.txt': 'a long note\n'.repeat(2000) },
      [
        { ...bad('lost.js', 2), fault: { kind: 'drop', after_bytes: 500 } },
        { ...bad('declined.js', 1), fault: { kind: 'refusal' } },
        {
          ...bad('unmarked.js', 2),
          answer: whole({ 'unmarked.js': one(3) }).replace(/EMEND-COMPLETE.*\n/, ''),
        },
        // Too much for a small context window: as long as the notes are sent along.
        {
          ...good('cut.js'),
          match: { contains: ['- cut.js', 'a long note'] },
          usage: { input_tokens: 3 },
        },
        { ...bad('down.js', 1), fault: { kind: 'overload' } },
        { ...bad('down.js', 4), fault: { kind: 'server_error', status: 500 } },
        {
          ...bad('key.js', 1),
          fault: { kind: 'status', status: 401, type: 'authentication_error' },
        },
        ...paths.map(good),
      ],
    ));
    await s.worker();
    const asked = (path: string): number =>
      s.rehearsal.requests().filter((request) => request.rule === path).length;
    const pausedFor = async (path: string, reason: string, more = '') => {
      const run = await s.start(
        `${path}.md`,
        job(`target_files: [${path}]\napproval: auto${more}`),
      );
      const view = await s.settle(run);
      expect(view.status.decision).toMatchObject({ reason, files: [{ path, reason }] });
      expect(s.read(path)).toBe(one(1));
      await check(s, view.workflowId!, `edit-step-paused-${reason.replace('_', '-')}`);
      return { run, message: view.status.decision!.message };
    };

    const lost = await pausedFor('lost.js', 'call_lost');
    expect(asked('lost.js')).toBe(2);
    await s.answer(lost.run, 'retry');
    const end = await s.end(lost.run);
    expect(end).toMatchObject({ outcome: 'applied', usage: { unknownCalls: 2 } });
    expect(s.read('lost.js')).toBe(one(2));

    const declined = await pausedFor(
      'declined.js',
      'declined',
      '\nbaseline: fix\ntest: grep -q 7 declined.js\ncommit: true',
    );
    s.write('declined.js', one(7));
    await s.answer(declined.run, 'manual');
    expect(await s.end(declined.run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
    expect(s.git('show', 'HEAD:declined.js')).toBe(one(7));
    expect(asked('declined.js')).toBe(1);

    // Asked once more the same way, then a person; another model may be named.
    const unmarked = await pausedFor('unmarked.js', 'unmarked');
    expect(asked('unmarked.js')).toBe(2);
    await s.answer(unmarked.run, 'retry', { set: { model: 'another-model' } });
    expect(await s.end(unmarked.run)).toMatchObject({ outcome: 'applied' });
    expect(s.read('unmarked.js')).toBe(one(2));
    expect(s.rehearsal.requests().map((request) => request.model)).toContain('another-model');

    const cut = await pausedFor('cut.js', 'prompt_cut', '\ncontext_files: [notes.txt]');
    expect(asked('cut.js')).toBe(1);
    expect(cut.message).toContain('num_ctx');
    await s.answer(cut.run, 'retry', { set: { inputBudget_tokens: 1000 } });
    expect(await s.end(cut.run)).toMatchObject({ outcome: 'applied' });

    // The fault is over by the time that the person says retry.
    const down = await pausedFor('down.js', 'model_unavailable', '\nlimits: { modelOutage_s: 1 }');
    expect(asked('down.js')).toBe(5);
    expect(down.message).toContain('500');
    await s.answer(down.run, 'retry');
    expect(await s.end(down.run)).toMatchObject({ outcome: 'applied', usage: { unknownCalls: 0 } });

    // A refused key is not tried again by itself.
    const key = await pausedFor('key.js', 'model_unavailable');
    expect(asked('key.js')).toBe(1);
    await s.answer(key.run, 'skip');
    expect(await s.end(key.run)).toMatchObject({ outcome: 'skipped', files: [] });
  });

  test('no file is picked: retry asks again, and there is nothing to take by hand', async () => {
    const s = (open = await scene(files('x.js', 'y.js'), [
      {
        name: 'pick',
        match: { contains: 'Files of the project', times: 1 },
        fault: { kind: 'refusal' },
      },
      {
        name: 'pick again',
        match: { contains: 'Files of the project' },
        answer: '{"files": [{"path": "y.js", "why": "holds it"}]}\nEMEND-COMPLETE {{nonce}} 0 0\n',
      },
      good('y.js'),
    ]));
    await s.worker();
    const run = await s.start(
      'pick.md',
      '---\napproval: auto\n---\n# Raise it\n\nThe second constant.\n',
    );
    const paused = await s.settle(run);
    expect(paused.status.decision).toMatchObject({
      reason: 'declined',
      files: [],
      accepts: ['retry', 'skip', 'abort'],
    });
    await expect(s.answer(run, 'manual')).rejects.toThrow(/answers are: retry, skip, abort/);
    await s.answer(run, 'retry');
    expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['y.js'] });
  });
});

describe('the ladder', () => {
  // As much as an answer of 256 tokens is trusted to hold; the whole files that come hold more.
  const LONG = Array.from({ length: 50 }, (_, i) => `const x${i} = 1;\n`).join('');
  const after = LONG.replace('x7 = 1', 'x7 = 2');
  const change = (path: string, content: string) =>
    structured([
      {
        type: 'replace',
        file_path: path,
        start_line: '{{line:8}}',
        end_line: '{{line:8}}',
        content,
      },
    ]);
  const asWhole = (path: string) => ({
    name: `${path} whole`,
    match: { contains: [`- ${path}`, 'END FILE'] },
    answer: whole({ [path]: after.repeat(2) }),
  });
  const LIMITS = 'limits: { outputBudget_tokens: 64, maxOutputBudget_tokens: 256 }';

  test('the budget doubles, the format changes; spent, a person is asked; the rest goes on without the file', async () => {
    const s = (open = await scene(
      { 'long.js': LONG, 'stuck.js': LONG, 'jam.js': LONG, 'wide.js': LONG, 'ok.js': one(1) },
      {
        v: 1,
        enforce_max_tokens: true,
        rules: [
          BRIEF,
          ...['long.js', 'stuck.js', 'jam.js', 'wide.js'].map(asWhole),
          {
            name: 'long',
            match: { contains: '- long.js' },
            answer: change('long.js', 'const x7 = 2;\n'),
          },
          ...['stuck.js', 'jam.js', 'wide.js'].map((path) => ({
            name: `${path} operations`,
            match: { contains: `- ${path}` },
            answer: change(path, `// ${'much '.repeat(300)}\n`),
          })),
          good('ok.js'),
        ],
      },
    ));
    await s.worker();
    const ladder = async (run: Parameters<Scene['events']>[0]) =>
      (await s.events(run)).flatMap((event) => (event.type === 'fallback' ? [event.to] : []));
    const TOLERANCES = [
      'output budget 128 tokens',
      'output budget 256 tokens',
      'format structured-edit',
    ];

    const long = await s.start(
      'long.md',
      job(`target_files: [long.js]\napproval: auto\n${LIMITS}`),
    );
    expect(await s.end(long)).toMatchObject({ outcome: 'applied' });
    expect(await ladder(long)).toEqual(TOLERANCES);
    expect(s.read('long.js')).toBe(after);

    const stuck = await s.start(
      'stuck.md',
      job(`target_files: [stuck.js]\napproval: auto\n${LIMITS}`),
    );
    const paused = await s.settle(stuck);
    expect(paused.status.decision).toMatchObject({
      reason: 'truncation',
      files: [{ path: 'stuck.js' }],
    });
    expect(await ladder(stuck)).toEqual(TOLERANCES);
    expect(s.read('stuck.js')).toBe(LONG);
    await check(s, paused.workflowId!, 'edit-step-paused-truncation');
    // Retry goes on at the fallback that was reached, and further up to the limit that the person raised.
    await s.answer(stuck, 'retry', { set: { maxOutputBudget_tokens: 512 } });
    expect(await s.end(stuck)).toMatchObject({ outcome: 'applied' });
    expect(await ladder(stuck)).toEqual([...TOLERANCES, 'output budget 512 tokens']);
    expect(s.read('stuck.js')).toContain('much much');

    const three = await s.start(
      'three.md',
      job(`target_files: [jam.js, wide.js, ok.js]\napproval: auto\n${LIMITS}`),
    );
    const most = await s.settle(three);
    expect(most.status.decision).toMatchObject({
      reason: 'truncation',
      files: [{ path: 'jam.js' }, { path: 'wide.js' }],
    });
    expect(await s.answer(three, 'skip', { files: ['jam.js'] })).toMatchObject({
      outcome: 'recorded',
    });
    await s.answer(three, 'retry', { files: ['wide.js'], set: { outputBudget_tokens: 2048 } });
    expect(await s.end(three)).toMatchObject({ outcome: 'applied', files: ['ok.js', 'wide.js'] });
    await check(s, most.workflowId!, 'edit-step-applied-retried-and-skipped');
    expect([s.read('jam.js'), s.read('ok.js')]).toEqual([LONG, one(2)]);
    expect(s.read('wide.js')).toContain('much much');
  });
});

test('five files, the third truncates with every fallback: the pause shows the diff of four, which are approved and committed', async () => {
  const paths = ['one.js', 'two.js', 'three.js', 'four.js', 'five.js'];
  const s = (open = await scene(files(...paths), [
    BRIEF,
    { ...good('three.js'), fault: { kind: 'truncate', bytes: 20 } },
    ...paths.filter((path) => path !== 'three.js').map(good),
  ]));
  const first = await s.worker();
  const keys = `target_files: [${paths.join(', ')}]\napproval: auto\ntest: grep -q 1 three.js\ncommit: true`;
  const run = await s.start('five.md', job(keys));
  const paused = await s.settle(run);
  const { decision } = paused.status;
  expect(decision).toMatchObject({
    reason: 'truncation',
    files: [{ path: 'three.js' }],
    accepts: ['retry', 'manual', 'skip', 'approve', 'abort'],
    proposalId: paused.proposal?.id,
  });
  expect(paused.status.counts).toMatchObject({ done: 4, failed: 1 });
  expect(paused.ledger.map(({ path, status, attempts }) => [path, status, attempts > 1])).toEqual(
    paths.map((path) => [path, path === 'three.js' ? 'failed' : 'done', path === 'three.js']),
  );
  const numbers = (await s.events(run)).flatMap((event) =>
    event.type === 'fallback' ? [event.to] : [],
  );
  expect(numbers).toEqual([
    'output budget 32768 tokens',
    'output budget 64000 tokens',
    'format structured-edit',
  ]);
  // The combined diff of what is done, and nothing written.
  const diff = await diffText(s.emend, paused.proposal!);
  expect(diff.match(/^\+\+\+ b\/.*$/gm)).toEqual(
    ['five', 'four', 'one', 'two'].map((name) => `+++ b/${name}.js`),
  );
  for (const path of paths) expect(s.read(path)).toBe(one(1));
  await check(s, paused.workflowId!, 'edit-step-paused-in-part');
  // The worker dies at the pause; the next one goes on, and asks the model for nothing.
  const asked = s.rehearsal.requests().length;
  await first.kill();
  await s.worker();
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({
    outcome: 'committed',
    verification: 'pass',
    skipped: ['three.js'],
    wasSplit: true,
  });
  expect(s.rehearsal.requests()).toHaveLength(asked);
  expect(s.git('show', '--format=', '--name-only', 'HEAD').trim().split('\n').sort()).toEqual([
    'five.js',
    'four.js',
    'one.js',
    'two.js',
  ]);
  expect(s.read('three.js')).toBe(one(1));
  await check(s, paused.workflowId!, 'edit-step-committed-in-part');
});

describe('limits', () => {
  test('estimate, chunk limit, tokens: raised by retry, or the files that wait are left out', async () => {
    const paths = ['p.js', 'q.js', 'r.js', 't.js', 'u.js'];
    const s = (open = await scene(files(...paths), [
      BRIEF,
      { ...good('r.js'), usage: { input_tokens: 30_000 } },
      ...paths.map(good),
    ]));
    await s.worker();
    const start = (name: string, keys: string) =>
      s.start(`${name}.md`, job(`${keys}\napproval: auto`));

    const chunks = await start('chunks', 'target_files: [p.js, q.js]\nmaxTotalChunks: 1');
    const estimate = await s.settle(chunks);
    expect(estimate.status.decision).toMatchObject({ reason: 'estimate', files: [] });
    expect(s.rehearsal.requests()).toHaveLength(0);
    await check(s, estimate.workflowId!, 'edit-step-paused-estimate');
    await s.answer(chunks, 'retry');
    const limit = await s.settle(chunks);
    expect(limit.status.decision).toMatchObject({
      reason: 'chunk_limit',
      subject: 'maxTotalChunks',
      files: [{ path: 'q.js' }],
    });
    await check(s, limit.workflowId!, 'edit-step-paused-chunk-limit');
    await s.answer(chunks, 'retry');
    expect(await s.end(chunks)).toMatchObject({ outcome: 'applied', files: ['p.js', 'q.js'] });
    // What was accepted before the pause is not asked for again.
    expect(s.rehearsal.requests().map((request) => request.rule)).toEqual([
      'brief',
      'p.js',
      'q.js',
    ]);

    const budget = await start('budget', 'target_files: [r.js, t.js]\nbudget_tokens: 20000');
    const spent = await s.settle(budget);
    expect(spent.status.decision).toMatchObject({
      reason: 'budget',
      subject: 'budget_tokens',
      files: [{ path: 't.js' }],
    });
    await check(s, spent.workflowId!, 'edit-step-paused-budget');
    await s.answer(budget, 'skip');
    expect(await s.end(budget)).toMatchObject({ outcome: 'applied', files: ['r.js'] });
    expect(s.read('t.js')).toBe(one(1));

    const before = s.rehearsal.requests().length;
    const small = await start('small', 'target_files: [u.js]\nbudget_tokens: 100');
    expect((await s.settle(small)).status.decision?.reason).toBe('estimate');
    await s.answer(small, 'skip');
    expect(await s.end(small)).toMatchObject({ outcome: 'skipped', usage: { calls: 0 } });
    expect(s.rehearsal.requests()).toHaveLength(before);
  });
});
