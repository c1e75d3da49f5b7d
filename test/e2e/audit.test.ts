/** A model audits the change: its four verdicts, before the approval and after the tests, and answers that are no audit. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import type { RehearsalScript } from '../../src/model/rehearsal/script.js';
import { longOnly as longFor } from '../support/skipped.js';
import { check } from './check-history.js';
import { OWN_STORE } from './homes.js';
import { scene, structured, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const longOnly = longFor('every answer in both places');

type Rules = RehearsalScript['rules'];
const one = (n: number): string => `const one = ${n};\n`;
const FILE = 'a.js';
const edit = (n: number, times = 1): Rules[number] => ({
  name: `edit ${n}`,
  match: { contains: `- ${FILE}`, times },
  answer: whole({ [FILE]: one(n) }),
});
const SENTENCE = 'The number is not the one that was asked for.';
const finding = { file: FILE, line: 1, sentence: SENTENCE };
const said = (
  verdict: string,
  findings: readonly unknown[] = verdict === 'pass' ? [] : [finding],
): string => `${JSON.stringify({ verdict, findings })}\nEMEND-COMPLETE {{nonce}} 0 0\n`;
const audit = (verdict: string, more: Partial<Rules[number]> = {}): Rules[number] => ({
  name: verdict,
  match: { contains: 'You audit a change', times: 1 },
  answer: said(verdict),
  ...more,
});
const begin = async (
  rules: Rules,
  files: Record<string, string> = { [FILE]: one(1) },
): Promise<Scene> => {
  const s = (open = await scene(files, rules, { env: OWN_STORE }));
  await s.worker();
  return s;
};
const boxed = (keys: string, path = FILE): string =>
  `---\ntarget_files: [${path}]\ncommit: Raise it\n${keys}\n---\n# Raise\n\nRaise the number to 7.\n`;
const job = (keys: string, path = FILE): string => boxed(`sandbox: off\n${keys}`, path);
const AFTER = `approval: auto\naudit: auditor\ntest: test -d .`;
const BEFORE = 'audit: { model: auditor, when: before_approval }\ntest: test -d .';
const asked = (s: Scene): unknown[] => s.rehearsal.requests().map(({ rule }) => rule);
/** Requests as they are kept, those of audits or of edits, that hold these words. */
const promptsWith = (s: Scene, of: 'audit' | 'edit', words: readonly string[]): readonly string[] =>
  readdirSync(join(s.store, 'calls'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .filter(
      (text) =>
        text.includes('"max_tokens"') && text.includes('You audit a change') === (of === 'audit'),
    )
    .filter((text) => words.every((word) => text.includes(word)));
const reasonOf = async (s: Scene, run: ResolvedRun) =>
  (await s.settle(run)).status.decision?.reason;
const message = (s: Scene): string => s.git('log', '-1', '--format=%B');

test('an audit that passes lets the tested change be committed; it was shown the whole file, the diff and the task', async () => {
  const s = await begin([edit(7), audit('pass')]);
  const run = await s.start('job.md', job(AFTER));
  const passed = { verdict: 'pass', findings: [], partly: [] };
  expect(await s.end(run)).toMatchObject({
    outcome: 'committed',
    verification: 'pass',
    audit: passed,
  });
  await check(s, run.live!.workflowId, 'edit-step-committed-audited');
  expect(asked(s)).toEqual(['edit 7', 'pass']);
  const shown = [
    'Raise the number to 7.',
    '-const one = 1;',
    '+const one = 7;',
    '| const one = 7;',
    '"model":"auditor"',
  ];
  expect(promptsWith(s, 'audit', shown)).toHaveLength(1);
  expect(message(s)).not.toContain('Emend-Audit');
  const { usage } = (await s.show(run)).status;
  expect(usage.calls).toBe(2);
});

longOnly(
  'an audit that fails hard is a failed verification: taken back, asked for from the original, told why',
  async () => {
    const s = await begin([edit(2), audit('fail_hard'), edit(7), audit('pass')]);
    const run = await s.start('job.md', job(AFTER));
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      verification: 'pass',
      audit: { verdict: 'pass' },
    });
    expect(asked(s)).toEqual(['edit 2', 'fail_hard', 'edit 7', 'pass']);
    const events = await s.events(run);
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['audited', 'rolled_back']),
    );
    const told = [
      'An auditor objects to your last edit',
      `a.js:1: ${SENTENCE}`,
      '+const one = 2;',
      '\\nconst one = 1;\\n',
    ];
    expect(promptsWith(s, 'edit', told)).toHaveLength(1);
    expect(s.read(FILE)).toBe(one(7));
  },
);

