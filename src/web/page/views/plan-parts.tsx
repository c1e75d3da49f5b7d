/** A plan: its phases by wave, how hard each was reckoned, what became of it; replans with their reasons; what of its limits is used. */
import type { PlanProgress } from '../../../shared/plan.js';
import type { StepEvent } from '../../../shared/events.js';
import { isOfKind } from '../../../shared/event-text.js';
import type { StepStatus } from '../../../shared/run.js';
import { scoreText, usedOf, wavesOf, type Phase, type Wave } from '../model/plan-rows.js';
import { EventList, Facts, Part, shownKey, Table, List } from './parts.js';

interface PlanPartsProps {
  readonly plan: PlanProgress;
  readonly status: StepStatus;
  readonly events: readonly StepEvent[];
}

export const PlanParts = ({ plan, status, events }: PlanPartsProps) => (
  <>
    <Phases plan={plan} path={status.jobPath} />
    <Budget status={status} now={events.at(-1)?.at ?? 0} />
    <Replans plan={plan} events={events} />
  </>
);

const COLUMNS = [
  'Phase',
  'Status',
  'Marker',
  'After',
  'Tasks',
  'Score',
  'Failures',
  'Replans',
  'Commit',
  'Run',
  'Why',
];

const Phases = ({ plan, path }: { readonly plan: PlanProgress; readonly path: string }) => (
  <Part title="Phases" number={plan.phases.length}>
    {plan.pausedBy !== null && (
      <p class="box warn">
        Paused by {plan.pausedBy}: <code>emend plan resume {path}</code> continues.
      </p>
    )}
    {plan.stopAfterPhase !== null && (
      <p class="box">
        It will stop after the current phase, as requested by {plan.stopAfterPhase}.
      </p>
    )}
    <p class="quiet">
      {plan.mode === 'waves'
        ? 'The phases of a wave run in parallel.'
        : 'Phases run one at a time.'}
    </p>
    <Table of="phases" columns={COLUMNS}>
      {wavesOf(plan).map((wave) => (
        <WaveRows key={wave.number ?? 0} wave={wave} plan={plan} />
      ))}
    </Table>
  </Part>
);

const WaveRows = ({ wave, plan }: { readonly wave: Wave; readonly plan: PlanProgress }) => (
  <tbody>
    <tr>
      <th scope="rowgroup" colSpan={COLUMNS.length} class="wave">
        {wave.number === null ? 'No longer in the document' : `Wave ${wave.number}`}
      </th>
    </tr>
    {wave.phases.map((phase) => (
      <PhaseRow key={phase.id} phase={phase} plan={plan} />
    ))}
  </tbody>
);

const PhaseRow = ({ phase, plan }: { readonly phase: Phase; readonly plan: PlanProgress }) => {
  const limit = plan.thresholds?.replanLimit;
  return (
    <tr>
      <th scope="row">
        {phase.number}. {phase.name}
      </th>
      <td>
        <span class={`file-status ${phase.status === 'completed' ? 'done' : phase.status}`}>
          {phase.status}
        </span>
      </td>
      <td>{phase.marker !== null && <code>[{phase.marker.toUpperCase()}]</code>}</td>
      <td>{phase.dependsOn.join(', ')}</td>
      <td>{`${phase.tasksDone}/${phase.tasks}`}</td>
      <td>
        <details class="score">
          <summary>
            {phase.score.toFixed(1)}
            {plan.thresholds !== null && <span class="quiet"> of {plan.thresholds.expansion}</span>}
          </summary>
          <List texts={scoreText(phase)} />
        </details>
      </td>
      <td>{phase.failures === 0 ? '' : phase.failures}</td>
      <td>
        {phase.replans === 0
          ? ''
          : limit === undefined
            ? phase.replans
            : `${phase.replans} of ${limit}`}
      </td>
      <td>{phase.commit !== null && <code>{phase.commit.slice(0, 12)}</code>}</td>
      <td>{phase.run !== null && <a href={`#/run/${phase.run}`}>{shownKey(phase.run)}</a>}</td>
      <td class="why">{phase.why ?? ''}</td>
    </tr>
  );
};

const Budget = ({ status, now }: { readonly status: StepStatus; readonly now: number }) => {
  const used = usedOf(status, now);
  if (used.length === 0) return null;
  const facts = used.map(({ name, used: words, limit, part }) => {
    const of = limit === null ? <span class="quiet">, no limit</span> : ` of ${limit}`;
    const meter = part !== null && (
      <meter aria-label={`${name} used`} value={part} min={0} max={1} high={0.8} />
    );
    return [name, [words, of, meter]] as const;
  });
  return (
    <Part title="Budget">
      <Facts facts={facts} />
    </Part>
  );
};

/** What was judged and changed of the plan itself, oldest first. */
const Replans = ({
  plan,
  events,
}: {
  readonly plan: PlanProgress;
  readonly events: readonly StepEvent[];
}) => {
  const told = events.filter((event) => isOfKind(event, 'replan') || isOfKind(event, 'loop'));
  const done = told.filter((event) => event.type === 'replanned').length;
  return (
    <Part title="Replans" number={done}>
      {plan.thresholds !== null && (
        <p class="quiet">
          At most {plan.thresholds.replanLimit} for a phase before a decision is needed.
        </p>
      )}
      {told.length === 0 ? <p class="quiet">None.</p> : <EventList events={told} />}
    </Part>
  );
};
