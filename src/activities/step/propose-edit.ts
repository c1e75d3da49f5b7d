/**
 * One chunk: prompt -> model -> outcome -> result. ◆ Never throws for an expected outcome; a recorded answer is never asked for again.
 */
import { MODEL_BOUNDS } from '../../shared/bounds.js';
import {
  renderReasons,
  type AnswerOutcome,
  type ApplyAnswerInput,
  type OfferedFile,
} from '../../edits/index.js';
import { judgeElisions } from './elision.js';
import { judge } from './targets.js';
import { endedByItself, joinOperations } from '../../edits/internal.js';
import * as jobs from '../../documents/job/index.js';
import { closeEditPrompt } from '../../model/prompts/index.js';
import { callKey } from '../../model/journal/index.js';
import type { ProposeInput, ProposeResult } from '../../shared/step-activities.js';
import type { Activity } from '../frame/activity.js';
import { acceptedResults, deletedByJob, keepAccepted, removal, shownDeleted } from './accepted.js';
import type { ActivityPorts } from '../frame/ports.js';
import { callModel, keyOf, type Answered, type CallWanted } from '../frame/model-call.js';
import {
  acceptedDiffs,
  diffsOf,
  bytesOf,
  loadTargets,
  references,
  type LoadedTarget,
} from './prompt-inputs.js';
import { priceOf, refuseEarly, SMALL_CALL } from './estimate.js';
import type { Signatures } from './find.js';
import { getJson } from '../../stores/ports.js';
import * as regions from './regions.js';
import {
  isRepeated,
  nextFallback,
  nextFormat,
  readRefusal,
  REFUSAL_CHARS,
  refused,
  repairOf,
} from './refusals.js';
import {
  currentSnapshot,
  deleted,
  edited,
  getText,
  guardSettings,
  putText,
  type Snapshot,
} from './snapshot.js';
import { languageOf } from '../../syntax/index.js';
import { GUARDS, type Format } from '../../shared/formats.js';
import { shownRecordOf } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import { BOUNDS } from '../../shared/limits.js';

// bound: Of the results accepted so far the newest this many are shown; the prompt bounds their bytes again.
const ACCEPTED_SHOWN_RESULTS = 20;
const PLACEHOLDERS_NAMED = 5; // bound: Unknown placeholders of an answer, in its refusal.

type Seen = Readonly<Record<string, readonly (readonly [number, number])[]>>;

export const proposeEdit: Activity<'proposeEdit'> = async (ports, input, scope) => {
  const { blobs } = ports;
  const snapshot = await currentSnapshot(blobs, input);
  const chosen = snapshot.targets.filter(
    (target) => input.file === '*' || target.path === input.file,
  );
  const targets = await loadTargets(blobs, edited(chosen));
  if (targets.length === 0) return deletedByJob(ports, input, deleted(chosen));
  const region = await regions.loadRegion(blobs, input);
  const model = input.model ?? snapshot.model;
  const entry = jobs.modelEntry(snapshot.config, model);
  const outputBudget_tokens = Math.min(input.outputBudget_tokens, entry.maxOutput_tokens);
  const wanted: Omit<CallWanted, 'build'> = {
    role: 'edit',
    file: input.file,
    ...(region === null ? {} : { region: region.range.join('-') }),
    regeneration: input.regeneration,
    bases: targets.map((target) => target.sha),
    format: input.format,
    model,
    outputBudget_tokens,
    thinking: jobs.thinkingOf(
      entry,
      snapshot.effort,
      jobs.roomFor(snapshot.limits, outputBudget_tokens),
    ),
    notes: input.note === null ? null : await putText(blobs, input.note),
    refusal: input.refusal,
  };
  const parts = keyOf(snapshot, wanted);
  const shownKey = shownRecordOf(parts.stepKey, callKey(parts));
  const build = async () => {
    // Preflight looked at no model that a decision sets.
    const usd = input.model === null ? 0 : priceOf(snapshot.config, model, SMALL_CALL);
    refuseEarly(
      model,
      { usd },
      snapshot.limits,
      entry,
      'Retry with another model: --set model=NAME.',
    );
    const built = await buildPrompt(
      ports,
      { snapshot, input, targets, wanted, region },
      scope.signal,
    );
    // Which lines the model was shown belongs to the stored request: a later attempt must judge its answer by the same.
    const { seen, files, omitted } = built;
    const shown = { shown: Object.fromEntries(seen), files, omitted };
    await ports.records.putIfAbsent(shownKey, shown);
    return built;
  };
  const call = await callModel(ports, snapshot, { ...wanted, build }, scope);
  if (call.outcome !== 'answered') return { ...call };

  const recorded = await ports.records.get<{ readonly shown: Seen }>(shownKey);
  const { shown } =
    recorded ??
    fail('blob_lost', `The record of what the model was shown, ${shownKey}, is missing.`);
  const { answer, nonce, usage } = call;
  const fitting = {
    tolerances: snapshot.config.tolerances,
    ...(await guardSettings(blobs, snapshot)),
    // The answer was made for these bytes: a line number in it may decide between places where the same text stands.
    base: new Map(targets.map(({ path, sha }) => [path, sha])),
    ...(snapshot.finalNewline === null ? {} : { finalNewline: snapshot.finalNewline }),
    newFileEol: targets[0]?.newFileEol ?? '\n',
    newFileEols: new Map(targets.map(({ path, newFileEol }) => [path, newFileEol])),
  };
  const { requireCompleteSentinel } = snapshot.config;
  const options = {
    ...fitting,
    nonce,
    requireMarker: requireCompleteSentinel,
    stopReason: answer.stopReason,
  };
  const files = new Map(targets.map((target) => [target.path, offered(target, shown, region)]));
  const judged = { format: input.format, answer: answer.text, files, options };
  const judgeOne = (response: ApplyAnswerInput): Promise<AnswerOutcome> =>
    judgeResponse(
      (candidate) => judge(ports, snapshot, candidate, scope.signal),
      response,
      input.markerAsked === true,
    );
  const isLastFormat = isLast({ snapshot, targets, wanted, input, region });
  let outcome =
    call.unknown.length > 0
      ? ofUnknown(call.unknown)
      : await judgeElisions(judgeOne, judged, { blobs, snapshot, input, isLastFormat });
  if (region !== null && (outcome.outcome === 'edited' || outcome.outcome === 'unchanged')) {
    const said = { ...call, reason: saidReason(outcome) };
    if (!region.isLast)
      return { usage, outcome: 'region_done', ...(await regions.regionAfter(blobs, region, said)) };
    const all = {
      format: input.format,
      answer: regions.joined(region, said),
      files: new Map(targets.map((target) => [target.path, offered(target, {}, null)])),
      options: { ...fitting, requireMarker: false },
    };
    outcome = await judgeElisions(
      (response) => ports.edits.run('answer', response, scope.signal),
      all,
      { blobs, snapshot, input, isLastFormat },
    );
  }
  return toResult(ports, { snapshot, input, targets, outcome, wanted, region }, call, scope.signal);
};

