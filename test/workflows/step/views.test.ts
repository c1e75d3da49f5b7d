/** What a person reads: details in the Temporal UI, status, ledger and events. */
import { visible } from '../../../src/shared/text.js';
import { LISTED_TOLERANCES } from '../../../src/shared/tolerance-text.js';
import { describe, expect, test } from '@jest/globals';
import { type Answer, type PauseReason, ANSWERS_BY_REASON } from '../../../src/shared/decisions.js';
import { type MessageName, MESSAGES, readMessage } from '../../../src/shared/messages.js';
import { judge } from '../../../src/shared/validate-decision.js';
import { reduce } from '../../../src/workflows/step/reduce.js';
import { detailsOf, ledgerOf, resultOf, statusOf } from '../../../src/workflows/step/views.js';
import { eventsOf, titleLine } from '../../../src/workflows/frame/details.js';
import { inOrder, play, StepDriver, type Saying, type Words } from './step-driver.js';
import { drawn, sampled } from '../../support/seeded.js';
import type { Wanted } from './world.js';

const MOVES = 100; // More than a run with one file needs after its approval.

const paused = (
  reason: PauseReason,
  files: readonly string[] = ['a.ts'],
  message = 'why',
): StepDriver => {
  const driver = play({ files });
  driver.say(['revise', { note: 'again' }]);
  driver.dispatch({
    type: 'paused',
    pause: {
      reason,
      message,
      files: files.map((path) => ({ path, reason, message })),
      subject: null,
    },
  });
  return driver;
};

test("a commit's note is in the result", () => {
  const { state } = play({ files: ['a.ts'] });
  const result = { outcome: 'committed', commit: 'c1', note: 'your index lags' } as const;
  const committed = reduce(state, { type: 'committed', result }, 0);
  expect(resultOf(committed)).toMatchObject({
    outcome: 'committed',
    commit: 'c1',
    note: 'your index lags',
  });
});

