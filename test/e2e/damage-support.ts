/** Damages one file of a home, types the commands that its user would type then, lets a worker bring every run to its end, and checks both. */
import {
  chmodSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { decide, resolveRun, showRun, type ResolvedRun } from '../../src/client/index.js';
import { fakeIo } from '../cli/io.js';
import { randomFrom, seed } from '../support/seeded.js';
import { mendHook, OPEN_STATES, STATES, type EveryState, type State } from './every-state.js';

const KINDS = ['flipped', 'truncated', 'missing'] as const;
interface Damage {
  readonly path: string;
  readonly kind: (typeof KINDS)[number];
  /** Byte that is changed, or at which the file ends. */
  readonly offset: number;
}

/** Files that Emend itself writes: damages of the server's database have a test of their own. */
const damageable = (home: string): readonly string[] =>
  readdirSync(home, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.startsWith('server/') && statSync(join(home, path)).isFile())
    .sort();

/** The kind of a file: its path without what names a run or a content. */
const kindOfFile = (path: string): string =>
  path.replaceAll(/[0-9a-f]{8,}|\d+/g, '*').replace(/^blobs\/.*/, 'blobs');

/** Draws the kind of file first: there are far more contents than logs. */
const damageOne = (home: string, random: () => number): Damage => {
  const one = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const files = damageable(home);
  const chosen = one([...new Set(files.map(kindOfFile))].sort());
  const path = one(files.filter((name) => kindOfFile(name) === chosen));
  const offset = Math.floor(random() * statSync(join(home, path)).size);
  return { path, kind: one(KINDS), offset };
};

const inflict = (home: string, { path, kind, offset }: Damage): void => {
  const full = join(home, path);
  if (kind === 'missing') {
    rmSync(full);
    return;
  }
  chmodSync(full, 0o600);
  if (kind === 'truncated') {
    truncateSync(full, offset);
    return;
  }
  const bytes = readFileSync(full);
  bytes[offset] = (bytes[offset] ?? 0) ^ 0x10;
  writeFileSync(full, bytes);
};

const REF = /sha256:([0-9a-f]{64})/g;
const refsIn = (text: string): readonly string[] =>
  [...text.matchAll(REF)].map(([, hash]) => hash ?? '');

/** Hashes of the contents that the files of a run name, and of those that these name. */
const contentsOf = (s: EveryState, state: State): ReadonlySet<string> => {
  const read = (path: string): string => readFileSync(join(s.kept, path), 'latin1');
  const all = damageable(s.kept);
  const own = all.filter((path) => path.includes(s.runs[state].stepKey));
  const found = new Set(own.flatMap((path) => refsIn(read(path))));
  for (const hash of found) {
    const path = `blobs/${hash.slice(0, 2)}/${hash}`;
    for (const more of all.includes(path) ? refsIn(read(path)) : []) found.add(more);
  }
  return found;
};

/** Runs that the damage may keep from their end. A content that only a history names, and the trust in a repository, may be any run's. */
const ownersIn = (s: EveryState, { path }: Damage): readonly State[] => {
  const owners = STATES.filter((state) => path.includes(s.runs[state].stepKey));
  if (owners.length > 0) return owners;
  if (path.startsWith('trust/')) return STATES;
  const hash = /^blobs\/..\/([0-9a-f]{64})$/.exec(path)?.[1];
  if (hash === undefined) return [];
  const naming = STATES.filter((state) => contentsOf(s, state).has(hash));
  return naming.length > 0 ? naming : STATES;
};

/** A command, typed in the workspace of a run. */
export const typed = async (s: EveryState, ...args: readonly string[]) => {
  const io = fakeIo({ env: s.env, cwd: s.repo });
  const code = await main(args, io);
  return { command: args.join(' '), code, text: `${io.printed.out}${io.printed.err}` };
};

const UNNAMED = /Unexpected error|^\s+at .*:\d+:\d+|This is a bug|\b(?:Type|Syntax|Range)Error\b/m;
const EXITS = [0, 1, 2, 3, 4, 5, 6, 7];
/** What is wrong with what a command printed: an error without a name, or an errno without the path that it is about. */
const faultOf = ({ text, code }: Awaited<ReturnType<typeof typed>>): string | null => {
  if (!EXITS.includes(code)) return `exit code ${code}`;
  const unnamed = UNNAMED.exec(text)?.[0];
  if (unnamed !== undefined) return unnamed;
  const lines = text.split('\n');
  return (
    lines.find(
      (line) => /\bE(?:[A-Z]{4,})\b/.test(line.replaceAll(/EMEND\w*/g, '')) && !line.includes('/'),
    ) ?? null
  );
};

const END_MS = 90_000;

/** Answers the decision of a run, if it is the one that this run waits for; else returns what it waits for. */
const answer = async (
  s: EveryState,
  run: ResolvedRun,
  expected: 'approve' | 'retry',
): Promise<string | null> => {
  const { decision, result } = (await s.settle(run, END_MS / 1000)).status;
  if (decision === null) return result === null ? 'no decision' : null;
  const isMeant =
    expected === 'approve' ? decision.reason === 'approval' : decision.message.includes('hook');
  if (!isMeant) return `${decision.reason}: ${decision.message}`;
  await decide(s.emend, run, {
    answer: expected,
    by: { name: 'tester', from: 'cli' },
    decision: decision.id,
  });
  return null;
};

/** The outcome of a run; of one that does not end the question that it, or a phase of it, asks. */
const endOf = async (
  s: EveryState,
  run: ResolvedRun,
  phases: readonly ResolvedRun[],
): Promise<string> => {
  const limit = Date.now() + END_MS;
  while (Date.now() < limit) {
    const views = [await showRun(s.emend, run)];
    for (const phase of phases) views.push(await showRun(s.emend, phase));
    const { result } = views[0]!.status;
    if (result !== null) return result.outcome;
    const question = views.find(({ status }) => status.decision !== null)?.status.decision;
    if (question != null) return `${question.reason}: ${question.message}`;
    await sleep(200);
  }
  return `late: ${JSON.stringify((await showRun(s.emend, run)).status.doing)}`;
};

/** The runs whose decisions the end of a run waits for. */
const askedRuns = async (s: EveryState, state: State): Promise<readonly ResolvedRun[]> => {
  if (state === 'running') return [];
  if (state !== 'plan') return [s.runs[state]];
  const plan = s.runs.plan.stepKey.slice(0, 8);
  return Promise.all(['p1-1', 'p2-1'].map((phase) => resolveRun(s.emend, `${plan}-${phase}`)));
};

/** Brings an open run to its end, as far as the damage lets it. */
const finish = async (s: EveryState, state: State): Promise<string> => {
  const run = s.runs[state];
  if (state === 'hooked') mendHook(s);
  const waiting = await askedRuns(s, state);
  for (const child of waiting) {
    const other = await answer(s, child, state === 'hooked' ? 'retry' : 'approve');
    if (other !== null) return other;
  }
  return endOf(s, run, state === 'plan' ? waiting : []);
};

interface Followed {
  /** Errors without a name. */
  readonly faults: readonly string[];
  /** Runs that neither `emend list` shows nor `emend doctor --deep` names. */
  readonly unlisted: readonly State[];
  /** Runs that `emend show` refuses. */
  readonly hidden: readonly State[];
  /** Outcomes of the open runs, or what they wait for; null: no worker was started. */
  readonly ends: Readonly<Partial<Record<State, string>>> | null;
  readonly commits: Readonly<Record<State, number>>;
  /** Calls of the model: all responses were recorded before. */
  readonly paid: number;
}

/** `shown`: the runs that `emend show` is typed for. */
export const whatFollows = async (
  s: EveryState,
  { withWorker, shown }: { readonly withWorker: boolean; readonly shown: readonly State[] },
): Promise<Followed> => {
  const before = s.rehearsal.requests().length;
  const faults: string[] = [];
  const type = async (...args: readonly string[]) => {
    const result = await typed(s, ...args);
    const fault = faultOf(result);
    if (fault !== null) faults.push(`${result.command}: ${fault}`);
    return result;
  };
  await s.startServer();
  const listed = (await type('list')).text;
  const isWhole = STATES.every((state) => listed.includes(s.runs[state].stepKey.slice(0, 8)));
  const named = isWhole ? listed : `${listed}${(await type('doctor', '--deep')).text}`;
  const hidden: State[] = [];
  for (const state of shown)
    if ((await type('show', s.runs[state].stepKey)).code !== 0) hidden.push(state);
  await type('recover');
  await type('gc', '--older-than', '0');
  const ends = withWorker ? await endsUnderWorker(s) : null;
  if (withWorker) await type('list');
  await s.stop();
  return {
    faults,
    unlisted: STATES.filter((state) => !named.includes(s.runs[state].stepKey.slice(0, 8))),
    hidden,
    ends,
    commits: Object.fromEntries(STATES.map((state) => [state, s.commitsOf(state)])) as Record<
      State,
      number
    >,
    paid: s.rehearsal.requests().length - before,
  };
};

export const endsUnderWorker = async (s: EveryState): Promise<Partial<Record<State, string>>> => {
  await s.worker();
  const ends = await Promise.all(
    OPEN_STATES.map(async (state) => [state, await finish(s, state)] as const),
  );
  return Object.fromEntries(ends);
};

const ENDS: Readonly<Record<string, string>> = {
  running: 'committed',
  waiting: 'committed',
  hooked: 'committed',
  plan: 'completed',
};
/** After an end as above; the plan commits two phases, their merge and marks. */
const COMMITS: Readonly<Record<State, number>> = {
  running: 1,
  waiting: 1,
  applied: 0,
  hooked: 1,
  committed: 1,
  aborted: 0,
  terminated: 0,
  plan: 5,
};
/** The message of a decision names the file, or the content in it. */
const NAMES = /sha256:[0-9a-f]{8}|\/home\/|steps\//;

/** Expects what a damage may change, and nothing else. `damage` null: nothing is damaged. */
export const checkDamage = (s: EveryState, damage: Damage | null, found: Followed): void => {
  const owners = damage === null ? [] : ownersIn(s, damage);
  const others = STATES.filter((state) => !owners.includes(state));
  expect(found.faults).toEqual([]);
  expect(found.unlisted).toEqual([]);
  expect(others.filter((state) => found.hidden.includes(state))).toEqual([]);
  expect(found.paid).toBe(0);
  for (const state of STATES)
    expect({ state, many: found.commits[state] > COMMITS[state] }).toEqual({ state, many: false });
  if (found.ends === null) return;
  const ends = found.ends;
  const expected = OPEN_STATES.filter((state) => others.includes(state));
  expect(Object.fromEntries(expected.map((state) => [state, ends[state]]))).toEqual(
    Object.fromEntries(expected.map((state) => [state, ENDS[state]])),
  );
  for (const state of owners.filter((owner) => OPEN_STATES.includes(owner)))
    if (ends[state] !== ENDS[state]) expect(ends[state]).toMatch(NAMES);
};

/** Without a worker every fourth run is shown, each time others. */
const SHOWN_EVERY = 4;

/** Puts everything back, makes the n-th damage that the seed draws, and checks what follows. */
export const tryDamage = async (s: EveryState, n: number, withWorker: boolean): Promise<void> => {
  s.restore();
  const damage = damageOne(s.home, randomFrom(seed + n));
  inflict(s.home, damage);
  const shown = STATES.filter((_, index) => withWorker || index % SHOWN_EVERY === n % SHOWN_EVERY);
  const found = await whatFollows(s, { withWorker, shown });
  try {
    checkDamage(s, damage, found);
  } catch (error) {
    throw new Error(`damage ${n} of seed ${seed}: ${JSON.stringify(damage)}`, { cause: error });
  }
};
