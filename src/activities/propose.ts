/**
 * One chunk: prompt -> model -> outcome -> result. ◆ Never throws for an expected outcome; a recorded answer is never asked for again.
 */
import { renderReasons } from '../edits/index.js';
import type { AnswerOutcome, Edited, OfferedFile } from '../edits/types.js';
import { modelEntry } from '../job/models.js';
import { buildEditRequest } from '../model/prompt/edit.js';
import { nextRung } from '../model/prompt/ladder.js';
import { slotKey } from '../model/slot-key.js';
import type { ProposeInput, ProposeResult, StepUsage } from '../shared/protocol.js';
import { checkVersion, versionOf } from '../shared/versions.js';
import type { ActivityScope } from './boundary.js';
import { acceptedResults, type Accepted } from './chain.js';
import { NEW_FILE_MODE } from '../workspace/files.js';
import type { ActivityDependencies } from './dependencies.js';
import { callModel, keyOf, type CallWanted } from './model-call.js';
import { acceptedDiffs } from './propose-accepted.js';
import { putRefusal, readRefusal } from './refusals.js';
import { loadTargets, references, type LoadedTarget } from './references.js';
import { currentSnapshot, getText, guardSettings, putJson, putText, type Snapshot } from './snapshot.js';

type Seen = Readonly<Record<string, readonly (readonly [number, number])[]>>;

export const propose =
  (dependencies: ActivityDependencies) =>
  async (input: ProposeInput, scope: ActivityScope): Promise<ProposeResult> => {
    const { blobs } = dependencies;
    const snapshot = await currentSnapshot(blobs, input);
    const chosen = snapshot.targets.filter((target) => input.file === '*' || target.path === input.file);
    const targets = await loadTargets(blobs, chosen);
    const model = input.model ?? snapshot.model;
    const wanted: Omit<CallWanted, 'build'> = {
      role: 'edit',
      file: input.file,
      draw: input.draw,
      bases: chosen.map((target) => target.sha),
      format: input.format,
      model,
      outputBudget_tokens: Math.min(input.outputBudget_tokens, modelEntry(snapshot.config, model).maxOutput_tokens),
      notes: input.note === null ? null : await putText(blobs, input.note),
      refusal: input.refusal,
    };
    const seenKey = `seen/${slotKey(keyOf(snapshot, wanted))}`;
    const build = async () => {
      const built = await buildPrompt(dependencies, { snapshot, input, targets, wanted }, scope.signal);
      // Which lines the model was shown belongs to the stored request: a later attempt must judge its answer by the same.
      await dependencies.records.putIfAbsent(seenKey, { v: 1, seen: Object.fromEntries(built.seen) });
      return built;
    };
    const call = await callModel(dependencies, snapshot, { ...wanted, build }, scope);
    if (call.outcome !== 'answered') return { v: 1, outcome: call.outcome, message: call.message, usage: call.usage };

    const seen = seenOf(await dependencies.records.get(seenKey), seenKey);
    const { answer, nonce, usage } = call;
    const options = {
      nonce,
      requireMarker: snapshot.config.requireCompleteSentinel,
      stopReason: answer.stopReason,
      rungs: snapshot.config.rungs,
      ...(await guardSettings(blobs, snapshot)),
      // The answer was made for these bytes: a line number in it may decide between places where the same text stands.
      base: new Map(targets.map(({ path, sha }) => [path, sha])),
      ...(snapshot.finalNewline === null ? {} : { finalNewline: snapshot.finalNewline }),
      newFileEol: chosen[0]?.newFileEol ?? '\n',
    };
    const files = new Map(targets.map((target) => [target.path, offered(target, seen)]));
    const judged = { format: input.format, answer: answer.text, files, options };
    const outcome = await dependencies.edits.run('answer', judged, scope.signal);
    return toResult(dependencies, { snapshot, input, targets, outcome, wanted }, answer, usage);
  };

/** 0.1.0 wrote the ranges by path, without `v`. */
const seenOf = (recorded: unknown, key: string): Seen => {
  if (typeof versionOf(recorded) !== 'number') return (recorded ?? {}) as Seen;
  checkVersion(recorded, `The record ${key}`);
  return (recorded as { readonly seen: Seen }).seen;
};

const offered = (target: LoadedTarget, seen: Seen): OfferedFile => ({
  bytes: target.content,
  ...(target.base === null ? {} : { mode: target.base.mode }),
  ...(target.encoding === null ? {} : { encoding: target.encoding }),
  ...(seen[target.path] === undefined ? {} : { seen: seen[target.path] ?? [] }),
});

