/** A model reads the whole changed files, the diff and the instructions, and says what it thinks of the change. No answer is no pass. */
import { inputBudget, modelEntry, mostOutput_tokens } from '../../documents/job/index.js';
import { readDiff } from '../../edits/index.js';
import {
  auditSchema,
  buildAuditRequest,
  changedPlaces,
  type AuditPrompt,
} from '../../model/prompts/index.js';
import { MODEL_BOUNDS } from '../../shared/bounds.js';
import { auditLines, type AuditReport } from '../../shared/audit.js';
import { canonicalJson } from '../../system/hash.js';
import type { ProposalFile } from '../../workspace/proposal.js';
import type { Activity } from '../frame/activity.js';
import type { FileBytes } from '../frame/edit-work.js';
import { askForJson, checkedBy } from '../frame/model-call.js';
import type { ActivityPorts } from '../frame/ports.js';
import { appliedFiles } from './commit.js';
import { diffsOf, references } from './prompt-inputs.js';
import { putRefusal } from './refusals.js';
import { currentSnapshot, putText, type Snapshot } from './snapshot.js';

const ROUND = 100; // bound: More than the calls of one audit. ◆ Part of the number of the regeneration, and so of call keys: never changed.

export const auditChange: Activity<'auditChange'> = async (ports, input, scope) => {
  const { blobs } = ports;
  const snapshot = await currentSnapshot(blobs, input);
  const { config, limits } = snapshot;
  if (config.audit === false) throw new Error('an unrequested audit');
  const { model } = config.audit;
  const { files } = await appliedFiles(ports, input);
  const diffs = await diffsOf(ports, files, scope.signal);
  const { instructions, rules, hints } = await references(blobs, snapshot);
  const entry = modelEntry(config, model);
  const outputBudget_tokens = Math.min(MODEL_BOUNDS.adviceOutput_tokens, mostOutput_tokens(entry));
  const prompt: AuditPrompt = {
    model,
    outputBudget_tokens,
    instructions,
    rules,
    hints,
    inputBudget_tokens: inputBudget(limits, entry, outputBudget_tokens),
    diff: diffs.map(({ diff }) => diff).join(''),
  };
  const places = changedPlaces(diffs.flatMap(({ diff }) => readDiff(diff)));
  const there = await resultsOf(ports, snapshot, files);
  const shown = await ports.edits.run(
    'audit',
    { ...prompt, files: there.map((file) => ({ ...file, hints: places.get(file.path) ?? '' })) },
    scope.signal,
  );
  const lines = new Map([...files.map(({ path }) => [path, 0] as const), ...shown.lines]);
  const results = files.map(({ path, result }) => ({ path, result }));
  const answer = await askForJson(
    ports,
    snapshot,
    {
      role: 'audit',
      file: '*',
      model,
      outputBudget_tokens,
      calls: input.calls,
      regeneration: input.regeneration * ROUND,
      bases: files.map(({ base }) => (base === null ? 'absent' : base.ref.slice('sha256:'.length))),
      notes: await putText(blobs, canonicalJson(results)),
      build: (refusal) => buildAuditRequest({ ...prompt, files: shown.text, refusal }),
      check: checkedBy(auditSchema(lines), 'an audit'),
    },
    scope,
  );
  if (!answer.ok) return { outcome: 'failed', reason: answer.reason, ...answer.told };
  const report: AuditReport = { ...answer.value, partly: shown.partly };
  const isFailed = report.verdict.startsWith('fail');
  const told = {
    output: auditLines(report).join('\n'),
    summary: report.verdict,
    suggestions: [],
    diffs,
  };
  const refusal = isFailed
    ? await putRefusal(blobs, { kind: 'tests', isAudit: true, ...told })
    : null;
  return { outcome: 'audited', report, refusal, usage: answer.usage };
};

/** The files that are there after the change. */
const resultsOf = async (
  { blobs }: ActivityPorts,
  { targets }: Snapshot,
  files: readonly ProposalFile[],
) => {
  const encodings = new Map(targets.map(({ path, encoding }) => [path, encoding]));
  const there = files.map(async ({ path, result }): Promise<readonly FileBytes[]> => {
    if (result === null) return [];
    return [{ path, bytes: await blobs.get(result.ref), encoding: encodings.get(path) ?? null }];
  });
  return (await Promise.all(there)).flat();
};