/** What a made-up placeholder stands for nobody can say. */
const ofUnknown = (placeholders: readonly string[]): AnswerOutcome => {
  const shown = placeholders.slice(0, PLACEHOLDERS_NAMED).join(', ');
  const message = `The answer contains ${shown}, which is not a placeholder of these files. Copy each EMEND_SECRET_… exactly as shown, and do not invent any.`;
  return { outcome: 'refused', reasons: [{ code: 'unknown_placeholder', message }] };
};

/** Judges the response. Once its marker was asked for, one in plain blocks needs none. */
const judgeResponse = async (
  judgeOne: (response: ApplyAnswerInput) => Promise<AnswerOutcome>,
  response: ApplyAnswerInput,
  isMarkerAsked: boolean,
): Promise<AnswerOutcome> => {
  const outcome = await judgeOne(response);
  if (!isMarkerAsked || !isPlainAndWhole(outcome)) return outcome;
  return judgeOne({ ...response, options: { ...response.options, requireMarker: false } });
};

/**
 * Returns whether the response ended by itself and all its blocks end in `END`, so that only nonce and marker are missing. Models that know
 * this format from elsewhere write it so again if they are asked for the marker.
 */
const isPlainAndWhole = (outcome: AnswerOutcome): boolean =>
  outcome.outcome === 'unmarked' && outcome.reasons.some(({ code }) => code === 'marker_plain');

const NOTHING_TO_DO = ['said_unchanged', 'already_present'];
const REPEATS =
  'The answer repeats the text as it is: nothing would change. Make the change that the task asks for. Where there is none to make, say so and why, in the form for that.';

/** Why the answer changes nothing, as the model says it. */
const saidReason = (outcome: AnswerOutcome): string | undefined =>
  outcome.outcome === 'unchanged'
    ? outcome.reasons.find(({ code }) => code === 'said_unchanged')?.message
    : undefined;

const offered = (
  target: LoadedTarget,
  seen: Seen,
  region: regions.LoadedRegion | null,
): OfferedFile => ({
  bytes: target.content,
  ...(target.base === null ? {} : { mode: target.base.mode }),
  ...(target.encoding === null ? {} : { encoding: target.encoding }),
  ...(Object.hasOwn(seen, target.path) ? { seen: seen[target.path] ?? [] } : {}),
  ...(region === null ? {} : { region: region.range }),
});

type Wanted = Omit<Checked, 'outcome'>;

