/** `emend plan check|score|show`: what a plan says. No server, no model, nothing written. */
import {
  type Choice,
  chooseParts,
  treeOf,
  movePart,
  reportOf,
  type PlanTree,
} from '../../documents/plan/index.js';
import { EXIT, fail, type ExitCode } from '../../shared/problems.js';
import type { Io, JsonFlag } from '../io.js';
import { printFound } from '../json.js';
import type { CheckedPlan } from '../json-types.js';
import {
  discoverPlanTests,
  readPlan,
  refuseFaults,
  type ReadPlan,
} from '../../workspace/documents/index.js';
import { openLocal } from '../local/open.js';
import { writePlan, refuseHalfDone } from './plan-files.js';
import { plain } from '../render/text.js';
import { checkLines, scoreLines, showLines } from '../render/plan.js';

const command =
  (lines: (report: CheckedPlan) => readonly string[]) =>
  async (io: Io, path: string, flags: JsonFlag): Promise<void> => {
    await refuseHalfDone(io, path);
    const plan = await readPlan(io.cwd, path);
    const read = reportOf(plan.tree, plan.thresholds, plan.show);
    refuseFaults(read.faults);
    const found = await discoverPlanTests(plan, plan.workspace, read.phases);
    const said = Array.isArray(plan.test)
      ? [{ phase: null, commands: plan.test, source: 'emend.yaml' }]
      : found;
    const report = {
      ...read,
      tests: said.map(({ phase, commands, source }) => ({ phase, commands, source })),
    };
    printFound({ io, flags }, 'plan check', report, lines(report));
  };

export const check = command(checkLines);
export const score = command(scoreLines);
export const show = command(showLines);

// `emend plan expand|collapse phase|stage PLAN [N] [--auto]`: no server, no model, one transaction, no commit.

type Verb = 'expand' | 'collapse';
type Kind = 'phase' | 'stage';
type ChangeFlags = JsonFlag & { readonly auto?: true };
type Target = Pick<Choice, 'phase' | 'stage'> & { readonly why: string | null };

const change =
  (verb: Verb) =>
  async (
    io: Io,
    ...[kind, path, number, flags]: [
      kind: Kind,
      path: string,
      number: string | undefined,
      flags: ChangeFlags,
    ]
  ): Promise<ExitCode> => {
    if (number === undefined && flags.auto !== true)
      return fail('usage', `Which ${kind}? Give its number, or --auto.`);
    // What a command that was killed left half done comes first: it may be this very plan.
    const local = await openLocal(io, { existing: false, recover: true });
    const plan = await readPlan(io.cwd, path);
    refuseFaults(reportOf(plan.tree, plan.thresholds, plan.show).faults);
    const asked = number === undefined ? null : targetOf(kind, number, plan.phase);
    const targets =
      flags.auto === true ? chosen(plan, verb, kind, asked) : asked === null ? [] : [asked];
    let tree = plan.tree;
    for (const target of targets) tree = changed(plan, tree, verb, target);
    const files = await writePlan(local, plan, { ok: true, place: tree.place, files: tree.files });
    const done = verb === 'expand' ? 'expanded' : 'collapsed';
    printFound({ io, flags }, 'plan expand', { v: 1, verb, kind, parts: targets, files }, [
      ...targets.map(
        (target) => `${done} ${nameOf(target)}${target.why === null ? '' : `: ${target.why}`}`,
      ),
      ...files.map(({ path: file, change }) => plain(`  ${change.padEnd(6)}  ${file}`)),
      ...(targets.length === 0 ? [`The rules select no ${kind} to be ${done}.`] : []),
    ]);
    return EXIT.done;
  };

export const expand = change('expand');
export const collapse = change('collapse');

const nameOf = ({ phase, stage }: Target): string =>
  stage === null ? `Phase ${phase}` : `Stage ${stage} of Phase ${phase}`;

/** `2` for a phase; `2.1` for a stage, or `1` where the phase's own file was given. */
const targetOf = (kind: Kind, written: string, phaseFile: number | null): Target => {
  const [, first, second] = /^(\d{1,4})(?:\.(\d{1,4}))?$/.exec(written) ?? [];
  const part = (phase: number, stage: number | null): Target => ({ phase, stage, why: null });
  if (kind === 'phase' && first !== undefined && second === undefined)
    return part(Number(first), null);
  if (kind === 'stage' && first !== undefined && second !== undefined)
    return part(Number(first), Number(second));
  if (kind === 'stage' && first !== undefined && phaseFile !== null)
    return part(phaseFile, Number(first));
  const expected =
    kind === 'phase'
      ? 'the number of a phase'
      : "PHASE.STAGE, as in 2.1, or a stage's number with the phase's file as PLAN";
  return fail('usage', `expected ${expected}, received ${JSON.stringify(written)}.`);
};

/** What the rules choose, of that part where one is named. */
const chosen = (
  { tree, thresholds, phase }: ReadPlan,
  verb: Verb,
  kind: Kind,
  asked: Target | null,
): readonly Target[] =>
  chooseParts(tree, verb, kind, thresholds.values)
    .filter((each) =>
      asked === null
        ? phase === null || each.phase === phase
        : each.phase === asked.phase && each.stage === asked.stage,
    )
    .map(({ reason, ...target }) => ({ ...target, why: reason }));

/** Throws what is in the way, with file and line. */
const changed = (plan: ReadPlan, tree: PlanTree, verb: Verb, target: Target): PlanTree => {
  const change = movePart(tree, verb, target, plan.thresholds.values);
  if (change.ok) return treeOf(change);
  refuseFaults(
    change.faults.map((each) => ({
      ...each,
      file: tree.files.has(each.file) ? plan.show(each.file) : each.file,
    })),
  );
  return tree;
};
