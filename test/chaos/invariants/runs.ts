/** Invariants about runs: applied once, committed once, decisions kept, and an end that is told the same everywhere. */
import type { Evidence, FoundRecord, FoundStep, FoundWorkspace } from '../evidence.js';
import { MAX_ROUNDS } from '../carry.js';
import { isWanted, sha256 } from './files.js';
import { pausesText, type Invariant } from './judge.js';
import { isDocument } from './plans.js';

const workspaceOf = ({ workspaces }: Evidence, step: FoundStep): FoundWorkspace | undefined =>
  workspaces.find(({ path }) => path === step.workspace);

const wasUndone = (record: FoundRecord, records: readonly FoundRecord[]): boolean =>
  records.some(
    ({ kind, name, outcome }) =>
      kind === 'rollback' && name === `${record.name}-rollback` && outcome !== null,
  );

export const appliedOnce: Invariant = {
  name: 'each approved proposal is applied once, and nothing that was not approved',
  violations: ({ steps }) =>
    steps.flatMap(({ carrier, records, events, reset }) => {
      const standing = records.filter(
        (r) =>
          r.kind === 'apply' && r.outcome !== null && r.done.length > 0 && !wasUndone(r, records),
      );
      const twice = standing.flatMap((record, i) =>
        record.done
          .filter((path) =>
            standing
              .slice(0, i)
              .some(
                (earlier) =>
                  earlier.proposalId === record.proposalId && earlier.done.includes(path),
              ),
          )
          .map(
            (path) =>
              `${carrier}: ${path} was applied twice from proposal ${record.proposalId.slice(0, 8)}`,
          ),
      );
      // Decision 0 is the policy's own; the others name an answer in the run's log.
      const asked = events
        .filter(({ type }) => type === 'decided')
        .map((event) => ('decision' in event ? event.decision : ''));
      const unasked = reset
        ? []
        : standing
            .filter(
              ({ decision }) => decision > 0 && !asked.some((id) => id.startsWith(`${decision}-`)),
            )
            .map(
              ({ decision, name }) =>
                `${carrier}: ${name} was applied, and nobody decided ${decision}`,
            );
      return [...twice, ...unasked];
    }),
};

export const committedOnce: Invariant = {
  name: 'each committed step has one commit, of its own files and proposed bytes; no other has any',
  violations: (evidence) =>
    evidence.steps.flatMap((step) => {
      const commits =
        workspaceOf(evidence, step)?.commits.filter(({ steps }) => steps.includes(step.stepKey)) ??
        [];
      const isCommitted = step.result?.outcome === 'committed' && !step.dropped;
      if (commits.length !== (isCommitted ? 1 : 0))
        return [
          `${step.carrier} (${step.result?.outcome ?? step.status ?? 'open'}): ${commits.length} commits`,
        ];
      const [commit] = commits;
      if (commit === undefined) return [];
      const proposed = new Map(
        step.records
          .filter((r) => r.kind === 'apply' && !wasUndone(r, step.records))
          .flatMap((r) => r.files.map((f) => [f.path, f.result] as const)),
      );
      // Of a file that a person saved and did not commit only the edit's hunks are committed.
      const isSaved = (path: string): boolean =>
        evidence.saves.some((save) => save.carrier === step.carrier && save.path === path);
      // A phase takes the marks of those before it along, which `phasesLandOnce` counts.
      const isMark = (path: string): boolean =>
        evidence.plans.some((plan) => plan.carrier === step.carrier && isDocument(plan, path));
      const strange = Object.keys(commit.changed).filter(
        (path) => !step.paths.includes(path) && !isMark(path),
      );
      const unsealed = Object.entries(commit.changed).filter(
        ([path, text]) =>
          step.paths.includes(path) && proposed.get(path) !== sha256(text) && !isSaved(path),
      );
      return [
        ...(step.result?.commit === commit.id
          ? []
          : [
              `${step.carrier}: it names ${step.result?.commit ?? 'no commit'}, git has ${commit.id}`,
            ]),
        ...strange.map((path) => `${step.carrier}: its commit changes ${path}`),
        ...unsealed.map(
          ([path]) => `${step.carrier}: its commit has other bytes of ${path} than were approved`,
        ),
      ];
    }),
};

export const decisionsKept: Invariant = {
  name: 'every answer that was taken is in the run and in the archive, once; none that was refused',
  violations: ({ steps, plans, given }) =>
    given.flatMap((one) => {
      const step = [...steps, ...plans.flatMap(({ runs }) => runs)].find(
        ({ stepKey }) => stepKey === one.stepKey,
      );
      if (step === undefined || one.by === 'signal') return [];
      const told = `${one.carrier}: ${one.by} answered ${one.answer} to ${one.decision}, was told "${one.told}"`;
      const mine = step.events.filter(
        (event) =>
          (event.type === 'decided' || event.type === 'abort_requested') &&
          event.by.startsWith(`${one.by} `),
      ).length;
      const found: string[] = [];
      if (mine > 1) found.push(`${told}; it counted ${mine} times`);
      if (one.told === 'counted' && mine === 0 && !step.reset && step.status !== 'TERMINATED')
        found.push(`${told}; the run does not know it`);
      if (one.told === 'refused' && mine > 0) found.push(`${told}; it counted`);
      const isKept = step.archived.deciders.includes(one.by);
      if ((one.told === 'counted' || one.told === 'sent') && !isKept)
        found.push(`${told}; the archive does not have it`);
      return found;
    }),
};

const endOf = ({ status, result, dropped }: FoundStep): string =>
  dropped ? 'dropped' : (result?.outcome ?? (status === null ? 'open' : status.toLowerCase()));