async function buildPrompt(
  ports: ActivityPorts,
  { snapshot, input, targets, wanted, region }: Wanted,
  signal: AbortSignal,
) {
  const { blobs } = ports;
  const shown = await references(blobs, snapshot);
  const results = await acceptedResults(blobs, input.accepted, ACCEPTED_SHOWN_RESULTS);
  const paths = targets.map((target) => target.path);
  const known = snapshot.signatures;
  const found = known === undefined ? {} : await getJson<Signatures>(blobs, known, 'signatures');
  const around = new Map(Object.entries(found));
  const { outputBudget_tokens, thinking } = wanted;
  const most_tokens = outputBudget_tokens + (thinking?.tokens ?? 0);
  const listed = {
    ...shown,
    model: wanted.model,
    format: input.format,
    outputBudget_tokens,
    inputBudget_tokens: jobs.inputBudget(
      snapshot.limits,
      jobs.modelEntry(snapshot.config, wanted.model),
      most_tokens,
    ),
    files: targets.map(bytesOf),
    signatures: paths.flatMap((path) => around.get(path) ?? []),
    brief: input.brief === null ? null : await getText(blobs, input.brief),
    accepted: [
      // What the files held that go, also where their turn has not come yet: what they defined may have to move.
      ...(await diffsOf(ports, shownDeleted(snapshot).map(removal), signal)),
      ...(await acceptedDiffs(
        ports,
        results,
        [...paths, ...deleted(snapshot.targets).map(({ path }) => path)],
        signal,
      )),
    ],
    note: input.note,
    refusal:
      input.refusal === null
        ? null
        : await readRefusal(blobs, input.refusal, {
            paths,
            reasons_bytes: MODEL_BOUNDS.reasons_bytes,
          }),
    symbols: targets.some((target) => languageOf(target.path) !== null),
    wantedLines: await regions.loadWanted(blobs, input),
    create: region === null && (snapshot.config.create ?? false),
    ...(region === null ? {} : { region: await shownRegion(ports, targets, region, signal) }),
  };
  const prompt = await ports.edits.run('prompt', listed, signal);
  return closeEditPrompt(prompt, input.format, paths);
}

/** What a call for a region is shown of the rest of its file. */
async function shownRegion(
  ports: ActivityPorts,
  targets: readonly LoadedTarget[],
  region: regions.LoadedRegion,
  signal: AbortSignal,
) {
  const [target] = targets;
  if (target === undefined) throw new Error('a region without a file');
  const { path } = target;
  const made = {
    format: 'structured-edit' as const,
    answer: joinOperations(region.operations),
    files: new Map([[path, offered(target, {}, null)]]),
    options: { requireMarker: false, base: new Map([[path, target.sha]]) },
  };
  const outcome =
    region.operations.length === 0 ? null : await ports.edits.run('answer', made, signal);
  const result = outcome?.outcome === 'edited' ? outcome.files.get(path) : undefined;
  const file = {
    path,
    base: target.content,
    result: result instanceof Object ? result.bytes : target.content,
  };
  return {
    path,
    range: region.range,
    index: region.part.index,
    count: region.regions.length,
    outline: regions.outlineText(await regions.outlineOf(ports, target, signal)),
    diff: result === undefined ? '' : (await ports.edits.run('diff', [file], signal)).text,
  };
}

interface Checked {
  readonly snapshot: Snapshot;
  readonly input: ProposeInput;
  readonly targets: readonly LoadedTarget[];
  readonly outcome: AnswerOutcome;
  readonly wanted: Omit<CallWanted, 'build'>;
  readonly region: regions.LoadedRegion | null;
}

type Attempt = Pick<Checked, 'snapshot' | 'targets' | 'wanted' | 'input' | 'region'>;

/** Returns the format in which the file is asked for next; null: there is none, or the call is for several files or for a region. */
const formatAfter = (attempt: Attempt): Format | null => {
  const { snapshot, targets, input, region } = attempt;
  const [only, ...others] = targets;
  if (only === undefined || others.length > 0 || region !== null) return null;
  return nextFormat({ snapshot, model: attempt.wanted.model }, only, input.format);
};

/** Returns whether the file fails if this response is refused again: it is asked for alone and whole, and in no other format. */
const isLast = (attempt: Attempt): boolean =>
  attempt.targets.length === 1 && attempt.region === null && formatAfter(attempt) === null;