describe('details', () => {
  test.each(Object.keys(ANSWERS_BY_REASON) as PauseReason[])(
    '%s: the message to send for each accepted answer, and it counts',
    (reason) => {
      const { state } = paused(reason);
      const details = detailsOf(state);
      const decision = state.decision!;
      const offered = [...details.matchAll(/^- `(\w+)` `(\{.*\})` \(/gm)].map(([, name, body]) => ({
        name: name as MessageName,
        // Where you must name something yourself, the body has a word in its place.
        body: JSON.parse(
          body!
            .replaceAll('PATH', 'a.ts')
            .replace('"repository": "…"', '"repository": "https://git.example/r.git"'),
        ) as { readonly answer?: Answer },
      }));
      expect(offered.map(({ name, body }) => body.answer ?? name)).toEqual(decision.accepts);
      for (const { name, body } of offered) {
        expect(name === 'answer').toBe(!Object.hasOwn(MESSAGES, body.answer ?? name));
        expect(judge(state, readMessage(name, body))).toMatchObject({
          kind: 'counts',
          request: { decision: decision.id, answer: body.answer ?? name },
        });
      }
      for (const answer of decision.accepts)
        expect(details).toContain(`emend decide feedc0de ${answer} --decision ${decision.id}\``);
      expect(details).toContain(reason);
    },
  );

  test.each(Object.keys(ANSWERS_BY_REASON) as PauseReason[])(
    '%s: no flag, quote or row of dots is outside a code span, where the Temporal UI replaces it',
    (reason) => {
      const outside = detailsOf(paused(reason).state).replace(/`[^`]*`/g, '');
      expect(outside).not.toMatch(/--|"|\.\.\./);
    },
  );

  test('with approvers the messages that count without a signature are listed, and all commands with their meaning', () => {
    const { state } = play({ files: ['a.ts'] });
    const { id } = state.decision!;
    const details = detailsOf({ ...state, decision: { ...state.decision!, mustSign: true } });
    expect(details.match(/^- `\w+` `\{.*\}`/gm)).toEqual([`- \`abort\` \`{"decision": "${id}"}\``]);
    expect(details).toContain("count only with an approver's signature");
    expect(details).toContain(`\`emend decide feedc0de approve --decision ${id}\`: apply the`);
  });

  const CHARACTERS = [
    ['ASCII', 'x'],
    ['three bytes a character', '界'],
    ['four bytes a character', '🦔'],
  ] as const;
  test.each(sampled('characters', CHARACTERS, 1))(
    '1,000 files (in `npm test` 300) with long paths and reasons, %s: bounded in bytes, and what to paste is there',
    (_, character) => {
      const files = Array.from(
        { length: drawn(300, 1000) },
        (__, index) => `${character.repeat(400)}${index}.ts`,
      );
      const driver = paused('declined', files, character.repeat(900));
      const details = detailsOf(driver.state);
      expect(Buffer.byteLength(details)).toBeLessThan(20_000);
      for (const answer of ['skip', 'retry', 'abort'])
        expect(details).toContain(
          `- \`${answer}\` \`{"decision": "${driver.state.decision?.id ?? ''}"}\``,
        );
      expect(details).not.toContain('\uFFFD');
    },
  );

  const HOSTILE = [
    '[click](https://evil.example)',
    '![img](https://evil.example/p.png)',
    '<img src=x onerror=alert(1)>',
    'a`b`c',
    '``` x',
    'a|b|c',
    'line\n# heading',
    'line\r\n- [x] item',
    'back\\`slash',
    '**bold** _it_ https://evil.example',
    'a\u202Etxt.exe',
    'a\u2028# b',
    'zero\u200b width \u{E0041}',
    '\u0007bell\u001b[31m',
  ];
  test.each(HOSTILE)('%j as path, reason, message and signal is text, not markup', (text) => {
    const driver = paused('declined', ['a.ts', text], text);
    driver.dispatch({ type: 'ignored', what: text, why: text });
    const plain = detailsOf(paused('declined', ['a.ts', 'b.ts'], 'why').state).split('\n');
    const lines = detailsOf(driver.state).split('\n');
    // Nothing of theirs makes a line of its own (two are ours: what did not count).
    expect(lines.filter((line) => line !== '').length).toBe(
      plain.filter((line) => line !== '').length + 2,
    );
    for (const line of lines) {
      // Outside code spans there are only our own words.
      const outside = line.replace(/`[^`]*`/g, '');
      expect(outside).not.toContain('`');
      expect(outside).not.toMatch(/evil|onerror|bold|heading|item|bell|slash|zero/);
      expect(visible(line)).toBe(line);
      expect(line).not.toContain('\t');
    }
  });

  const CHECKS = {
    mustAsk: ['protected path .github/ci.yml: changes what runs elsewhere'],
    findings: [
      {
        guard: 'doubled_block',
        severity: 'ask',
        path: 'a.ts',
        lines: [3, 8],
        message: 'these lines occur twice',
      },
    ],
    tolerances: ['indent a.ts:4'],
  } as const;
  test('an approval lists protected paths, findings and tolerances before the answers', () => {
    const { state } = play({ files: ['a.ts'], ...CHECKS });
    expect(state.decision?.reason).toBe('approval');
    const lines = detailsOf(state).split('\n');
    const at = lines.indexOf('Check before you approve:');
    expect(lines.slice(at + 2, at + 6)).toEqual([
      '- `check: protected path .github/ci.yml: changes what runs elsewhere`',
      '- `ask: doubled_block in a.ts, lines 3 to 8: these lines occur twice`',
      '- `tolerance used: indent in a.ts, line 4: uniform shift of indentation`',
      '',
    ]);
    expect(lines.findIndex((line) => line.startsWith('- `approve`'))).toBeGreaterThan(at + 5);
    expect(detailsOf(play({ files: ['a.ts'] }).state)).toContain('Nothing to check');
    expect(detailsOf(paused('declined').state)).not.toMatch(/Check before|Nothing to check/);
  });

  test('tolerances are listed also if no answer applies the proposal, and the result has those of applied files', () => {
    const tolerances = ['trailing_space a.ts:3', 'counts other.ts:1'];
    const driver = play({ files: ['a.ts'], tolerances });
    const sentence =
      '- `tolerance used: trailing_space in a.ts, line 3: answer and file differ in trailing white space`';
    expect(detailsOf({ ...driver.state, decision: null }).split('\n')).toContain(sentence);
    expect(
      detailsOf(driver.state)
        .split('\n')
        .filter((line) => line === sentence),
    ).toHaveLength(1);
    expect(resultOf(driver.state)).not.toHaveProperty('tolerances');
    driver.say('approve');
    driver.run(MOVES);
    expect(resultOf(driver.state)).toMatchObject({ tolerances: ['trailing_space a.ts:3'] });
  });

  test('an event and a result list so many tolerances, and count the others', () => {
    const tolerances = Array.from(
      { length: LISTED_TOLERANCES + 1 },
      (_, index) => `line_drift a.ts:${index + 1}`,
    );
    const driver = play({ files: ['a.ts'], tolerances });
    driver.say('approve');
    driver.run(MOVES);
    const listed = { tolerances: tolerances.slice(0, LISTED_TOLERANCES), moreTolerances: 1 };
    expect(driver.state.events.find(({ type }) => type === 'proposal_ready')).toMatchObject(listed);
    expect(resultOf(driver.state)).toMatchObject(listed);
    expect(detailsOf({ ...driver.state, decision: null })).toContain('1 more tolerance used');
  });

  test.each([
    ['attempts_exhausted', 'approve'],
    ['tests_failed', 'keep'],
    ['audit', 'keep'],
  ] as const)('%s lists them as well, because `%s` applies the proposal', (reason, answer) => {
    const { state } = play({ files: ['a.ts'], ...CHECKS });
    const accepts = [answer, 'skip'] as const;
    const decision = { ...state.decision!, reason, accepts };
    const lines = detailsOf({ ...state, decision }).split('\n');
    const heading = lines.indexOf('Check before you approve:');
    expect(lines[heading + 2]).toContain('protected path .github/ci.yml');
    const applies = { ...decision, accepts: ['skip'] as const };
    expect(detailsOf({ ...state, decision: applies })).not.toContain('Check before you approve');
  });

  test('1,000 findings with long messages: some are listed, the rest are counted, and the answers are there', () => {
    const [finding] = CHECKS.findings;
    const findings = Array.from({ length: 1000 }, (_, index) => ({
      ...finding,
      message: `${index} ${'🦔'.repeat(400)}`,
    }));
    const { state } = play({ files: ['a.ts'], findings });
    const details = detailsOf(state);
    const listed = details.match(/doubled_block/g)?.length ?? 0;
    expect(listed).toBeGreaterThan(1);
    expect(details).toContain(`- and ${1000 - listed} more: \`emend review feedc0de\``);
    expect(details).toContain(`- \`approve\` \`{"decision": "${state.decision?.id ?? ''}"}\``);
    expect(Buffer.byteLength(details)).toBeLessThan(20_000);
  });

  test.each([
    ['', undefined],
    [' · [Review page](<http://127.0.0.1:4711/#/run/feedc0de>)', 'http://127.0.0.1:4711'],
  ])('the first line is title, link to the review (%j) and commands', (link, page) => {
    const { input } = play({}).state;
    const key = { title: '*T*', stepKey: 'feedc0de' };
    expect(titleLine({ ...key, ...(page === undefined ? {} : { page }) })).toBe(
      `\`*T*\`${link} · \`emend review feedc0de\` · \`emend show feedc0de\``,
    );
    const { state } = play({});
    const [first] = detailsOf({ ...state, input: { ...input, ...(page && { page }) } }).split('\n');
    expect(first?.includes('/#/run/')).toBe(page !== undefined);
  });

  test('each command in the details of a phase names the phase, and not its plan', () => {
    const { state } = play({ files: ['a.ts'] });
    const stepKey = `${'0a1b2c3d'.repeat(4)}-p1-2`;
    const details = detailsOf({ ...state, input: { ...state.input, stepKey } });
    const named = [...details.matchAll(/`emend \w+ (\S+?)[ `]/g)].map(([, run]) => run);
    expect(named.length).toBeGreaterThan(4);
    expect(new Set(named)).toEqual(new Set(['0a1b2c3d-p1-2']));
  });

  test('a path that is under way is text as well', () => {
    const driver = new StepDriver({ files: ['<b>x</b>', 'b.ts'] }, () => undefined);
    driver.step();
    const [chunk] = driver.chunks();
    driver.dispatch({ type: 'chunk_started', chunk: chunk! });
    expect(detailsOf(driver.state).split('\n')[2]).toBe('**`file 1/2: <b>x</b>`**');
  });
});