export const endsAsItShould: Invariant = {
  name: 'every run ends as its faults allow, soon enough, with the files that belong to that end',
  violations: (evidence) =>
    evidence.steps.flatMap((step) => {
      const end = endOf(step);
      const files = workspaceOf(evidence, step)?.files ?? {};
      const wanted = step.ends as readonly string[];
      const fits = wanted.includes(end) || (end === 'committed' && wanted.includes('changed'));
      const about = `${step.carrier} (${step.kind})`;
      const found: string[] = [];
      if (!fits)
        found.push(
          `${about}: it ended ${end}, not ${wanted.join(' or ')}; it paused for ${pausesText(step.pauses) || 'nothing'}`,
        );
      if (step.rounds > MAX_ROUNDS) found.push(`${about}: ${step.rounds} rounds of answering`);
      if (end === 'committed' && !wanted.includes('changed'))
        found.push(
          ...step.paths
            .filter((path) => !isWanted(step.wanted[path] ?? '', files[path]))
            .map((path) => `${about}: ${path} is not as the model wanted it`),
        );
      if (['aborted', 'cancelled', 'terminated', 'skipped', 'dropped'].includes(end))
        found.push(
          ...step.paths
            .filter((path) => (files[path] ?? '').includes('edited, '))
            // Saved when the edit was in the file already, and then kept: the edit is in it by the person's own hand.
            .filter(
              (path) =>
                !evidence.saves.some((save) => save.path === path && save.bytes === files[path]),
            )
            // A phase that was cancelled and begun again.
            .filter(
              (path) =>
                !evidence.steps.some(
                  (later) =>
                    later !== step &&
                    endOf(later) === 'committed' &&
                    later.paths.includes(path) &&
                    later.workspace === step.workspace,
                ),
            )
            .map((path) => `${about}: it ended ${end}, and ${path} is changed`),
        );
      const asked = step.pauses.filter(({ reason }) =>
        ['conflict', 'tests_failed', 'blob_lost', 'model_unavailable'].includes(reason),
      );
      const mayAsk = step.kind.startsWith('saves') || step.kind.startsWith('commits');
      if (!mayAsk && asked.length > 0)
        found.push(`${about}: asked about ${pausesText(asked)} that nobody had made`);
      return found;
    }),
};

export const toldTheSame: Invariant = {
  name: 'ledger, result and archive agree with each other and with the tree',
  violations: (evidence) =>
    evidence.steps.flatMap((step) => {
      const { carrier, result, archived, ledger, status } = step;
      const files = workspaceOf(evidence, step)?.files ?? {};
      const found: string[] = [];
      if (status !== null && archived.status !== status)
        found.push(
          `${carrier}: the server says ${status}, the archive ${archived.status ?? 'nothing'}`,
        );
      if ((result?.outcome ?? null) !== archived.outcome)
        found.push(
          `${carrier}: the result is ${result?.outcome ?? 'none'}, in the archive ${archived.outcome ?? 'none'}`,
        );
      if ((result?.commit ?? null) !== archived.commit)
        found.push(
          `${carrier}: commit ${result?.commit ?? 'none'}, in the archive ${archived.commit ?? 'none'}`,
        );
      if (String(result?.files ?? []) !== String(archived.files))
        found.push(
          `${carrier}: files ${String(result?.files)}, in the archive ${String(archived.files)}`,
        );
      if (result?.outcome === 'committed' && !step.dropped) {
        const changed = step.paths.filter((path) => (files[path] ?? '').includes('edited, '));
        if (String([...result.files].sort()) !== String(changed))
          found.push(
            `${carrier}: it says ${String(result.files)}, the tree has ${String(changed)}`,
          );
        for (const row of ledger)
          if ((row.status === 'done') !== changed.includes(row.path))
            found.push(`${carrier}: the ledger says ${row.path} ${row.status}`);
      }
      return found;
    }),
};

export const locksAreFree: Invariant = {
  name: 'no run that has ended holds a workspace',
  violations: ({ workspaces }) =>
    workspaces.flatMap(({ path, lock }) =>
      lock === null ? [] : [`${path} is held by ${lock.stepKey}`],
    ),
};

export const workflowsReplay: Invariant = {
  name: 'no workflow task failed',
  violations: ({ steps, plans, faults }) => {
    const slept = faults.some(
      ({ name, fired }) => fired !== null && /^(SIGSTOP (?!the server)|sleep$)/.test(name),
    );
    const away = faults.some(
      ({ name, fired }) => fired !== null && /^(SIG(STOP|KILL) the server|sleep)$/.test(name),
    );
    return [
      ...steps,
      ...plans.flatMap(({ carrier, runs }) => runs.map((run) => ({ carrier, ...run }))),
    ].flatMap(({ carrier, taskFailures }) =>
      taskFailures
        // A worker that stands still in the middle of a task wakes up with Node's own time-out passed; the task is done again.
        .filter((said) => !(slept && said.startsWith('Script execution timed out')))
        // A server that stands still or dies forgets the task of an update under way; the SDK drops its copy of the run and replays it.
        .filter((said) => !(away && said.includes('History is out of order')))
        .map((said) => `${carrier}: ${said}`),
    );
  },
};

export const processesBehave: Invariant = {
  name: 'no process ended or hung by itself',
  violations: ({ strange }) => strange,
};

export const faultsFired: Invariant = {
  name: 'every planned fault fired',
  violations: ({ faults }) =>
    faults.filter(({ fired }) => fired === null).map(({ name, carrier }) => `${name} (${carrier})`),
};