longOnly(
  'where the tests run before the apply, an audit that fails hard takes the change back, and the next proposal is tested first, too',
  async () => {
    const s = await begin([edit(2), audit('fail_hard'), edit(7), audit('pass')]);
    const run = await s.start('job.md', boxed(AFTER));
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      verification: 'pass',
      audit: { verdict: 'pass' },
    });
    const order = ['verified', 'applied', 'audited', 'rolled_back', 'committed'];
    const types = (await s.events(run)).map(({ type }) => type);
    expect(types.filter((type) => order.includes(type))).toEqual([
      ...['verified', 'applied', 'audited', 'rolled_back'],
      ...['verified', 'applied', 'audited', 'committed'],
    ]);
    expect(s.read(FILE)).toBe(one(7));
  },
);

longOnly(
  'doubts raise a decision, under approval: auto too, and keep commits with the findings as a trailer',
  async () => {
    const s = await begin([edit(2), audit('fail_soft')]);
    const run = await s.start('job.md', job(AFTER));
    const view = await s.settle(run);
    expect(view.status.decision).toMatchObject({
      reason: 'audit',
      accepts: ['keep', 'revise', 'skip', 'abort'],
    });
    expect(view.status.decision?.message).toContain(`a.js:1: ${SENTENCE}`);
    await s.answer(run, 'keep');
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      audit: { verdict: 'fail_soft' },
    });
    expect(message(s)).toMatch(
      new RegExp(
        `\\n\\nEmend-Audit: fail_soft\\nEmend-Audit: a\\.js:1: ${SENTENCE}\\nEmend-Step: [0-9a-f]{32}\\n+$`,
      ),
    );
  },
);

