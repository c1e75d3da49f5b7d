/**
 * A workspace, a model and their stores as plain maps: what the activities do, without files, processes or a server. A *word*
 * says what an activity gives (`truncated>split`, `busy`, `conflict:b.ts`); without one it does its natural work on the maps.
 */
import { createHash } from 'node:crypto';
import { LIMITS, TIMINGS, type Limits } from '../../../src/shared/limits.js';
import type { ModelDown } from '../../../src/shared/outage.js';
import { NO_USAGE, type StepUsage } from '../../../src/shared/usage.js';
import type { Finding, Format } from '../../../src/shared/formats.js';
import {
  leftOut,
  pathsToApply,
  repairable,
  selectedFiles,
} from '../../../src/workflows/step/selectors.js';
import { problem } from '../../../src/shared/problems.js';
import type {
  ApplyResult,
  CommitResult,
  HeldLock,
  RebaseResult,
  RollbackResult,
  ProposalSummary,
  BuildProposalResult,
} from '../../../src/shared/proposal-activities.js';
import type {
  PreflightResult,
  ProposeInput,
  ProposeResult,
} from '../../../src/shared/step-activities.js';
import type { RunTestsResult } from '../../../src/shared/test-activities.js';
import type { BlobRef } from '../../../src/shared/ids.js';
import type { ReadyPreflight, StepState } from '../../../src/workflows/step/state.js';