/** What a person reads while a case is played. */
const shownIn = (wanted: Wanted, words: Words, decisions: readonly Saying[]): readonly string[] => {
  const driver = new StepDriver(wanted, inOrder(words));
  const lines: string[] = [];
  const remaining = [...decisions];
  while (driver.next() !== 'finish') {
    if (driver.next() === 'propose') {
      const [chunk] = driver.chunks();
      const state = reduce(driver.state, { type: 'chunk_started', chunk: chunk! }, 0);
      lines.push(statusOf(state).doing);
    }
    if (driver.next() !== 'await_decision') driver.step();
    else driver.say(remaining.shift() ?? 'abort');
  }
  return lines;
};

describe('status', () => {
  test('a file that failed is done with: the next one has the next number; what is asked again has none', () => {
    const files = ['a.ts', 'b.ts', 'c.ts'];
    const propose = { 'b.ts': ['invalid', 'declined'] };
    expect(
      shownIn({ files }, { propose }, ['retry', ['revise', { note: 'x' }], 'approve']),
    ).toEqual([
      ...[
        'file 1/3: a.ts',
        'file 2/3: b.ts',
        'file 2/3: b.ts',
        'file 3/3: c.ts',
        'asking again: b.ts',
      ],
      ...files.map((path) => `asking again: ${path}`),
    ]);
  });

  const words = {
    apply: ['busy', 'base_changed:b.ts'],
    verify: ['fail:x'],
    preflight: ['pick'],
    pick: ['picked:a.ts,b.ts'],
  } satisfies Words;
  const LONG: Wanted & { decisions: Saying[] } = {
    files: ['a.ts', 'b.ts'],
    ready: { test: { commands: ['npm test', 'npm run lint'], found: null }, briefWanted: true },
    decisions: ['approve', 'rebase', 'approve', 'skip'],
  };

  test('says in words what each stage does', () => {
    const driver = new StepDriver(LONG, inOrder(words));
    const decisions = [...LONG.decisions];
    const said = new Set<string>();
    for (let count = 0; count < 100 && driver.next() !== 'finish'; count += 1) {
      said.add(statusOf(driver.state).doing);
      if (driver.next() !== 'await_decision') driver.step();
      else driver.say(decisions.shift() ?? 'abort');
    }
    said.add(statusOf(driver.state).doing);
    expect([...said].sort()).toEqual(
      [
        'reading the files',
        'asking the model which files to edit',
        'writing a brief for all files',
        'choosing the next file',
        'building the proposal',
        'proposal ready',
        'waiting for a decision: approval',
        'waiting for a decision: conflict',
        'applying',
        'waiting for another step to unlock the workspace',
        'rebasing the proposal onto the current files',
        'running npm test && npm run lint',
        'rolling back',
        'skipped',
      ].sort(),
    );
  });

  test.each<[string, readonly Saying[], string, string]>([
    ['waiting', [], 'waiting', 'approval'],
    ['done', ['approve'], 'done', ''],
    ['done without a change', ['skip'], 'done', ''],
    ['aborted', ['abort'], 'aborted', ''],
  ])('%s', (_, decisions, state, reason) => {
    const status = statusOf(play({ decisions }).state);
    expect(status.state).toBe(state);
    expect(status.decision?.reason ?? '').toBe(reason);
    expect(status.result === null).toBe(state === 'waiting');
  });

  test('refused is failed, and says why', () => {
    const { state } = play({ words: { preflight: ['refused'] } });
    expect(statusOf(state)).toMatchObject({
      state: 'failed',
      result: { outcome: 'refused', problem: { code: 'target_missing' } },
    });
  });

  test('the ledger tells each file: status, attempts, reason, verdict', () => {
    const failed = play({
      files: ['a.ts', 'b.ts'],
      words: { propose: { 'b.ts': ['invalid', 'declined'] } },
    });
    expect(ledgerOf(failed.state)).toMatchObject([
      { path: 'a.ts', status: 'done', attempts: 1, reason: null, verdict: null },
      { path: 'b.ts', status: 'failed', attempts: 2, reason: 'declined: declined (b.ts)' },
    ]);
    const approved = play({ files: ['a.ts'], decisions: ['approve'] });
    expect(ledgerOf(approved.state)).toMatchObject([{ status: 'done', verdict: 'approve' }]);
  });

  test('the ledger of one call for all tells the fallback that it has reached', () => {
    const driver = play({ words: { propose: ['truncated>budget:32768', 'invalid', 'declined'] } });
    expect(ledgerOf(driver.state)).toMatchObject([{ attempts: 3, outputBudget_tokens: 32_768 }]);
  });

  const answered = (
    files: readonly string[],
    whole: boolean,
    propose: Words[string],
  ): StepDriver => {
    const combined = whole
      ? ({ format: 'whole-file', outputBudget_tokens: 16_384 } as const)
      : null;
    return play({ files, ready: { shouldSplit: !whole, combined }, words: { propose } });
  };
  const ANSWERS = [
    'truncated>budget:32768',
    'truncated>format',
    'invalid',
    'unmarked',
    'truncated>exhausted',
  ];
  test('the ledger counts every answer, with every fallback, and says what the limits allow', () => {
    // After n answers.
    for (let n = 1; n <= ANSWERS.length; n += 1) {
      const driver = new StepDriver(
        { files: ['a.ts', 'b.ts'] },
        inOrder({ propose: { 'a.ts': ANSWERS } }),
      );
      while (ledgerOf(driver.state)[0]?.attempts !== n && driver.next() !== 'await_decision')
        driver.step();
      const { attempts, attemptsLeft, callsLeft, status } = ledgerOf(driver.state)[0] ?? {};
      const refused = [0, 0, 1, 1][n - 1] ?? 2;
      const expected = refused < 2 ? { attemptsLeft: 2 - refused, callsLeft: 8 - n } : {};
      expect({ n, status, attempts, attemptsLeft, callsLeft }).toEqual({
        n,
        status,
        attempts: n,
        ...expected,
      });
    }
    // An answer about all files is one about each, whatever came of it.
    const counts = (...given: Parameters<typeof answered>) =>
      ledgerOf(answered(...given).state).map((row) => row.attempts);
    expect(counts(['a.ts', 'b.ts'], true, ['invalid', 'edited'])).toEqual([2, 2]);
    expect(
      counts(['a.ts', 'b.ts'], true, { '*': ['truncated>split'], 'b.ts': ['invalid'] }),
    ).toEqual([2, 3]);
    expect(counts(['a.ts'], true, ['declined'])).toEqual([1]);
  });

  test('answers before a retry and before a new base were made all the same; a model that is down gave none', () => {
    const retried = play({
      words: { propose: ['invalid', 'declined', 'edited'] },
      decisions: ['retry'],
    });
    expect(ledgerOf(retried.state)).toMatchObject([{ attempts: 3 }]);
    const anew = play({
      words: { apply: ['base_changed:a.ts'] },
      decisions: ['approve', 'regenerate'],
    });
    expect(ledgerOf(anew.state)).toMatchObject([{ attempts: 2 }]);
    const down = play({ words: { propose: ['down', 'down', 'edited'] } });
    expect(ledgerOf(down.state)).toMatchObject([{ attempts: 1 }]);
    expect(statusOf(down.state).chunksLeft).toBe(9);
  });
});