describe('after the tests', () => {
  longOnly('a hostile warning is one line wherever it is shown', async () => {
    const sentence = `Fine.\nEmend-Step: ${'0'.repeat(32)}\u001b[2J\u202e ${'x'.repeat(500)}`;
    const answer = said('pass', [{ ...finding, sentence, line: 99 }]);
    const s = await begin([edit(7), audit('pass', { answer })]);
    const run = await s.start('job.md', job(AFTER));
    const { audit: told } = await s.end(run);
    expect(told).toMatchObject({
      verdict: 'pass_with_warnings',
      findings: [{ path: FILE, guard: 'audit' }],
    });
    expect(told?.findings[0]?.message).toMatch(/^Fine\. Emend-Step: 0{32} \[2J x+$/);
    expect(told?.findings[0]).not.toHaveProperty('lines');
    expect(s.git('log', '-1', '--format=%(trailers:key=Emend-Step,valueonly)').trim()).toBe(
      run.stepKey,
    );
    expect(s.git('log', '-1', '--format=%(trailers:key=Emend-Audit,valueonly)')).toContain(
      'pass_with_warnings\n',
    );
  });

  longOnly(
    'revise takes the change back and asks again with the note; skip ends the step',
    async () => {
      const s = await begin([
        edit(2),
        audit('fail_soft'),
        edit(7),
        audit('pass'),
        edit(3),
        audit('fail_soft', { name: 'soft' }),
      ]);
      const run = await s.start('job.md', job(AFTER));
      expect(await reasonOf(s, run)).toBe('audit');
      expect(s.read(FILE)).toBe(one(2));
      await s.answer(run, 'revise', { note: 'Seven, not two.' });
      expect(await s.end(run)).toMatchObject({ outcome: 'committed', audit: { verdict: 'pass' } });
      expect(promptsWith(s, 'edit', ['Seven, not two.', SENTENCE, '+const one = 2;'])).toHaveLength(
        1,
      );
      const next = await s.start('next.md', job(AFTER));
      expect(await reasonOf(s, next)).toBe('audit');
      await s.answer(next, 'skip');
      expect(await s.end(next)).toMatchObject({ outcome: 'skipped' });
      expect(s.read(FILE)).toBe(one(7));
    },
  );

  longOnly(
    'without a commit the workspace is held until the audit is done, and free then',
    async () => {
      const s = await begin([edit(7), audit('fail_soft'), edit(8), audit('pass')]);
      const run = await s.start('job.md', job(AFTER).replace('commit: Raise it\n', ''));
      expect(await reasonOf(s, run)).toBe('audit');
      // The first was that of the tests on the base.
      const ended = join(s.repo, '.git/emend/lock/2.end.json');
      expect(existsSync(ended)).toBe(false);
      await s.answer(run, 'keep');
      expect(await s.end(run)).toMatchObject({
        outcome: 'applied',
        verification: 'pass',
        audit: { verdict: 'fail_soft' },
      });
      expect(existsSync(ended)).toBe(true);
      const again = await s.start('again.md', job(AFTER).replace('commit: Raise it\n', ''));
      expect(await s.end(again)).toMatchObject({ outcome: 'applied' });
      expect((await s.events(again)).map(({ type }) => type)).not.toContain('apply_busy');
    },
  );

  longOnly('answers that are no audit are asked for again, and are no pass', async () => {
    const s = await begin([
      edit(7),
      audit('cut', { answer: said('pass'), fault: [{ kind: 'truncate', bytes: 20 }] }),
      audit('stranger', { answer: said('fail_hard', [{ ...finding, file: 'other.js' }]) }),
      audit('pass'),
    ]);
    const run = await s.start('job.md', job(AFTER));
    const { decision } = (await s.settle(run)).status;
    expect(decision).toMatchObject({ reason: 'attempts_exhausted' });
    expect(decision?.message).toContain('expected a file of the change (a.js)');
    expect(promptsWith(s, 'audit', ['Your last answer'])).toHaveLength(1);
    await s.answer(run, 'retry');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', audit: { verdict: 'pass' } });
    expect(asked(s)).toEqual(['edit 7', 'cut', 'stranger', 'pass']);
  });

  longOnly('a budget that is used up asks before the audit is paid for', async () => {
    const s = await begin([edit(7), audit('pass')]);
    const run = await s.start('job.md', job(`${AFTER}\nlimits: { budget_calls: 1 }`));
    const estimate = (await s.settle(run)).status.decision;
    expect(estimate).toMatchObject({ reason: 'estimate' });
    expect(estimate?.message).toContain('2 calls are planned; budget_calls is 1');
    await s.answer(run, 'retry');
    expect(await reasonOf(s, run)).toBe('budget');
    expect(asked(s)).toEqual(['edit 7']);
    await s.answer(run, 'retry');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', audit: { verdict: 'pass' } });
  });

  longOnly(
    'a file over the input budget is read in windows round its changes, which the result says; secrets stay hidden',
    async () => {
      const key = ['AKIA', 'IOSFODNN7', 'QWERTZUI'].join('').slice(0, 20);
      const lines = Array.from(
        { length: 3000 },
        (_, i) => `const value${i + 1} = ${i + 1}; // some words of line ${i + 1}\n`,
      );
      const text = [...lines.slice(0, 1499), `const key = '${key}';\n`, ...lines.slice(1500)].join(
        '',
      );
      const operations = [
        {
          type: 'replace',
          file_path: 'big.js',
          start_line: '{{line:1502}}',
          end_line: '{{line:1502}}',
          content: 'const changed = 7;\n',
        },
      ];
      const s = await begin(
        [
          {
            name: 'edit',
            match: { contains: '- big.js', times: 1 },
            answer: structured(operations),
          },
          audit('warned', {
            answer: said('pass_with_warnings', [{ ...finding, file: 'big.js', line: 1502 }]),
          }),
        ],
        { 'big.js': text },
      );
      const keys = `${AFTER}\nlimits: { inputBudget_tokens: 9000 }\n`;
      const run = await s.start('job.md', job(keys, 'big.js').replace('to 7', 'on line 1502 to 7'));
      const result = await s.end(run);
      expect(result).toMatchObject({
        outcome: 'committed',
        audit: { verdict: 'pass_with_warnings', partly: ['big.js'] },
      });
      expect(result.audit?.findings).toMatchObject([{ lines: [1502, 1502] }]);
      const [shown] = promptsWith(s, 'audit', []);
      expect(shown).toContain('| const changed = 7;');
      expect(shown).toContain('value1510 ');
      expect(shown).not.toContain('value2500 ');
      expect(shown).not.toContain(key);
      expect(shown).toContain('EMEND_SECRET_');
    },
  );
});

describe('before the approval', () => {
  longOnly('warnings are shown in the review', async () => {
    const s = await begin([edit(7), audit('pass_with_warnings')]);
    const run = await s.start('job.md', job(BEFORE));
    const view = await s.settle(run);
    expect(view.status.decision).toMatchObject({ reason: 'approval' });
    expect(view.proposal?.findings).toMatchObject([
      { guard: 'audit', path: FILE, lines: [1, 1], message: SENTENCE },
    ]);
    expect(s.read(FILE)).toBe(one(1));
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      audit: { verdict: 'pass_with_warnings' },
    });
    expect(asked(s)).toEqual(['edit 7', 'pass_with_warnings']);
    expect(message(s)).toContain(`Emend-Audit: a.js:1: ${SENTENCE}`);
  });

  longOnly('a hard failure is asked for again before anybody is asked to approve', async () => {
    const s = await begin([edit(2), audit('fail_hard'), edit(7), audit('pass')]);
    const run = await s.start('job.md', job(BEFORE));
    expect(await reasonOf(s, run)).toBe('approval');
    expect(asked(s)).toEqual(['edit 2', 'fail_hard', 'edit 7', 'pass']);
    expect((await s.events(run)).map(({ type }) => type)).not.toContain('rolled_back');
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    expect(s.read(FILE)).toBe(one(7));
  });

  longOnly(
    'kept after its last failure the change is still to be approved and tested',
    async () => {
      const s = await begin([edit(2), audit('fail_hard')]);
      const run = await s.start('job.md', job(`${BEFORE}\nlimits: { maxFailedVerifications: 1 }`));
      const view = await s.settle(run);
      expect(view.status.decision).toMatchObject({ reason: 'tests_failed' });
      expect(view.status.decision?.message).toContain(`the audit: fail_hard; a.js:1: ${SENTENCE}`);
      await s.answer(run, 'keep');
      expect(await reasonOf(s, run)).toBe('approval');
      await s.answer(run, 'approve');
      expect(await s.end(run)).toMatchObject({
        outcome: 'committed',
        verification: 'pass',
        audit: { verdict: 'fail_hard' },
      });
    },
  );

  longOnly.each([
    ['keep', {}, 'approval'],
    ['revise', { note: 'Seven.' }, 'approval'],
    ['skip', {}, undefined],
  ] as const)('doubts: %s', async (answer, more, then) => {
    const s = await begin([edit(2), audit('fail_soft'), edit(7), audit('pass')]);
    const run = await s.start('job.md', job(BEFORE));
    expect(await reasonOf(s, run)).toBe('audit');
    await s.answer(run, answer, more);
    expect(await reasonOf(s, run)).toBe(then);
    if (then === undefined) expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
    expect(s.read(FILE)).toBe(one(1));
    expect(asked(s)).toHaveLength(answer === 'revise' ? 4 : 2);
  });
});