export const blob = (text: string): BlobRef =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`;
export const USAGE: StepUsage = {
  calls: 1,
  unknownCalls: 0,
  input_tokens: 100,
  output_tokens: 50,
  cacheRead_tokens: 0,
  cacheWrite_tokens: 0,
  usd: 0.01,
  seconds: 1,
};
/** `down` (529), `down>unreached`, `down>401`, `down>after:60` (retry-after, s). By the defaults. */
export const downOf = (how: string): ModelDown => ({
  message: 'Overloaded',
  wait:
    how === '401'
      ? null
      : {
          first_ms: TIMINGS.outageWait_ms.default ?? 0,
          most_ms: TIMINGS.outageMaxWait_ms.default ?? 0,
          total_ms: (LIMITS.modelOutage_s.default ?? 0) * 1000,
          retryAfter_ms: how.startsWith('after:') ? Number(how.slice(6)) * 1000 : 0,
        },
  unreached: how === 'unreached',
  mayBePaid: false,
});
const DEFAULT_LIMITS = Object.fromEntries(
  Object.entries(LIMITS).map(([name, spec]) => [name, spec.default]),
) as Limits;

/** What the job asks for; all of it optional. */
export interface Wanted {
  readonly files?: readonly string[];
  readonly ready?: Partial<ReadyPreflight>;
  readonly limits?: Partial<Limits>;
  readonly mustAsk?: readonly string[];
  readonly findings?: readonly Finding[];
  readonly tolerances?: readonly string[];
  /** Tests run on an overlay before the apply; absent: in the workspace after it. */
  readonly overlay?: true;
  /** Every edit has so many changes to choose among. */
  readonly changes?: number;
}
interface ProposedFile {
  readonly path: string;
  readonly base: string;
  readonly result: string;
  readonly by: 'model' | 'person';
}

const after = (word: string): readonly string[] => word.slice(word.indexOf(':') + 1).split(',');

const UNTRUSTED = {
  outcome: 'untrusted',
  hashes: ['0a'],
  message: 'emend.yaml: it changed',
} as const;
const isUntrusted = (word: string, { base }: StepState): boolean =>
  word === 'untrusted' && base.trusts?.includes('0a') !== true;

export class World {
  readonly disk = new Map<string, string>();
  readonly asked: Omit<ProposeInput, 'v' | 'stepKey' | 'log' | 'snapshot'>[] = [];
  commits: string[] = [];
  private bases = new Map<BlobRef, ReadonlyMap<string, string>>();
  private readonly results = new Map<
    BlobRef,
    { heads: readonly BlobRef[]; files: readonly (readonly [string, string])[] }
  >();
  private readonly proposals = new Map<BlobRef, readonly ProposedFile[]>();
  private readonly records = new Map<string, readonly string[]>();
  private answers = 0;
  private locks = 0;
  private readonly paths: readonly string[];
  private readonly wanted: Wanted;

  constructor(wanted: Wanted) {
    this.wanted = wanted;
    this.paths = wanted.files ?? ['a.ts'];
    this.elsewhere();
  }

  /** A copy of the directory, as it was when the run began. */
  elsewhere(): void {
    for (const path of this.paths) this.disk.set(path, `${path} base`);
  }

  /** A person saves a file. */
  touch(path: string): void {
    this.disk.set(path, `${this.disk.get(path) ?? ''}, saved`);
  }

  proposalFiles(ref: BlobRef): readonly ProposedFile[] {
    return this.proposals.get(ref) ?? [];
  }

  // ---------------------------------------------------------------------------------------------------------------- up to the proposal
  preflight(word: string, state: StepState): PreflightResult {
    // So much that no case reaches three times of it without wanting to.
    const estimate = {
      calls: 2,
      input_tokens: 100_000,
      output_tokens: 100_000,
      usd: 10,
      model: 'm',
      priced: null,
    };
    const budget_usd = this.wanted.limits?.budget_usd ?? null;
    if (word === 'pick')
      return { outcome: 'pick', snapshot: blob('file list'), estimate, budget_usd };
    const refused = { code: 'target_missing', message: 'a.ts is not there' } as const;
    if (word.startsWith('refused')) return { outcome: 'refused', problem: refused };
    if (isUntrusted(word, state)) return UNTRUSTED;
    const { number, ready, picked } = state.base;
    const snapshot = blob(`snapshot ${number}`);
    const before = ready === null ? undefined : this.bases.get(ready.snapshot);
    const only = state.stage.at === 'preflight' ? state.stage.only : null;
    const renewed = (path: string): boolean => only === null || only.includes(path);
    const chosen = picked ?? this.paths;
    const bases = chosen.map(
      (path) => [path, (renewed(path) ? this.disk.get(path) : before?.get(path)) ?? ''] as const,
    );
    this.bases.set(snapshot, new Map(bases));
    const shouldSplit = this.wanted.ready?.shouldSplit ?? chosen.length > 1;
    const targets = chosen.filter(renewed).map((path) => ({
      path,
      isNew: false,
      format: 'whole-file' as const,
      bucket: 'A' as const,
      lines: 10,
      bytes: 100,
      outputBudget_tokens: 16_384,
    }));
    return {
      outcome: 'ready',
      snapshot,
      limits: { ...DEFAULT_LIMITS, ...this.wanted.limits },
      approval: 'ask',
      requireMarker: true,
      targets,
      shouldSplit,
      splitReason: shouldSplit ? `${chosen.length} files` : 'one call',
      complexity: 'low',
      combined: shouldSplit ? null : { format: 'whole-file', outputBudget_tokens: 16_384 },
      briefWanted: false,
      test: { commands: [], found: null },
      commitMessage: 'Grow',
      estimate,
      overEstimate: [],
      warnings: [],
      ...(this.wanted.overlay === true ? {} : { testsAfterApply: 'there is no overlay here' }),
      ...this.wanted.ready,
    };
  }

  propose(word: string, input: Omit<ProposeInput, 'v' | 'stepKey' | 'log'>): ProposeResult {
    const { snapshot, ...shown } = input;
    this.asked.push(shown);
    const base = { usage: input.model === 'unpriced' ? { ...USAGE, usd: null } : USAGE } as const;
    const [outcome = 'edited', detail = ''] = word.split(/[>=]/);
    const message = `${outcome} (${input.file})`;
    switch (outcome) {
      case 'edited':
      case 'found':
      case 'unchanged': {
        const bases = this.bases.get(snapshot) ?? new Map<string, string>();
        const paths = input.file === '*' ? [...bases.keys()] : [input.file];
        // `edited=N` gives the same bytes wherever the same N stands.
        const version = detail === '' ? String((this.answers += 1)) : detail;
        const files = paths.map(
          (path) =>
            [
              path,
              outcome === 'unchanged' ? (bases.get(path) ?? '') : `${path} v${version}`,
            ] as const,
        );
        const accepted = blob(JSON.stringify([input.accepted, files, input.seq]));
        this.results.set(accepted, { heads: input.accepted, files });
        if (outcome === 'unchanged')
          return {
            ...base,
            outcome,
            accepted,
            changed: [],
            ...(detail === '' ? {} : { reason: detail }),
          };
        const repair = {
          message: 'a definition is gone',
          refusal: blob(`found ${this.asked.length}`),
          result: version,
        };
        return {
          ...base,
          outcome: 'edited',
          accepted,
          changed: paths,
          ...(outcome === 'found' ? { repair } : {}),
        };
      }
      case 'truncated': {
        const [kind = '', to = ''] = detail.split(':');
        const outputBudget_tokens = kind === 'budget' ? Number(to) : input.outputBudget_tokens;
        const next =
          kind === 'budget'
            ? ({ kind, outputBudget_tokens } as const)
            : kind === 'format'
              ? ({ kind, format: 'structured-edit', outputBudget_tokens } as const)
              : { kind: kind === 'split' ? ('split' as const) : ('exhausted' as const) };
        return {
          ...base,
          outcome,
          reason: 'the answer was cut off',
          stopReason: 'max_tokens',
          partialLength: 7,
          next,
        };
      }
      case 'invalid':
      case 'refused':
      case 'unmarked':
        return {
          ...base,
          outcome,
          message,
          refusal: blob(`refusal ${this.asked.length}`),
          ...(detail === 'repeated' ? { repeated: true } : {}),
          ...(detail.startsWith('format:')
            ? { next: detail.slice('format:'.length) as Format }
            : {}),
        };
      case 'declined':
      case 'prompt_cut':
      case 'call_lost':
        return { ...base, outcome, message };
      case 'secret':
        return {
          outcome: 'secret_found',
          message: `a secret in ${input.file}`,
          usage: NO_USAGE,
          files: detail === '' ? [input.file] : detail.split(','),
        };
      case 'down':
        return {
          outcome: 'model_unavailable',
          message: 'Overloaded',
          down: downOf(detail),
          usage: NO_USAGE,
        };
      default:
        throw new Error(`no such answer: ${word}`);
    }
  }

  build(word: string, state: StepState): BuildProposalResult {
    const bases =
      this.bases.get(state.base.ready?.snapshot ?? blob('')) ?? new Map<string, string>();
    if (word === 'empty') return { outcome: 'empty' };
    if (word.startsWith('refused'))
      return {
        outcome: 'refused',
        files: after(word).map((path) => ({
          path,
          message: `${path}: conflict markers`,
          refusal: blob(`build ${path}`),
        })),
      };
    const dangling = word.startsWith('dangling')
      ? after(word).filter((path) => repairable(state).includes(path))
      : [];
    if (dangling.length > 0)
      return {
        outcome: 'refused',
        files: dangling.map((path) => ({
          path,
          message: `${path} uses what is gone`,
          refusal: blob(`dangling ${path}`),
          findings: true,
        })),
      };
    const { exclude, manual } = leftOut(state);
    const out = new Set([...exclude, ...manual]);
    const latest = new Map<string, string>();
    const walk = (heads: readonly BlobRef[]): void => {
      for (const head of heads) {
        const result = this.results.get(head);
        if (result === undefined) throw new Error('an accepted result is not in the store');
        walk(result.heads);
        for (const [path, content] of result.files) latest.set(path, content);
      }
    };
    walk(state.edits.accepted);
    const ownBase = new Map<string, string>();
    for (const { proposal, files } of selectedFiles(state) ?? [])
      for (const { path, changes } of files) {
        const proposed = this.proposalFiles(proposal).find((file) => file.path === path);
        if (proposed === undefined)
          throw new Error('a file is taken from a proposal that does not have it');
        ownBase.set(path, proposed.base);
        latest.set(
          path,
          changes === null ? proposed.result : `${proposed.result}[${changes.join()}]`,
        );
      }
    const model = [...latest]
      .filter(([path]) => !out.has(path))
      .map(([path, result]) => ({ path, result, by: 'model' as const }));
    const person = manual.map((path) => ({
      path,
      result: this.disk.get(path) ?? '',
      by: 'person' as const,
    }));
    const files = [...model, ...person]
      .map((file) => ({ ...file, base: ownBase.get(file.path) ?? bases.get(file.path) ?? '' }))
      .filter((file) => file.base !== file.result);
    return files.length === 0
      ? { outcome: 'empty' }
      : { outcome: 'built', proposal: this.summary(files) };
  }

  private summary(
    files: readonly ProposedFile[],
    mustAsk = this.wanted.mustAsk ?? [],
  ): ProposalSummary {
    const hash = blob(JSON.stringify(files.map(({ path, base, result }) => [path, base, result])));
    this.proposals.set(hash, files);
    return {
      id: hash.slice(7),
      ref: hash,
      diff: blob(`diff ${hash}`),
      files: files.map(({ path, base, result, by }) => ({
        path,
        change: 'edit',
        by,
        added: 1,
        removed: 1,
        ...(this.wanted.changes === undefined ? {} : { changes: this.wanted.changes }),
        key: `${path}: ${base} -> ${result}`,
      })),
      findings: this.wanted.findings ?? [],
      tolerances: this.wanted.tolerances ?? [],
      mustAsk,
    };
  }

  // -------------------------------------------------------------------------------------------------------------- from apply to commit
  private takeLock(): HeldLock {
    this.locks += 1;
    return {
      token: this.locks,
      head: 'c0',
      headRef: 'refs/heads/main',
      takenAt: '2026-01-01T00:00:00.000Z',
    };
  }

  apply(word: string, state: StepState): ApplyResult {
    const lock = this.takeLock();
    const early = endsBeforeApply(word);
    if (early !== null) return early;
    const conflictsOf = (paths: readonly string[]) =>
      paths.map((path) => ({ path, why: 'saved meanwhile' }));
    const proposal = state.proposal;
    if (proposal === null) throw new Error('apply without a proposal');
    const wanted = new Set(pathsToApply(state));
    if (word === 'already_committed') {
      const committed = { proposal: proposal.ref, decision: 1, files: [...wanted] };
      return { outcome: word, lock, applications: [committed] };
    }
    const record = `${proposal.ref} ${state.applied.decision}`;
    const files = this.proposalFiles(proposal.ref).filter((file) => wanted.has(file.path));
    const closed = this.records.get(record);
    if (closed !== undefined) {
      const ours = files.filter((file) => file.by === 'model');
      // As in the engine: a closed record is not applied again; at its base somebody undid it.
      if (ours.length > 0 && ours.every((file) => this.disk.get(file.path) === file.base))
        return {
          outcome: 'conflict',
          conflicts: conflictsOf(ours.map((file) => file.path)),
          files: [],
          lock,
        };
      return { outcome: 'applied', files: closed, lock };
    }
    if (word.startsWith('base_changed')) for (const path of after(word)) this.touch(path);
    const changed = files.filter(
      (file) => this.disk.get(file.path) !== (file.by === 'person' ? file.result : file.base),
    );
    if (changed.length > 0)
      return { outcome: 'base_changed', conflicts: conflictsOf(changed.map((file) => file.path)) };
    if (word.startsWith('conflict')) for (const path of after(word)) this.touch(path);
    const saved = files
      .filter((file) => file.by === 'model' && this.disk.get(file.path) !== file.base)
      .map((file) => file.path);
    const written = files.filter((file) => !saved.includes(file.path));
    for (const file of written) this.disk.set(file.path, file.result);
    const done = written.map((file) => file.path);
    this.records.set(record, done);
    if (saved.length > 0)
      return { outcome: 'conflict', conflicts: conflictsOf(saved), files: done, lock };
    return { outcome: 'applied', files: done, lock };
  }

  rebase(word: string, state: StepState): RebaseResult {
    if (word === 'empty') return { outcome: 'empty' };
    if (word.startsWith('conflict'))
      return {
        outcome: 'conflict',
        conflicts: after(word).map((path) => ({ path, why: 'same lines' })),
      };
    const { exclude } = leftOut(state);
    const ref = state.proposal?.ref;
    if (ref === undefined) throw new Error('rebase without a proposal');
    const only = state.stage.at === 'rebase' ? state.stage.files : null;
    const files = this.proposalFiles(ref)
      .filter((file) => !exclude.includes(file.path))
      .map((file): ProposedFile => {
        if (only !== null && !only.includes(file.path)) return file;
        const now = this.disk.get(file.path) ?? '';
        return { ...file, base: now, result: `${file.result} on ${now}` };
      });
    return {
      outcome: 'built',
      proposal: this.summary(files, ['files changed after the proposal']),
    };
  }

  /** `pass`, `pass_with_warnings`, `no_tests`, `fail:<signature>`, `transient:<signature>`, and what the sandbox and changed files come to. */
  /** `pass`, `fail:<signature>`, `transient`, …; `unbound`: they pass on a base without a hash. */
  runTests(on: 'applied' | 'proposal', word: string): RunTestsResult {
    if (word === 'no_sandbox') return { outcome: word, why: word };
    if (word === 'no_overlay') return { outcome: word, reason: word };
    if (word === 'changed_files') return { outcome: word, by: 'tests', files: ['a.ts'] };
    const base = {
      kind: null,
      transient: false,
      signature: null,
      summary: word,
      output: null,
      seconds: 1,
      suggestions: [],
      on,
      baseHash: on === 'applied' || word === 'unbound' ? null : 'base hash',
    } as const;
    if (word === 'unbound') return { ...base, outcome: 'pass' };
    if (word === 'pass' || word === 'no_tests') return { ...base, outcome: word };
    if (word === 'pass_with_warnings')
      return { ...base, outcome: word, warnings: ['x is deprecated'] };
    if (word === 'writes')
      return {
        ...base,
        outcome: 'pass',
        written: ['reports/after'],
        notWritten: [{ path: 'reports/link', reason: 'it is a link' }],
      };
    const [kind, signature = null] = word.split(':');
    return {
      ...base,
      outcome: 'fail_hard',
      kind: 'test_failure',
      transient: kind === 'transient',
      signature,
      output: blob(`output ${word}`),
    };
  }

  /** `pass`, `fail`, `missing`, `inside` and `refused` (fails in the sandbox; it says so), `blocked`, `no_sandbox`. */
  testBase(word: string): RunTestsResult {
    if (word === 'no_sandbox') return { outcome: word, why: word };
    const base = { on: 'base', summary: word, base: blob(`base ${word}`) } as const;
    if (word === 'blocked') return { ...base, outcome: 'pass', blocked: word };
    if (word === 'writes') return { ...base, outcome: 'pass', written: ['reports/before'] };
    if (word === 'inside' || word === 'refused') {
      const outside = { message: `may run outside: ${word}`, isRefused: word === 'refused' };
      return { ...base, outcome: 'fail', outside };
    }
    return { ...base, outcome: word === 'fail' || word === 'missing' ? word : 'pass' };
  }

  rollback(state: StepState): RollbackResult {
    const committed = this.commits.at(-1);
    if (committed !== undefined) return { files: [], leftAlone: [], commit: committed };
    const files: string[] = [];
    const kept: { path: string; why: string }[] = [];
    for (const done of [...state.applied.all].reverse())
      for (const file of this.proposalFiles(done.proposal)) {
        if (file.by === 'person' || !done.files.includes(file.path)) continue;
        if (this.disk.get(file.path) === file.result) {
          this.disk.set(file.path, file.base);
          files.push(file.path);
        } else if (this.disk.get(file.path) !== file.base)
          kept.push({ path: file.path, why: 'saved meanwhile' });
      }
    return { files: [...new Set(files)], leftAlone: kept };
  }

  commit(word: string): CommitResult {
    // A retry finds the commit that an attempt before it made.
    const committed = this.commits.at(-1);
    if (committed !== undefined) return { outcome: 'committed', commit: committed, note: null };
    if (word === 'nothing') return { outcome: 'nothing' };
    if (word === 'no_sandbox' || word === 'sandbox_blocks') return { outcome: word, why: word };
    if (word === 'conflict' || word === 'hook_changed')
      return {
        outcome: 'conflict',
        reason: word,
        why: word === 'conflict' ? 'HEAD moved' : 'the hook changed a.ts',
      };
    if (word === 'failed')
      return { outcome: 'failed', problem: problem('hook_failed', 'the hook refused') };
    this.commits.push('c1');
    return { outcome: 'committed', commit: 'c1', note: null };
  }

  /** A copy on another host, which holds nothing that was applied: that stays behind until the lost host puts it back. */
  move(): void {
    for (const file of [...this.proposals.values()].flat().reverse())
      if (file.by === 'model' && this.disk.get(file.path) === file.result)
        this.disk.set(file.path, file.base);
  }

  /** Files on disk that hold an applied result of the model's which is not committed. */
  uncommitted(): readonly string[] {
    if (this.commits.length > 0) return [];
    const results = [...this.proposals.values()].flat().filter((file) => file.by === 'model');
    return this.paths.filter((path) =>
      results.some((file) => file.path === path && file.result === this.disk.get(path)),
    );
  }
}

/** Returns the result of an apply that looks at no file; null: it looks at the files. */
function endsBeforeApply(word: string): ApplyResult | null {
  // `base_moved:7`: the seventh lock of the workspace was another run's.
  const [name, lockNumber] = word.split(':');
  switch (name) {
    case 'busy':
      return { outcome: 'busy', holder: 'feedbeef', since: 'now' };
    case 'base_moved':
      return { outcome: name, otherLock: lockNumber === undefined ? null : Number(lockNumber) };
    case 'failed':
      return { outcome: 'failed', problem: problem('disk', 'no space left') };
    default:
      return null;
  }
}