describe('events', () => {
  const { state } = play({ files: ['a.ts', 'b.ts'], decisions: ['approve'] });
  const all = eventsOf(state, undefined);

  test('page by page is all of them, each once, in order', () => {
    const paged: number[] = [];
    for (let after = 0; ;) {
      const page = eventsOf(state, { after, limit: 4 });
      if (page.length === 0) break;
      expect(page.length).toBeLessThanOrEqual(4);
      paged.push(...page.map((event) => event.seq));
      after = page.at(-1)?.seq ?? 0;
    }
    expect(paged).toEqual(all.map((event) => event.seq));
    expect(paged).toEqual(Array.from({ length: state.nextSeq - 1 }, (_, index) => index + 1));
  });

  test.each<[string, unknown, number]>([
    ['nothing', undefined, all.length],
    ['null', null, all.length],
    ['a text', 'x', all.length],
    ['texts in it', { after: '3', limit: 'x' }, all.length],
    ['no numbers', { after: Number.NaN, limit: Number.NaN }, all.length],
    ['a limit of nothing', { limit: 0 }, 1],
    ['a negative limit', { limit: -5 }, 1],
    ['after the last', { after: all.length }, 0],
  ])('%s', (_, query, count) => {
    expect(eventsOf(state, query as undefined)).toHaveLength(count);
  });
});