type Wanted = Pick<Judged, 'snapshot' | 'input' | 'targets' | 'wanted'>;

async function buildPrompt(
  dependencies: ActivityDependencies,
  { snapshot, input, targets, wanted }: Wanted,
  signal: AbortSignal,
) {
  const { blobs } = dependencies;
  const shown = await references(blobs, snapshot);
  const results = await acceptedResults(blobs, input.accepted, SHOWN_RESULTS);
  return buildEditRequest({
    ...shown,
    model: wanted.model,
    format: input.format,
    outputBudget_tokens: wanted.outputBudget_tokens,
    inputBudget_tokens: snapshot.limits.inputBudget_tokens ?? Infinity,
    files: targets,
    brief: input.brief === null ? null : await getText(blobs, input.brief),
    accepted: await acceptedDiffs(
      dependencies,
      results,
      targets.map((target) => target.path),
      signal,
    ),
    note: input.note,
    refusal: input.refusal === null ? null : await readRefusal(blobs, input.refusal),
    allowDelete: false,
    mayCreateUnder: [],
  });
}
/** Of the results accepted so far the newest this many are shown; the prompt bounds their bytes again. */
const SHOWN_RESULTS = 20;

interface Judged {
  readonly snapshot: Snapshot;
  readonly input: ProposeInput;
  readonly targets: readonly LoadedTarget[];
  readonly outcome: AnswerOutcome;
  readonly wanted: Omit<CallWanted, 'build'>;
}

async function toResult(
  dependencies: ActivityDependencies,
  { snapshot, input, targets, outcome, wanted }: Judged,
  answer: { readonly text: string; readonly stopReason: string | null },
  usage: StepUsage,
): Promise<ProposeResult> {
  const { blobs } = dependencies;
  switch (outcome.outcome) {
    case 'edited':
    case 'unchanged': {
      const accepted = await keep(dependencies, input, targets, outcome.outcome === 'edited' ? outcome : null);
      const changed = outcome.outcome === 'edited' ? [...outcome.files.keys()] : [];
      return { v: 1, usage, outcome: outcome.outcome, accepted, changed };
    }
    case 'truncated': {
      const limits = snapshot.limits;
      const most = Math.min(
        limits.maxOutputBudget_tokens ?? Infinity,
        modelEntry(snapshot.config, wanted.model).maxOutput_tokens,
      );
      const next = nextRung({
        format: input.format,
        isNew: targets[0]?.base === null,
        outputBudget_tokens: wanted.outputBudget_tokens,
        maxOutputBudget_tokens: most,
        wholeStep: input.file === '*' && targets.length > 1,
        formats: snapshot.config.formats,
      });
      const reason = renderReasons(outcome.reasons);
      return {
        v: 1,
        usage,
        outcome: 'truncated',
        reason,
        stopReason: answer.stopReason,
        partialLength: answer.text.length,
        next,
      };
    }
    case 'invalid':
    case 'refused':
    case 'unmarked': {
      const reasons = renderReasons(outcome.reasons);
      const refusal = await putRefusal(blobs, { kind: 'refused', reasons, answer: answer.text });
      return { v: 1, usage, outcome: outcome.outcome, message: reasons.slice(0, 800), refusal };
    }
    case 'declined':
      return { v: 1, usage, outcome: 'declined', message: renderReasons(outcome.reasons).slice(0, 800) };
  }
}

/** The result as blobs, and the chain's new head. */
async function keep(
  { blobs }: ActivityDependencies,
  input: ProposeInput,
  targets: readonly LoadedTarget[],
  edited: Edited | null,
) {
  const bases = new Map(targets.map((target) => [target.path, target.base]));
  const files = await Promise.all(
    [...(edited?.files ?? [])].map(async ([path, result]) => {
      const base = bases.get(path) ?? null;
      if (result === 'absent') return { path, base, result: null };
      return {
        path,
        base,
        result: { ref: await blobs.put(result.bytes), mode: result.mode ?? base?.mode ?? NEW_FILE_MODE },
      };
    }),
  );
  const accepted: Accepted = {
    v: 1,
    seq: input.seq,
    after: input.accepted,
    covers: targets.map((target) => target.path),
    files,
    moves: edited?.moves ?? [],
    rungs: (edited?.rungs ?? []).map(({ rung, path, line }) => ({ rung, path, line: line ?? null })),
    findings: edited?.findings ?? [],
    summary: edited?.summary ?? null,
  };
  return putJson(blobs, accepted);
}