async function toResult(
  ports: ActivityPorts,
  { snapshot, input, targets, outcome, wanted, region }: Checked,
  { answer, written, nonce, usage }: Answered,
  signal: AbortSignal,
): Promise<ProposeResult> {
  const { blobs } = ports;
  switch (outcome.outcome) {
    case 'edited':
    case 'unchanged': {
      // Weak models copy a file without the change. The same a second time is meant.
      if (
        outcome.outcome === 'unchanged' &&
        !outcome.reasons.some(({ code }) => NOTHING_TO_DO.includes(code))
      ) {
        const repeats = { reasons: REPEATS, answer: answer.text, codes: ['repeats'] };
        if (!(await isRepeated(blobs, input.refusal, repeats.codes)))
          return { usage, outcome: 'invalid', ...(await refused(blobs, repeats)) };
      }
      const gone = input.file === '*' ? deleted(snapshot.targets) : [];
      const result = outcome.outcome === 'edited' ? outcome : null;
      const unfinished =
        region === null
          ? regions.unfinishedIn({ written, nonce }, input.format)
          : regions.unfinishedOfRegions(region, { written, nonce });
      const accepted = await keepAccepted(ports, input, { targets, gone }, { result, unfinished });
      const changed = [...gone.map(({ path }) => path), ...(result?.files.keys() ?? [])];
      const made = changed.filter(
        (path) => ![...gone, ...targets].some((target) => target.path === path),
      );
      const repair = result === null ? null : await repairOf(blobs, snapshot, result, answer.text);
      const reason = saidReason(outcome)?.slice(0, REFUSAL_CHARS);
      const told = {
        ...(repair === null ? {} : { repair }),
        ...(reason === undefined ? {} : { reason }),
      };
      const more =
        made.length === 0 ? {} : { made: { by: targets.at(-1)?.path ?? '', paths: made } };
      return { usage, outcome: outcome.outcome, accepted, changed, ...told, ...more };
    }
    case 'truncated': {
      const limits = snapshot.limits;
      const isCut = !endedByItself(answer.stopReason);
      const most = Math.min(
        limits.maxOutputBudget_tokens ?? Infinity,
        jobs.mostOutput_tokens(jobs.modelEntry(snapshot.config, wanted.model)),
      );
      const fallback = nextFallback({
        format: input.format,
        isNew: targets[0]?.base === null || targets[0]?.isBinary === true,
        bucket: targets[0]?.bucket ?? 'A',
        outputBudget_tokens: wanted.outputBudget_tokens,
        maxOutputBudget_tokens: most,
        isCut,
        wholeStep: input.file === '*' && targets.length > 1,
        formats: jobs.formatsOf(snapshot.config, wanted.model),
      });
      const [only, ...others] = targets;
      const mayCut =
        fallback.kind === 'exhausted' &&
        others.length === 0 &&
        snapshot.config.formats['structured-edit'];
      const cut =
        only === undefined || !mayCut
          ? null
          : await regions.regionsNext(
              ports,
              only,
              { region, outputBudget_tokens: wanted.outputBudget_tokens },
              signal,
            );
      const next = cut ?? fallback;
      const reason = renderReasons(outcome.reasons);
      const { stopReason, text } = answer;
      if (next.kind === 'exhausted' && !isCut) {
        const codes = outcome.reasons.map(({ code }) => code);
        const refusal = await refused(blobs, { reasons: reason, answer: text, codes });
        return { usage, outcome: 'invalid', ...refusal };
      }
      return { usage, outcome: 'truncated', reason, stopReason, partialLength: text.length, next };
    }
    case 'needs_lines': {
      const next =
        outcome.needs === undefined ? null : await regions.wantedNext(blobs, input, outcome.needs);
      if (next !== null) return { usage, outcome: 'needs_lines', ...next };
      const reasons = `The answer asks for more lines, which it has done ${BOUNDS.needsLinesAsked} times already. Send the operations.`;
      return {
        usage,
        outcome: 'refused',
        ...(await refused(blobs, { reasons, answer: answer.text })),
      };
    }
    case 'invalid':
    case 'refused':
    case 'unmarked': {
      const reasons = renderReasons(outcome.reasons);
      const codes = outcome.reasons.map(({ code }) => code);
      const copies = outcome.reasons.flatMap(({ path = '', copy }) =>
        copy === undefined ? [] : [`${path}: ${copy}`],
      );
      const told = [reasons, ...copies].join('\n\n');
      const said = await refused(blobs, { reasons: told, answer: answer.text, codes }, reasons);
      const repeated =
        outcome.outcome !== 'unmarked' && (await isRepeated(blobs, input.refusal, codes));
      // What a guard refuses is wrong in every format. A placeholder is not: another format needs less text.
      const fitsNot =
        outcome.outcome !== 'unmarked' &&
        codes.some((code) => code === 'elision' || !Object.hasOwn(GUARDS, code));
      const next = fitsNot ? formatAfter({ snapshot, targets, wanted, input, region }) : null;
      const more = { ...(repeated ? { repeated } : {}), ...(next === null ? {} : { next }) };
      return { usage, outcome: outcome.outcome, ...said, ...more };
    }
    case 'declined':
      return {
        usage,
        outcome: 'declined',
        message: renderReasons(outcome.reasons).slice(0, REFUSAL_CHARS),
      };
  }
}
